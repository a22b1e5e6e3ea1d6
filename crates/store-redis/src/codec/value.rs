//! Replies to plain commands: lists, hashes and sorted sets, in RESP2 or RESP3.

use redis::Value;
use windlass_core::{Bytes, Result};

use windlass_redis_link::reply::{bytes, text, unexpected_reply};

pub(crate) fn items(value: Value) -> Result<Vec<Bytes>> {
    list(value)?.into_iter().map(bytes).collect()
}

/// Fields and values of a hash.
pub(crate) fn pairs(value: Value) -> Result<Vec<(Bytes, Bytes)>> {
    let pair = |(field, value)| Ok((bytes(field)?, bytes(value)?));
    paired(value)?.into_iter().map(pair).collect()
}

/// Members and scores of a sorted set.
pub(crate) fn scored(value: Value) -> Result<Vec<(Bytes, f64)>> {
    let pair = |(member, score)| {
        let score = text(score)?.parse();
        Ok((
            bytes(member)?,
            score.map_err(|_| unexpected_reply("it has an invalid score"))?,
        ))
    };
    paired(value)?.into_iter().map(pair).collect()
}

/// Pairs of items, from a map, a list of pairs, or a flat list.
fn paired(value: Value) -> Result<Vec<(Value, Value)>> {
    if let Value::Map(pairs) = value {
        return Ok(pairs);
    }
    let bad = || unexpected_reply("it does not come in pairs");
    let mut paired = Vec::new();
    let mut items = list(value)?.into_iter();
    while let Some(first) = items.next() {
        paired.push(match first {
            Value::Array(pair) => <[Value; 2]>::try_from(pair).map_err(|_| bad())?.into(),
            first => (first, items.next().ok_or_else(bad)?),
        });
    }
    Ok(paired)
}

fn list(value: Value) -> Result<Vec<Value>> {
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::Array(items) | Value::Set(items) => Ok(items),
        _ => Err(unexpected_reply("it is not a list")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn lists_are_read() {
        let both = Value::Array(vec![bulk("b"), bulk("a")]);
        assert_eq!(items(both).unwrap(), [Bytes::from("b"), Bytes::from("a")]);
        assert!(items(Value::Nil).unwrap().is_empty());
    }

    #[test]
    fn hashes_and_sorted_sets_are_read_in_both_protocols() {
        let expected = vec![(Bytes::from("a"), 1.5), (Bytes::from("b"), f64::INFINITY)];
        let flat = Value::Array(vec![bulk("a"), bulk("1.5"), bulk("b"), bulk("inf")]);
        let nested = Value::Array(vec![
            Value::Array(vec![bulk("a"), Value::Double(1.5)]),
            Value::Array(vec![bulk("b"), Value::Double(f64::INFINITY)]),
        ]);
        assert_eq!(scored(flat).unwrap(), expected);
        assert_eq!(scored(nested).unwrap(), expected);

        let expected = vec![(Bytes::from("a"), Bytes::from("1"))];
        let map = Value::Map(vec![(bulk("a"), bulk("1"))]);
        let flat = Value::Array(vec![bulk("a"), bulk("1")]);
        assert_eq!(pairs(map).unwrap(), expected);
        assert_eq!(pairs(flat).unwrap(), expected);
        assert_eq!(pairs(Value::Nil).unwrap(), []);
    }

    #[test]
    fn a_reply_of_another_shape_is_rejected() {
        assert!(items(bulk("a")).is_err());
        assert!(items(Value::Array(vec![Value::Nil])).is_err());
        assert!(pairs(Value::Array(vec![bulk("a")])).is_err());
        assert!(pairs(Value::Array(vec![Value::Array(vec![bulk("a")])])).is_err());
        assert!(scored(Value::Array(vec![bulk("a"), bulk("high")])).is_err());
    }
}
