//! Reads what a script replied: words, numbers and bytes, in a flat list.

use bytes::Bytes;
use redis::Value;
use windlass_core::{Error, ErrorKind, Result};

/// A flat list of replies, read from the front.
#[derive(Debug)]
pub(crate) struct Reply(std::vec::IntoIter<Value>);

impl Reply {
    /// A reply that is a list.
    pub(crate) fn list(value: Value) -> Result<Self> {
        match value {
            Value::Array(items) => Ok(Self(items.into_iter())),
            Value::Nil => Ok(Self(Vec::new().into_iter())),
            other => Err(unexpected(&other)),
        }
    }

    /// How many parts are left.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// The next part as bytes; nothing where Redis said nil.
    pub(crate) fn maybe_bytes(&mut self) -> Result<Option<Bytes>> {
        match self.next()? {
            Value::Nil | Value::Boolean(false) => Ok(None),
            value => bytes(value).map(Some),
        }
    }

    /// The next part as bytes.
    pub(crate) fn bytes(&mut self) -> Result<Bytes> {
        bytes(self.next()?)
    }

    /// The next part as text.
    pub(crate) fn text(&mut self) -> Result<String> {
        text(self.next()?)
    }

    /// The next part as a whole number.
    pub(crate) fn int(&mut self) -> Result<i64> {
        int(&self.next()?)
    }

    /// The next part as a count.
    pub(crate) fn count(&mut self) -> Result<u64> {
        Ok(u64::try_from(self.int()?).unwrap_or_default())
    }

    fn next(&mut self) -> Result<Value> {
        self.0.next().ok_or_else(|| short("it ends too soon"))
    }
}

/// A reply that is bytes.
pub(crate) fn bytes(value: Value) -> Result<Bytes> {
    match value {
        Value::BulkString(bytes) => Ok(Bytes::from(bytes)),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Ok(Bytes::from(text)),
        Value::Okay => Ok(Bytes::from_static(b"OK")),
        Value::Int(number) => Ok(Bytes::from(number.to_string())),
        Value::Double(number) => Ok(Bytes::from(number.to_string())),
        other => Err(unexpected(&other)),
    }
}

/// A reply that is text.
pub(crate) fn text(value: Value) -> Result<String> {
    let bytes = bytes(value)?;
    String::from_utf8(bytes.into()).map_err(|_| short("it is not text"))
}

/// A reply that is a whole number.
pub(crate) fn int(value: &Value) -> Result<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        Value::BulkString(bytes) => std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| short("it is not a number")),
        other => Err(unexpected(other)),
    }
}

fn unexpected(value: &Value) -> Error {
    let kind = match value {
        Value::Nil => "nothing",
        Value::Int(_) => "a number",
        Value::BulkString(_) | Value::SimpleString(_) => "a text",
        Value::Array(_) => "a list",
        _ => "something else",
    };
    short(&format!("it is {kind}"))
}

/// What Redis replied is not what this version of the scripts replies.
pub(crate) fn short(why: &str) -> Error {
    Error::new(
        ErrorKind::StoreDamaged,
        format!("the reply of Redis cannot be read: {why}"),
        "check what else writes under this key prefix, then run `windlass clean --deep`",
    )
}
