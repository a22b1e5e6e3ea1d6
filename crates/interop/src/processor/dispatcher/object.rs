//! A JSON object whose values keep their exact text.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use windlass_api::fields::value_error;
use windlass_core::{Error, Result};

/// The longest parser error that is reported: it may quote a complete value.
const PARSE_ERROR_CHARS_MAX: usize = 300;

/// The fields of an object in their order, without duplicates.
#[derive(Debug, Default)]
pub(crate) struct Object<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Object<'a> {
    /// Parses an object; `what` names it in errors.
    pub(crate) fn parse(what: &str, text: &'a str) -> Result<Self> {
        let invalid = |why: &str| Error::invalid(what, why, "send one JSON object per line");
        // The parser would also accept an array.
        if !text.trim_start().starts_with('{') {
            return Err(invalid("expected an object"));
        }
        serde_json::from_str(text).map_err(|error| invalid(&short(&error)))
    }

    /// Returns the raw text of a field.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| *value)
    }

    /// Returns a field, or `None` if it is missing or null.
    pub(crate) fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let Some(raw) = self.raw(name) else {
            return Ok(None);
        };
        serde_json::from_str(raw.get()).map_err(|error| {
            let help = "docs/processor.md lists the fields of every message";
            Error::invalid(&format!("field {name}"), value_error(&error), help)
        })
    }

    /// Returns a required field.
    pub(crate) fn require<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        self.get(name)?.ok_or_else(|| {
            let help = format!("add it to the payload: {{\"{name}\":…}}");
            Error::invalid("message", format!("missing field {name}"), help)
        })
    }

    /// Iterates over the fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

fn short(error: &serde_json::Error) -> String {
    error
        .to_string()
        .chars()
        .take(PARSE_ERROR_CHARS_MAX)
        .collect()
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut fields = Vec::new();
                let mut names = HashSet::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if !names.insert(name.clone()) {
                        let short: String = name.chars().take(40).collect();
                        let why = format!("duplicate field {short:?}");
                        return Err(serde::de::Error::custom(why));
                    }
                    fields.push((name, value));
                }
                Ok(Object(fields))
            }
        }

        from.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_text_and_duplicate_fields_are_rejected() {
        let object = Object::parse("message", r#"{"a" : {"b" : 1.0}, "c":null}"#).unwrap();
        assert_eq!(object.raw("a").unwrap().get(), r#"{"b" : 1.0}"#);
        assert_eq!(object.get::<u8>("c").unwrap(), None);
        assert!(object.require::<u8>("c").is_err());
        for bad in ["", "[]", "7", "{}x", r#"{"a":1,"a":1}"#, r#"{"a":1"#] {
            assert!(Object::parse("message", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn many_fields_are_read_quickly() {
        let fields: Vec<_> = (0..200_000).map(|n| format!("\"{n}\":1")).collect();
        let text = format!("{{{}}}", fields.join(","));
        assert_eq!(
            Object::parse("message", &text).unwrap().fields().count(),
            200_000
        );
    }
}
