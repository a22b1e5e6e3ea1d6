//! The troubles of a worker, told on standard error while it goes on: a store that is away, a lease that is lost.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_global_default;
use tracing::{Event, Level, Metadata, Subscriber};
use windlass_api::Error;

use crate::output::Output;

/// What is said by the library's own name; what jobs log has a way of its own.
const TARGET: &str = "windlass";

/// Tells from now on what the library warns of.
pub(crate) fn tell(output: &Output) {
    // There is one command in a process, so nobody was asked before.
    let _ = set_global_default(Troubles(output.clone()));
}

struct Troubles(Output);

impl Subscriber for Troubles {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // What ends the command is told by its end, and not here as well.
        metadata.is_event() && metadata.target() == TARGET && *metadata.level() == Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut told = Told::default();
        event.record(&mut told);
        let text = told.text();
        let mut output = self.0.clone();
        match told.code {
            Some(code) => output.problem(&Error::new(code, text, told.help)),
            None => output.talk(&text),
        }
    }

    // Spans are not enabled, so these are never asked for anything.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// One event, read.
#[derive(Default)]
struct Told {
    /// Which queue, job or worker it is about.
    about: Vec<String>,
    message: String,
    code: Option<String>,
    help: String,
}

impl Told {
    fn text(&self) -> String {
        if self.about.is_empty() {
            return self.message.clone();
        }
        format!("{}: {}", self.about.join(", "), self.message)
    }
}

impl Visit for Told {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "code" => self.code = Some(value.to_owned()),
            "help" => value.clone_into(&mut self.help),
            _ => self.record_debug(field, &format_args!("{value}")),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.about.push(format!("{name} {value:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_says_what_it_is_about_what_happened_and_what_to_do() {
        let told = Told {
            about: vec!["queue mail".to_owned(), "id letter-1".to_owned()],
            message: "the lease is lost".to_owned(),
            ..Told::default()
        };
        assert_eq!(told.text(), "queue mail, id letter-1: the lease is lost");
    }
}
