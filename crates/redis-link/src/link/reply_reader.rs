//! Reads replies from the bytes of a connection.

use redis::{ErrorKind, RedisError, Value};

use super::reply_limit::ReplySize;
use super::wire::Cause;

/// Bytes of a buffer that is kept for the next reply.
const KEPT_BYTES: usize = 1024 * 1024;

/// Lists within lists that are read; the client library reads as many.
const DEPTH_MAX: usize = 100;

pub(super) struct ReplyReader {
    size: ReplySize,
    /// The start of a reply whose end has not arrived.
    start: Vec<u8>,
}

impl ReplyReader {
    pub(super) fn new(reply_bytes_max: u64) -> Self {
        Self {
            size: ReplySize::new(reply_bytes_max),
            start: Vec::new(),
        }
    }

    /// Returns the replies that are complete with these bytes.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> Result<Vec<Value>, Cause> {
        let mut values = Vec::new();
        while let Some(end) = self.size.read(bytes).map_err(Cause::TooLarge)? {
            let (reply, rest) = bytes.split_at(end);
            bytes = rest;
            if self.start.is_empty() {
                values.push(parse(reply).map_err(Cause::Lost)?);
                continue;
            }
            self.start.extend_from_slice(reply);
            values.push(parse(&self.start).map_err(Cause::Lost)?);
            self.start.clear();
            self.start.shrink_to(KEPT_BYTES);
        }
        self.start.extend_from_slice(bytes);
        Ok(values)
    }
}

/// Parses one reply. What scripts reply with is parsed here; the client library parses the rest.
fn parse(reply: &[u8]) -> Result<Value, RedisError> {
    let mut rest = reply;
    match parse_plain(&mut rest, 0) {
        Some(value) if rest.is_empty() => Ok(value),
        Some(_) => Err(RedisError::from((ErrorKind::Parse, "malformed reply"))),
        None => redis::parse_redis_value(reply),
    }
}

/// Parses a list, a string or a number; `None` for other types.
fn parse_plain(rest: &mut &[u8], depth: usize) -> Option<Value> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, after) = (rest.get(1..end.checked_sub(1)?)?, &rest[end + 1..]);
    let kind = rest[0];
    *rest = after;
    let number = || str::from_utf8(line).ok()?.parse::<i64>().ok();
    match kind {
        b':' => number().map(Value::Int),
        b'_' => Some(Value::Nil),
        b'$' => {
            let Ok(length) = usize::try_from(number()?) else {
                return Some(Value::Nil);
            };
            let (body, after) = after.split_at_checked(length)?;
            *rest = after.strip_prefix(b"\r\n")?;
            Some(Value::BulkString(body.to_vec()))
        }
        b'*' if depth < DEPTH_MAX => {
            let Ok(count) = usize::try_from(number()?) else {
                return Some(Value::Nil);
            };
            // Each element has at least a line.
            let mut items = Vec::with_capacity(count.min(after.len()));
            for _ in 0..count {
                items.push(parse_plain(rest, depth + 1)?);
            }
            Some(Value::Array(items))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLIES: [&str; 14] = [
        "*3\r\n$2\r\nab\r\n*2\r\n:-7\r\n_\r\n$0\r\n\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "+OK\r\n",
        "+some text\r\n",
        "-NOSCRIPT No matching script.\r\n",
        "%1\r\n+a\r\n:1\r\n",
        "*2\r\n%1\r\n+a\r\n:1\r\n$1\r\n\n\r\n",
        "#t\r\n",
        ",1.5\r\n",
        "=6\r\ntxt:ab\r\n",
        ">2\r\n$7\r\nmessage\r\n$1\r\na\r\n",
        ":9223372036854775807\r\n",
    ];

    #[test]
    fn a_reply_is_the_same_as_the_client_library_reads_wherever_it_is_split() {
        let all = REPLIES.concat();
        let expected: Vec<_> = REPLIES
            .iter()
            .map(|reply| redis::parse_redis_value(reply.as_bytes()).expect("it is valid"))
            .collect();
        for size in 1..all.len() {
            let mut reader = ReplyReader::new(1000);
            let mut values = Vec::new();
            for bytes in all.as_bytes().chunks(size) {
                values.extend(reader.read(bytes).expect("it is valid"));
            }
            assert_eq!(values, expected, "{size} bytes at a time");
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..5_000 {
            let mut bytes = REPLIES.concat().into_bytes();
            for _ in 0..random.usize(1..8) {
                let at = random.usize(..bytes.len());
                bytes[at] = b"\r\n*$:-0129%>_"[random.usize(..13)];
            }
            let read = ReplyReader::new(1000).read(&bytes);
            assert!(read.is_err() || read.is_ok_and(|values| values.len() <= bytes.len()));
        }
    }

    #[test]
    fn a_malformed_reply_is_an_error() {
        for reply in [
            "$2\r\nabcd",
            "$1\n\r\na",
            "*1\r\n\r\n",
            "x\r\n",
            "\n",
            ":x\r\n",
            "*1\r\n:\r\n",
        ] {
            let read = ReplyReader::new(1000).read(reply.as_bytes());
            assert!(matches!(read, Err(Cause::Lost(_))), "{reply:?} {read:?}");
        }
        let nested = "*1\r\n".repeat(2_000) + ":1\r\n";
        let read = ReplyReader::new(1_000_000).read(nested.as_bytes());
        assert!(matches!(read, Err(Cause::Lost(_))));
    }
}
