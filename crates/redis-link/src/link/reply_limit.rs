//! Limits the size of a reply: a whole reply is read into memory, however long the server says it is.

use std::fmt;

/// Memory that an element of a list takes, in addition to its bytes.
const ELEMENT_BYTES: u64 = 64;

/// The longest number in a header line, with its sign.
const DIGITS_MAX: usize = 20;

/// A reply is larger than the limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyTooLarge {
    limit: u64,
}

impl fmt::Display for ReplyTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it is larger than {} MiB", self.limit / (1024 * 1024))
    }
}

impl std::error::Error for ReplyTooLarge {}

/// Follows the framing of replies (RESP2 and RESP3) and counts the size of the current one.
pub(super) struct ReplySize {
    limit: u64,
    size: u64,
    /// Values of the current reply that have not been read.
    missing: u64,
    /// Bytes of the current value that follow its header line.
    body: u64,
    /// The start of the current header line: its type and a number.
    line: Vec<u8>,
}

impl ReplySize {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            limit,
            size: 0,
            missing: 1,
            body: 0,
            line: Vec::with_capacity(DIGITS_MAX + 2),
        }
    }

    /// Reads to the end of the current reply. Returns where that is, or `None` if it is not in these bytes.
    pub(super) fn read(&mut self, all: &[u8]) -> Result<Option<usize>, ReplyTooLarge> {
        let mut bytes = all;
        while !bytes.is_empty() {
            if self.body > 0 {
                let count = bytes
                    .len()
                    .min(usize::try_from(self.body).unwrap_or(usize::MAX));
                self.body -= count as u64;
                self.grow(count as u64)?;
                bytes = &bytes[count..];
                if self.body == 0 && self.end_value() {
                    return Ok(Some(all.len() - bytes.len()));
                }
                continue;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let (line, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
            self.grow(line.len() as u64)?;
            let room = (DIGITS_MAX + 2).saturating_sub(self.line.len());
            self.line.extend(&line[..line.len().min(room)]);
            bytes = rest;
            if end.is_some() && self.end_line()? {
                return Ok(Some(all.len() - bytes.len()));
            }
        }
        Ok(None)
    }

    /// Handles a complete header line. Returns whether it ends the reply.
    fn end_line(&mut self) -> Result<bool, ReplyTooLarge> {
        let (kind, number) = (self.line.first().copied(), number(&self.line));
        self.line.clear();
        self.grow(ELEMENT_BYTES)?;
        let values = match kind {
            Some(b'$' | b'=' | b'!') => {
                // With its line ending. Nil has none.
                self.body = number.map_or(0, |length| length.saturating_add(2));
                self.check(self.body)?;
                0
            }
            Some(b'*' | b'~' | b'>') => number.unwrap_or(0),
            Some(b'%') => number.unwrap_or(0).saturating_mul(2),
            // An attribute is followed by the value it describes.
            Some(b'|') => number.unwrap_or(0).saturating_mul(2).saturating_add(1),
            _ => 0,
        };
        self.check(values.saturating_mul(ELEMENT_BYTES))?;
        self.missing = self.missing.saturating_add(values);
        Ok(self.body == 0 && self.end_value())
    }

    /// Handles the end of a value, or of the header of a list. Returns whether the reply ends.
    fn end_value(&mut self) -> bool {
        self.missing = self.missing.saturating_sub(1);
        let is_end = self.missing == 0;
        if is_end {
            self.missing = 1;
            self.size = 0;
        }
        is_end
    }

    fn grow(&mut self, by: u64) -> Result<(), ReplyTooLarge> {
        self.size = self.size.saturating_add(by);
        self.check(0)
    }

    /// Whether the reply may grow by this much.
    fn check(&self, more: u64) -> Result<(), ReplyTooLarge> {
        if self.size.saturating_add(more) > self.limit {
            return Err(ReplyTooLarge { limit: self.limit });
        }
        Ok(())
    }
}

/// The number after the type; `None` if it is negative (nil) or unreadable, which the client library
/// rejects.
fn number(line: &[u8]) -> Option<u64> {
    std::str::from_utf8(line.get(1..)?)
        .ok()?
        .trim_ascii()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 1000;

    const MESSAGES: [&[u8]; 12] = [
        b"+OK\r\n",
        b"-ERR no\r\n",
        b":-7\r\n",
        b"$-1\r\n",
        b"$0\r\n\r\n",
        b"$4\r\na\r\nb\r\n",
        b"*-1\r\n",
        b"*0\r\n",
        b"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n",
        b"%1\r\n+a\r\n_\r\n",
        b"|1\r\n+ttl\r\n:1\r\n$2\r\nab\r\n",
        b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n=5\r\ntxt:a\r\n",
    ];

    #[test]
    fn the_size_is_counted_per_reply_wherever_the_stream_is_split() {
        let stream = MESSAGES.concat();
        for split in 1..stream.len() {
            let mut size = ReplySize::new(LIMIT);
            // Far more than the limit in total.
            for _ in 0..20 {
                let (one, other) = stream.split_at(split);
                size.read(one).expect("each reply is small");
                size.read(other).expect("each reply is small");
                assert_eq!((size.size, size.missing, size.body), (0, 1, 0), "{split}");
            }
        }
    }

    #[test]
    fn a_reply_that_announces_more_than_the_limit_is_rejected_at_once() {
        for start in [
            "$2000000000\r\n",
            "=2000000000\r\n",
            "!18446744073709551615\r\n",
            "*2000000000\r\n",
            "*16\r\n",
            "%8\r\n",
            "|8\r\n",
            ">18446744073709551615\r\n",
            "*2\r\n$5\r\nhello\r\n$900\r\n",
        ] {
            let mut size = ReplySize::new(LIMIT);
            size.read(start.as_bytes()).expect_err(start);
        }
    }

    #[test]
    fn a_reply_that_announces_nothing_is_rejected_at_the_limit() {
        let mut size = ReplySize::new(LIMIT);
        size.read(b"+").expect("one byte");
        size.read(&[b'x'; 999]).expect("at the limit");
        size.read(b"x").expect_err("above the limit");
        let mut size = ReplySize::new(LIMIT);
        let nested = (0..100).try_for_each(|_| size.read(b"*1\r\n").map(drop));
        nested.expect_err("each list takes memory");
    }
}
