//! Prints warnings of the library on stderr, such as an unreachable store or a lost lease.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_global_default;
use tracing::{Event, Level, Metadata, Subscriber};
use windlass_api::{Code, Error};

use crate::output::Output;

/// Tracing target of the library. The output of jobs is logged elsewhere.
const TARGET: &str = "windlass";

/// Installs the subscriber.
pub(crate) fn init(output: &Output) {
    // Fails only if a subscriber is already set; a process runs one command.
    let _ = set_global_default(StderrLog(output.clone()));
}

struct StderrLog(Output);

impl Subscriber for StderrLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Errors end the command and are printed then.
        metadata.is_event() && metadata.target() == TARGET && *metadata.level() == Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut warning = Warning::default();
        event.record(&mut warning);
        let text = warning.text();
        let mut output = self.0.clone();
        match warning.code {
            Some(code) => output.error(&Error::new(code, text, warning.help)),
            None => output.note(&text),
        }
    }

    // Spans are disabled, so these are never called.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The fields of one event.
#[derive(Default)]
struct Warning {
    /// The queue, job or worker concerned.
    subject: Vec<String>,
    message: String,
    code: Option<Code>,
    help: String,
}

impl Warning {
    fn text(&self) -> String {
        if self.subject.is_empty() {
            return self.message.clone();
        }
        format!("{}: {}", self.subject.join(", "), self.message)
    }
}

impl Visit for Warning {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "code" => self.code = Code::from_text(value),
            "help" => value.clone_into(&mut self.help),
            _ => self.record_debug(field, &format_args!("{value}")),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.subject.push(format!("{name} {value:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_names_its_subject_and_what_happened() {
        let warning = Warning {
            subject: vec!["queue mail".to_owned(), "id letter-1".to_owned()],
            message: "the lease is lost".to_owned(),
            ..Warning::default()
        };
        assert_eq!(warning.text(), "queue mail, id letter-1: the lease is lost");
    }
}
