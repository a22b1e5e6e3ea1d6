//! Bytes in JSON: as a string where they are UTF-8, else as base64 in a field of its own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use windlass_core::{Error, Result};

/// Bytes ready for JSON: exactly one of the two is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// They are UTF-8.
    Text(String),
    /// They are not.
    Base64(String),
}

impl Content {
    /// Chooses the form for some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    /// The text and the base64, one of them absent.
    pub fn split(self) -> (Option<String>, Option<String>) {
        match self {
            Self::Text(text) => (Some(text), None),
            Self::Base64(base64) => (None, Some(base64)),
        }
    }
}

/// The text and the base64 of bytes that may be absent.
pub fn split(bytes: Option<&Bytes>) -> (Option<String>, Option<String>) {
    bytes.map_or((None, None), |bytes| Content::of(bytes).split())
}

/// JSON that stands for bytes: a string for its own, any other JSON for its exact text.
#[derive(Debug, Clone)]
pub struct Text(Box<RawValue>);

impl Text {
    /// Whether it is JSON other than a string.
    pub fn is_json(&self) -> bool {
        !self.0.get().starts_with('"')
    }

    fn bytes(&self, field: &str) -> Result<Bytes> {
        if self.is_json() {
            return Ok(Bytes::from(self.0.get().to_owned()));
        }
        let text: String = serde_json::from_str(self.0.get()).map_err(|error| {
            let help = format!("use {field}_base64 for bytes");
            Error::invalid(field, error, help)
        })?;
        Ok(Bytes::from(text))
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(from).map(Self)
    }
}

/// Keeps `null` apart from absence: it is JSON like any other.
pub fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Text>, D::Error> {
    Text::deserialize(from).map(Some)
}

/// The bytes that are meant: by text, by base64, or none; both are one too many.
pub fn of(text: Option<&Text>, base64: Option<&str>, field: &str) -> Result<Option<Bytes>> {
    match (text, base64) {
        (None, None) => Ok(None),
        (None, Some(base64)) => from_base64(&format!("{field}_base64"), base64).map(Some),
        (Some(text), None) => text.bytes(field).map(Some),
        (Some(_), Some(_)) => {
            let help = format!("set either {field} or {field}_base64");
            Err(Error::invalid(field, "set twice", help))
        }
    }
}

/// Reads base64 (the standard alphabet, with padding).
pub fn from_base64(field: &str, text: &str) -> Result<Bytes> {
    STANDARD.decode(text).map(Bytes::from).map_err(|error| {
        Error::invalid(
            field,
            error,
            "use the standard base64 alphabet with padding",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_whatever_they_are() {
        for bytes in [
            &b""[..],
            b"plain",
            b"\0\x01",
            "å".as_bytes(),
            b"\xff\xfe",
            b"\xc3",
        ] {
            let back = match Content::of(bytes) {
                Content::Text(text) => Bytes::from(text),
                Content::Base64(text) => from_base64("payload_base64", &text).unwrap(),
            };
            assert_eq!(back, bytes);
        }
        assert!(from_base64("payload_base64", "a b").is_err());
    }
}
