//! One JSON object as a door got it: its fields as raw text, so that payloads keep theirs.

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use windlass_core::{Error, Result};

/// The most characters of a parser's complaint that are passed on: it may quote a value in full.
const COMPLAINT_MAX: usize = 300;

/// The fields of one object, in their order; none is there twice.
#[derive(Debug, Default)]
pub struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    /// Reads one object.
    pub fn parse(text: &str) -> Result<Self> {
        read(text)
    }

    /// Whether there is such a field.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(field, _)| field == name)
    }

    /// Takes a field out and reads it; nothing where it is absent or null.
    pub fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>> {
        let Some(at) = self.0.iter().position(|(field, _)| field == name) else {
            return Ok(None);
        };
        let (_, raw) = self.0.remove(at);
        serde_json::from_str(raw.get()).map_err(|error| {
            let why = cut(&error);
            let help = "docs/stdio.md lists the fields of every op";
            Error::invalid(&format!("field {name}"), why, help)
        })
    }

    /// Adds a field that came another way, such as a part of a path; it may not be there twice.
    pub fn put(&mut self, name: &str, value: &str) -> Result<()> {
        if self.0.iter().any(|(field, _)| field == name) {
            let why = "set twice";
            return Err(Error::invalid(
                &format!("field {name}"),
                why,
                "set it once",
            ));
        }
        let raw = serde_json::value::to_raw_value(value).map_err(|error| bad(&error))?;
        self.0.push((name.to_owned(), raw));
        Ok(())
    }

    /// Reads all fields as a request; unknown ones are errors.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        let text = serde_json::to_string(self).map_err(|error| bad(&error))?;
        read(&text)
    }
}

/// Reads one object as what it should be.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T> {
    // The parser would take a list for an object, too.
    if !text.trim_start().starts_with('{') {
        return Err(bad("expected an object"));
    }
    serde_json::from_str(text).map_err(|error| bad(&error))
}

fn cut(why: &(impl fmt::Display + ?Sized)) -> String {
    why.to_string().chars().take(COMPLAINT_MAX).collect()
}

fn bad(why: &(impl fmt::Display + ?Sized)) -> Error {
    let why: String = why.to_string().chars().take(COMPLAINT_MAX).collect();
    Error::invalid(
        "JSON",
        why,
        "send one object, such as {\"payload\":\"hello\"}",
    )
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if fields.iter().any(|(field, _)| *field == name) {
                        let short: String = name.chars().take(40).collect();
                        let why = format!("duplicate field {short:?}");
                        return Err(serde::de::Error::custom(why));
                    }
                    if fields.len() == FIELDS_MAX {
                        return Err(serde::de::Error::custom(format_args!("more than {FIELDS_MAX} fields")));
                    }
                    fields.push((name, value));
                }
                Ok(Fields(fields))
            }
        }

        from.deserialize_map(Reader)
    }
}

/// More fields than any request has.
const FIELDS_MAX: usize = 64;

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

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
    fn what_is_no_object_or_says_a_thing_twice_is_refused() {
        for bad in ["", "[]", "7", r#"{"a":1,"a":2}"#, r#"{"a":1"#, "{}x"] {
            assert!(Fields::parse(bad).is_err(), "{bad}");
        }
        let mut fields = Fields::parse(r#"{"id":"x"}"#).unwrap();
        assert!(fields.put("id", "y").is_err());
    }
}
