//! Parses the replies of scripts and commands.

use bytes::Bytes;
use redis::Value;
use windlass_core::{Error, ErrorKind, Result};

/// Parses an integer.
pub(crate) fn number(value: &Value) -> Result<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        _ => Err(unexpected("an integer")),
    }
}

/// Parses a number that is never negative.
pub(crate) fn count(value: &Value) -> Result<u64> {
    Ok(u64::try_from(number(value)?).unwrap_or(0))
}

/// Parses bytes; nil is `None`.
pub(crate) fn maybe_bytes(value: Value) -> Result<Option<Bytes>> {
    match value {
        Value::Nil | Value::Boolean(false) => Ok(None),
        Value::BulkString(bytes) => Ok(Some(bytes.into())),
        Value::SimpleString(text) => Ok(Some(text.into())),
        Value::Okay => Ok(Some(Bytes::from_static(b"OK"))),
        _ => Err(unexpected("bytes")),
    }
}

/// Parses bytes.
pub(crate) fn bytes(value: Value) -> Result<Bytes> {
    maybe_bytes(value)?.ok_or_else(|| unexpected("bytes"))
}

/// Parses text; invalid UTF-8 is replaced with U+FFFD.
pub(crate) fn text(value: Value) -> Result<String> {
    Ok(String::from_utf8_lossy(&bytes(value)?).into_owned())
}

/// Parses a list; nil is an empty list.
pub(crate) fn list(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::Array(values) | Value::Set(values) => Ok(values),
        Value::Map(pairs) => Ok(pairs
            .into_iter()
            .flat_map(|(key, value)| [key, value])
            .collect()),
        _ => Err(unexpected("a list")),
    }
}

fn unexpected(expected: &str) -> Error {
    Error::new(
        ErrorKind::StoreDamaged,
        format!("unexpected reply from the server: expected {expected}"),
        "check that these keys belong to the system you named: `windlass interop inspect`",
    )
}
