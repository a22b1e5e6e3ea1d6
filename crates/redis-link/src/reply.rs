//! Parses script replies: flat lists of text, numbers and bytes.

use bytes::Bytes;
use redis::Value;
use windlass_core::{Error, ErrorKind, Result};

/// A flat list, read from the front.
#[derive(Debug)]
pub struct Reply(std::vec::IntoIter<Value>);

impl Reply {
    /// Parses a list. Nil is an empty list.
    pub fn list(value: Value) -> Result<Self> {
        match value {
            Value::Array(items) => Ok(Self(items.into_iter())),
            Value::Nil => Ok(Self(Vec::new().into_iter())),
            other => Err(wrong_type(&other)),
        }
    }

    /// Number of elements left.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no elements are left.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// Returns the next element as bytes, or `None` for nil.
    pub fn maybe_bytes(&mut self) -> Result<Option<Bytes>> {
        match self.next()? {
            Value::Nil | Value::Boolean(false) => Ok(None),
            value => bytes(value).map(Some),
        }
    }

    /// Returns the next element as bytes.
    pub fn bytes(&mut self) -> Result<Bytes> {
        bytes(self.next()?)
    }

    /// Returns the next element as text.
    pub fn text(&mut self) -> Result<String> {
        text(self.next()?)
    }

    /// Returns the next element as an integer.
    pub fn int(&mut self) -> Result<i64> {
        int(&self.next()?)
    }

    /// Returns the next element as a count; a negative number is 0.
    pub fn count(&mut self) -> Result<u64> {
        Ok(u64::try_from(self.int()?).unwrap_or_default())
    }

    fn next(&mut self) -> Result<Value> {
        self.0
            .next()
            .ok_or_else(|| unexpected_reply("it ends too early"))
    }
}

/// Parses bytes.
pub fn bytes(value: Value) -> Result<Bytes> {
    match value {
        Value::BulkString(bytes) => Ok(Bytes::from(bytes)),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Ok(Bytes::from(text)),
        Value::Okay => Ok(Bytes::from_static(b"OK")),
        Value::Int(number) => Ok(Bytes::from(number.to_string())),
        Value::Double(number) => Ok(Bytes::from(number.to_string())),
        other => Err(wrong_type(&other)),
    }
}

/// Parses text.
pub fn text(value: Value) -> Result<String> {
    let bytes = bytes(value)?;
    String::from_utf8(bytes.into()).map_err(|_| unexpected_reply("expected text"))
}

/// Parses an integer.
pub fn int(value: &Value) -> Result<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        Value::BulkString(bytes) => std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| unexpected_reply("expected a number")),
        other => Err(wrong_type(other)),
    }
}

fn wrong_type(value: &Value) -> Error {
    let kind = match value {
        Value::Nil => "nil",
        Value::Int(_) => "a number",
        Value::BulkString(_) | Value::SimpleString(_) => "text",
        Value::Array(_) => "a list",
        _ => "another type",
    };
    unexpected_reply(&format!("got {kind}"))
}

/// The error for a reply that the scripts of this version do not send.
pub fn unexpected_reply(why: &str) -> Error {
    Error::new(
        ErrorKind::StoreDamaged,
        format!("unexpected reply from Redis: {why}"),
        "check what else writes keys with this prefix, then run `windlass audit`",
    )
}

/// Whether a reply is this text.
pub fn is_text(value: &Value, expected: &[u8]) -> bool {
    match value {
        Value::BulkString(bytes) => bytes == expected,
        Value::SimpleString(text) => text.as_bytes() == expected,
        _ => false,
    }
}
