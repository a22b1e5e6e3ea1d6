//! Reads what scripts and commands answer.

use bytes::Bytes;
use redis::Value;
use windlass_core::{Error, ErrorKind, Result};

/// A number.
pub(crate) fn number(value: &Value) -> Result<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        _ => Err(odd("a number")),
    }
}

/// Bytes, or nothing.
pub(crate) fn maybe_bytes(value: Value) -> Result<Option<Bytes>> {
    match value {
        Value::Nil | Value::Boolean(false) => Ok(None),
        Value::BulkString(bytes) => Ok(Some(bytes.into())),
        Value::SimpleString(text) => Ok(Some(text.into())),
        Value::Okay => Ok(Some(Bytes::from_static(b"OK"))),
        _ => Err(odd("bytes")),
    }
}

/// Bytes.
pub(crate) fn bytes(value: Value) -> Result<Bytes> {
    maybe_bytes(value)?.ok_or_else(|| odd("bytes"))
}

/// Text; what is not UTF-8 shows as such.
pub(crate) fn text(value: Value) -> Result<String> {
    Ok(String::from_utf8_lossy(&bytes(value)?).into_owned())
}

/// A list; nothing is an empty one.
pub(crate) fn list(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::Array(values) | Value::Set(values) => Ok(values),
        Value::Map(pairs) => Ok(pairs
            .into_iter()
            .flat_map(|(key, value)| [key, value])
            .collect()),
        _ => Err(odd("a list")),
    }
}

fn odd(wanted: &str) -> Error {
    Error::new(
        ErrorKind::StoreDamaged,
        format!("the server answered something else than {wanted}"),
        "look whether these keys belong to the system you named: `windlass interop inspect`",
    )
}
