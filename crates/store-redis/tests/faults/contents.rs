//! All keys of a server, in a form that can be compared and restored.

use std::collections::{BTreeMap, BTreeSet};

use windlass_testkit::redis::{Connection, Reply};

/// The value of a key, in a canonical order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    Text(Vec<u8>),
    List(Vec<Vec<u8>>),
    Set(BTreeSet<Vec<u8>>),
    /// A hash with its values, or a sorted set with its scores.
    Pairs(BTreeMap<Vec<u8>, Vec<u8>>),
}

/// Every key.
pub(crate) type Contents = BTreeMap<String, Content>;

impl Content {
    /// Returns every byte string in it.
    pub(crate) fn strings(&self) -> Vec<&[u8]> {
        match self {
            Self::Text(text) => vec![text],
            Self::List(items) => items.iter().map(Vec::as_slice).collect(),
            Self::Set(items) => items.iter().map(Vec::as_slice).collect(),
            Self::Pairs(pairs) => {
                let pairs = pairs.iter();
                pairs
                    .flat_map(|(a, b)| [a.as_slice(), b.as_slice()])
                    .collect()
            }
        }
    }
}

/// Reads all keys.
pub(crate) fn read(link: &mut Connection) -> Contents {
    let keys = keys(link);
    let types = all(link, &keys, |key| vec!["TYPE", key]);
    let kinds: BTreeMap<&String, String> = keys.iter().zip(types.iter().map(Reply::text)).collect();
    let values = all(link, &keys, |key| match kinds[&key.to_owned()].as_str() {
        "string" => vec!["GET", key],
        "list" => vec!["LRANGE", key, "0", "-1"],
        "set" => vec!["SMEMBERS", key],
        "hash" => vec!["HGETALL", key],
        "zset" => vec!["ZRANGE", key, "0", "-1", "WITHSCORES"],
        other => panic!("{key} is a {other}"),
    });
    let content = |key: &String, reply: Reply| match (kinds[key].as_str(), bytes(reply)) {
        ("string", mut items) => Content::Text(items.remove(0)),
        ("list", items) => Content::List(items),
        ("set", items) => Content::Set(items.into_iter().collect()),
        (_, items) => {
            let pairs = items
                .chunks(2)
                .map(|pair| (pair[0].clone(), without_number(&pair[0], &pair[1])));
            Content::Pairs(pairs.collect())
        }
    };
    let contents = keys.iter().zip(values);
    contents
        .map(|(key, reply)| (key.clone(), content(key, reply)))
        .collect()
}

/// A value without the number of a call, which is another each time.
fn without_number(field: &[u8], value: &[u8]) -> Vec<u8> {
    let number = value.iter().take_while(|byte| byte.is_ascii_digit());
    let number = if field.starts_with(b"@") {
        number.count()
    } else {
        0
    };
    value[number..].to_vec()
}

/// Dumps all keys with DUMP.
pub(crate) fn dump(link: &mut Connection) -> Vec<(String, Vec<u8>)> {
    let keys = keys(link);
    let dumped = all(link, &keys, |key| vec!["DUMP", key]);
    let dumped = dumped.into_iter().map(|reply| bytes(reply).remove(0));
    keys.into_iter().zip(dumped).collect()
}

/// Replaces all keys with a dump.
pub(crate) fn restore(link: &mut Connection, dumped: &[(String, Vec<u8>)]) {
    link.command(&["FLUSHALL"]).unwrap().ok();
    for (key, bytes) in dumped {
        link.send(&[b"RESTORE".as_slice(), key.as_bytes(), b"0", bytes])
            .unwrap();
    }
    for _ in dumped {
        link.receive().unwrap().ok();
    }
}

fn keys(link: &mut Connection) -> Vec<String> {
    let mut keys: Vec<String> = link
        .command(&["KEYS", "*"])
        .unwrap()
        .array()
        .iter()
        .map(Reply::text)
        .collect();
    keys.sort();
    keys
}

fn all<'a>(
    link: &mut Connection,
    keys: &'a [String],
    command: impl Fn(&'a str) -> Vec<&'a str>,
) -> Vec<Reply> {
    for key in keys {
        link.send(&command(key)).unwrap();
    }
    keys.iter().map(|_| link.receive().unwrap().ok()).collect()
}

fn bytes(reply: Reply) -> Vec<Vec<u8>> {
    match reply {
        Reply::Bulk(bytes) => vec![bytes],
        Reply::Array(items) => items.into_iter().flat_map(bytes).collect(),
        other => panic!("expected bytes, got {other:?}"),
    }
}
