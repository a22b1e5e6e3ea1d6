//! Bytes in JSON: a string if they are UTF-8, otherwise base64 in a separate field.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use windlass_core::{Error, Result};

/// Bytes as a JSON string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// UTF-8 text.
    Text(String),
    /// Base64, for bytes that are not UTF-8.
    Base64(String),
}

impl Content {
    /// Encodes bytes.
    pub fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    /// Returns the text and the base64; exactly one is set.
    pub fn split(self) -> (Option<String>, Option<String>) {
        match self {
            Self::Text(text) => (Some(text), None),
            Self::Base64(base64) => (None, Some(base64)),
        }
    }
}

/// Encodes optional bytes as text or base64.
pub fn split(bytes: Option<&Bytes>) -> (Option<String>, Option<String>) {
    bytes.map_or((None, None), |bytes| Content::of(bytes).split())
}

/// Encodes bytes for a request: as text if they are UTF-8 and that is not longer than base64.
pub fn encode(bytes: &[u8]) -> (Option<Text>, Option<String>) {
    let text = std::str::from_utf8(bytes).ok();
    let text = text.and_then(|text| to_raw_value(text).ok());
    match text {
        Some(text) if text.get().len() <= bytes.len() / 3 * 4 + 6 => (Some(Text(text)), None),
        _ => (None, Some(STANDARD.encode(bytes))),
    }
}

/// Decodes the text or the base64 of a reply.
pub fn join(text: Option<String>, base64: Option<&str>) -> Result<Option<Bytes>> {
    match base64 {
        Some(base64) => from_base64("base64", base64).map(Some),
        None => Ok(text.map(Bytes::from)),
    }
}

/// JSON that represents bytes: a string is its bytes, any other value its exact JSON text.
#[derive(Debug, Clone, Serialize)]
pub struct Text(Box<RawValue>);

impl Text {
    /// Returns whether it is not a string.
    pub fn is_json(&self) -> bool {
        !self.0.get().starts_with('"')
    }

    fn bytes(&self, field: &str) -> Result<Bytes> {
        if self.is_json() {
            return Ok(Bytes::from(self.0.get().to_owned()));
        }
        let text: String = serde_json::from_str(self.0.get()).map_err(|error| {
            let help = format!("use {field}_base64 for binary data");
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

/// Deserializes a field that is present. Distinguishes `null`, which is a JSON value, from a missing field.
pub fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Text>, D::Error> {
    Text::deserialize(from).map(Some)
}

/// Decodes bytes from the text or the base64 field. Fails if both are set.
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

/// Decodes base64 (standard alphabet, with padding).
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
    fn any_bytes_are_encoded_and_decoded() {
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
            let (text, base64) = encode(bytes);
            let sent = of(text.as_ref(), base64.as_deref(), "payload").unwrap();
            assert_eq!(sent.unwrap(), bytes);
        }
        assert!(from_base64("payload_base64", "a b").is_err());
    }
}
