//! One event of the log, and how it is written.

use std::fmt::{self, Write};
use std::time::Duration;

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level};
use windlass::duration;
use windlass::store::{Clock, SystemClock, Timestamp};
use windlass_api::{Error, timestamp};

use crate::output::{Colour, coloured, escape};

/// Fields that a line for people does not repeat, because its text has them or does not need them.
const IN_TEXT: [&str; 7] = [
    "error", "code", "help", "method", "outcome", "path", "status",
];

/// One event.
#[derive(Debug)]
pub(super) struct Record {
    at: Timestamp,
    level: Level,
    event: &'static str,
    pub(super) message: String,
    fields: Vec<(&'static str, Value)>,
}

impl Record {
    pub(super) fn new(event: &Event<'_>) -> Self {
        let metadata = event.metadata();
        let mut record = Self::at_now(*metadata.level(), metadata.name());
        event.record(&mut record);
        record
    }

    /// The error that ends a command.
    pub(super) fn of_error(error: &Error) -> Self {
        let mut record = Self::at_now(Level::ERROR, "error");
        record.message.clone_from(&error.message);
        for (name, value) in [("code", error.code.as_str()), ("help", &error.help)] {
            record.fields.push((name, value.into()));
        }
        record
    }

    fn at_now(level: Level, event: &'static str) -> Self {
        Self {
            at: Timestamp::from_ms(SystemClock.now_us() / 1000),
            level,
            event,
            message: String::new(),
            fields: Vec::new(),
        }
    }

    /// Returns the text of a field.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(field, _)| *field == name);
        field.and_then(|(_, value)| value.as_str())
    }

    /// Returns the event without its time: the message, the error, and the facts.
    pub(super) fn sentence(&self) -> String {
        let mut text = escape(&self.message);
        if let Some(error) = self.text("error") {
            let _ = write!(text, ": {}", escape(error));
        }
        for (name, value) in &self.fields {
            // Zero counts say nothing; short durations do.
            let is_ms = name.ends_with("_ms");
            if IN_TEXT.contains(name) || (!is_ms && value == &Value::from(0)) {
                continue;
            }
            let name = name.trim_end_matches("_ms");
            let _ = match value {
                Value::Number(ms) if is_ms => {
                    let ms = Duration::from_millis(ms.as_u64().unwrap_or_default());
                    write!(text, " {name}={}", brief(ms))
                }
                Value::String(value) => write!(text, " {name}={}", quoted(value)),
                value => write!(text, " {name}={value}"),
            };
        }
        text
    }

    /// Returns the line for people.
    pub(super) fn line(&self) -> String {
        let time = timestamp::format(self.at);
        // Whole seconds: "2026-01-31T08:05:00.250Z".
        let seconds = time.get(..19).unwrap_or(&time);
        let level = match self.level {
            Level::ERROR => coloured("error: ", Colour::Red),
            Level::WARN => coloured("warning: ", Colour::Yellow),
            _ => String::new(),
        };
        let mut line = format!("{seconds}Z {level}{}", self.sentence());
        if let Some(help) = self.text("help") {
            let _ = write!(line, "\n  help: {}", escape(help));
        }
        line
    }

    /// Returns the event as a JSON object.
    pub(super) fn json(&self) -> String {
        let level = self.level.as_str().to_ascii_lowercase();
        let first = [
            ("time", timestamp::format(self.at).into()),
            ("level", level.into()),
            ("event", self.event.into()),
            ("message", Value::from(self.message.as_str())),
        ];
        let all = first.iter().chain(&self.fields);
        let all: Vec<_> = all
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        format!("{{{}}}", all.join(","))
    }
}

impl Visit for Record {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.push((field.name(), value.into()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.push((field.name(), value.into()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields.push((field.name(), value.into()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields.push((name, format!("{value:?}").into())),
        }
    }
}

/// Formats a duration with two or three digits where these are enough: `354ms`, `2.3s`, `1m12s`.
fn brief(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{}ms", duration.as_millis()),
        1..10 => format!("{:.1}s", duration.as_secs_f64()),
        seconds => duration::format(Duration::from_secs(seconds)),
    }
}

/// Quotes a value that is not one word.
fn quoted(value: &str) -> String {
    let is_word = !value.is_empty() && !value.contains([' ', '"', '=']);
    let value = escape(value);
    if is_word {
        value
    } else {
        format!("\"{}\"", value.replace('"', "\\\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(level: Level, fields: &[(&'static str, Value)]) -> Record {
        Record {
            at: Timestamp::from_ms(1_769_846_700_250),
            level,
            event: "attempt_failed",
            message: "attempt failed".to_owned(),
            fields: fields.to_vec(),
        }
    }

    fn failed() -> Record {
        let fields = [
            ("queue", "mail".into()),
            ("kind", "a letter".into()),
            ("lost", 0.into()),
            ("retry_in_ms", 1500.into()),
            ("error", "no \x1b[2J ink".into()),
            ("help", "buy ink".into()),
        ];
        record(Level::WARN, &fields)
    }

    #[test]
    fn a_line_has_time_level_text_facts_and_help() {
        assert_eq!(
            failed().line(),
            "2026-01-31T08:05:00Z warning: attempt failed: no \\u{1b}[2J ink queue=mail \
             kind=\"a letter\" retry_in=1.5s\n  help: buy ink"
        );
        assert_eq!(
            record(Level::INFO, &[]).line(),
            "2026-01-31T08:05:00Z attempt failed"
        );
    }

    #[test]
    fn a_json_line_has_the_stable_fields_first() {
        let json = failed().json();
        let start = r#"{"time":"2026-01-31T08:05:00.250Z","level":"warn","event":"attempt_failed","message":"attempt failed","queue":"mail","#;
        assert!(json.starts_with(start), "{json}");
        let parsed: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(parsed["retry_in_ms"], 1500);
        assert_eq!(parsed["lost"], 0);
        assert_eq!(parsed["error"], "no \x1b[2J ink");
    }
}
