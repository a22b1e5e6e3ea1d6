//! Prints replies: JSON with `--json`, else text.

use std::fmt::Display;

use serde::{Serialize, Serializer};
use serde_json::Value;
use windlass_api::content::Content;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

/// A field of a reply.
pub(super) type Field = (&'static str, Value);

/// A JSON object whose fields keep their order.
#[derive(Debug)]
pub(super) struct Object(pub(super) Vec<Field>);

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Returns bytes as a field: text or, under the other name, base64.
pub(super) fn content(text: &'static str, base64: &'static str, bytes: &[u8]) -> Field {
    match Content::of(bytes) {
        Content::Text(content) => (text, content.into()),
        Content::Base64(content) => (base64, content.into()),
    }
}

/// Returns a field as text for people.
pub(super) fn shown((_, value): &Field) -> String {
    match value {
        Value::String(text) => text.clone(),
        // JSON writes a whole number of seconds as 7.0.
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        value => value.to_string(),
    }
}

/// Prints a reply as an object or as one line.
pub(super) fn reply<const N: usize>(
    session: &mut Session,
    fields: [Field; N],
    line: impl Display,
) -> Result<Exit> {
    value(session, &Object(fields.into()), line)
}

/// Prints a value as JSON or as one line.
#[expect(clippy::unnecessary_wraps, reason = "the last expression of a command")]
pub(super) fn value(
    session: &mut Session,
    value: &impl Serialize,
    line: impl Display,
) -> Result<Exit> {
    session
        .output
        .result(value, |output| output.line(&line.to_string()));
    Ok(Exit::Ok)
}

/// Prints a list as a table, or a note if it is empty.
#[expect(clippy::unnecessary_wraps, reason = "the last expression of a command")]
pub(super) fn table<T: Serialize>(
    session: &mut Session,
    items: &[T],
    none: &str,
    header: &[&str],
    row: impl Fn(&T) -> Vec<String>,
) -> Result<Exit> {
    session.output.result(&items, |output| {
        if items.is_empty() {
            output.note(none);
        }
        output.table(header, items.iter().map(row));
    });
    Ok(Exit::Ok)
}
