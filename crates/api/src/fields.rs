//! One JSON object with its fields as raw text, so that payloads keep their exact text.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use windlass_core::{Error, QueueName, Result};

use crate::dispatch::missing_queue;

/// Parser errors are truncated to this many characters, because they may quote a whole value.
const PARSER_ERROR_MAX: usize = 300;

/// The fields of one object, in order and without duplicates.
#[derive(Debug, Default)]
pub struct Fields<'a>(Vec<(String, Cow<'a, RawValue>)>);

impl<'a> Fields<'a> {
    /// Parses one object.
    pub fn parse(text: &'a str) -> Result<Self> {
        // serde would also accept a list for a struct.
        if !text.trim_start().starts_with('{') {
            return Err(invalid_json("expected an object"));
        }
        serde_json::from_str(text).map_err(|error| invalid_json(&error))
    }

    /// Returns whether the field exists.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(field, _)| field == name)
    }

    /// Removes and parses a field. Returns `None` if it is missing or null.
    pub fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>> {
        let Some(at) = self.0.iter().position(|(field, _)| field == name) else {
            return Ok(None);
        };
        let (_, raw) = self.0.remove(at);
        serde_json::from_str(raw.get()).map_err(|error| invalid_field(name, &error))
    }

    /// Removes all fields except one.
    pub fn keep(&mut self, name: &str) {
        self.0.retain(|(field, _)| field == name);
    }

    /// Removes and parses the field `queue`.
    pub(crate) fn take_queue(&mut self) -> Result<QueueName> {
        let name: Option<String> = self.take("queue")?;
        QueueName::new(name.ok_or_else(missing_queue)?)
    }

    /// Adds a field, for example from a URL path. Fails if it exists.
    pub fn put(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        if self.has(name) {
            let why = "set twice";
            return Err(Error::invalid(&format!("field {name}"), why, "set it once"));
        }
        let raw = to_raw_value(value).map_err(|error| invalid_json(&error))?;
        self.0.push((name.to_owned(), Cow::Owned(raw)));
        Ok(())
    }

    /// Parses all fields as a request. Unknown fields are errors.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        let current = Cell::new("");
        let fields = self.0.iter().map(|(name, value)| {
            current.set(name);
            (name.as_str(), value.as_ref())
        });
        T::deserialize(MapDeserializer::new(fields)).map_err(|error: serde_json::Error| {
            let why = error.to_string();
            if NAME_ERRORS.iter().any(|start| why.starts_with(start)) {
                return Error::invalid("request", truncate(&why), FIELDS);
            }
            invalid_field(current.get(), &error)
        })
    }
}

/// Parses one object as `T`.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    Fields::parse(text)?.read()
}

/// Starts of errors that are about the name of a field, not its value.
const NAME_ERRORS: [&str; 3] = ["unknown field", "missing field", "duplicate field"];

const FIELDS: &str = "docs/stdio.md lists the fields of every op";

fn invalid_field(name: &str, error: &serde_json::Error) -> Error {
    Error::invalid(&format!("field {name}"), value_error(error), FIELDS)
}

/// Names of integer types in parser errors, and what they accept.
const INTEGERS: [(&str, &str); 5] = [
    ("u8", "a whole number from 0 to 255"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number of at least 0"),
    ("usize", "a whole number of at least 0"),
    ("i64", "a whole number"),
];

/// Describes why a value was rejected, without the parser's position and type names.
pub fn value_error(error: &serde_json::Error) -> String {
    let text = truncate(error);
    let position = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&position).unwrap_or(&text);
    let known = INTEGERS.iter().find_map(|(name, accepts)| {
        let why = text.strip_suffix(name)?.strip_suffix(", expected ")?;
        Some(format!("{why}, expected {accepts}"))
    });
    known.unwrap_or_else(|| text.to_owned())
}

fn truncate(why: &(impl fmt::Display + ?Sized)) -> String {
    why.to_string().chars().take(PARSER_ERROR_MAX).collect()
}

fn invalid_json(why: &(impl fmt::Display + ?Sized)) -> Error {
    Error::invalid(
        "JSON",
        truncate(why),
        "send one JSON object, with names and strings in double quotes",
    )
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields: Vec<(String, Cow<'de, RawValue>)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    if fields.iter().any(|(field, _)| *field == name) {
                        let short: String = name.chars().take(40).collect();
                        let why = format!("duplicate field {short:?}");
                        return Err(serde::de::Error::custom(why));
                    }
                    if fields.len() == FIELDS_MAX {
                        return Err(serde::de::Error::custom(format_args!(
                            "more than {FIELDS_MAX} fields"
                        )));
                    }
                    fields.push((name, Cow::Borrowed(value)));
                }
                Ok(Fields(fields))
            }
        }

        from.deserialize_map(Reader)
    }
}

/// The maximum number of fields; no request has more.
const FIELDS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enqueue::EnqueueRequest;

    #[test]
    fn a_payload_keeps_its_exact_text() {
        let mut fields = Fields::parse(r#"{"op":"enqueue","payload":{"a" : 1.0}}"#).unwrap();
        assert_eq!(
            fields.take::<String>("op").unwrap().as_deref(),
            Some("enqueue")
        );

        let job = fields.read::<EnqueueRequest>().unwrap().into_job().unwrap();

        assert_eq!(job.payload, r#"{"a" : 1.0}"#);
    }

    #[test]
    fn invalid_json_and_duplicate_fields_are_rejected() {
        for bad in ["", "[]", "7", r#"{"a":1,"a":2}"#, r#"{"a":1"#, "{}x"] {
            assert!(Fields::parse(bad).is_err(), "{bad}");
        }
        let mut fields = Fields::parse(r#"{"id":"x"}"#).unwrap();
        assert!(fields.put("id", "y").is_err());
    }
}
