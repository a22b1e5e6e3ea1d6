//! Lines of text for interfaces that speak JSON lines.

use std::io;

use tokio::io::AsyncRead;
use windlass_core::Error as CoreError;

use super::{InputLine, LineReader};
use crate::depth;
use crate::error::Error;

/// The default maximum line length: 2 MiB for an encoded payload, plus the other fields.
pub const LINE_BYTES_MAX_DEFAULT: usize = 2 * 1024 * 1024 + 64 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line that is not blank.
#[derive(Debug)]
pub struct TextLine {
    /// The line number, counted from 1 and including blank lines.
    pub number: u64,
    /// The text without the line break, or why it cannot be read.
    pub text: Result<String, Error>,
}

impl TextLine {
    /// Creates a line from text.
    pub fn new(number: u64, text: &str) -> Self {
        Self::of(number, Ok(text.as_bytes()))
    }

    fn of(number: u64, line: Result<&[u8], Error>) -> Self {
        let text = line.and_then(read).map_err(|error| error.at_line(number));
        Self { number, text }
    }
}

/// Reads a stream of text line by line.
#[derive(Debug)]
pub struct TextLines<R> {
    lines: LineReader<R>,
    bytes_max: usize,
    number: u64,
}

impl<R: AsyncRead + Unpin> TextLines<R> {
    /// Reads lines of at most `bytes_max` bytes.
    pub fn new(reader: R, bytes_max: usize) -> Self {
        Self {
            lines: LineReader::new(reader, bytes_max),
            bytes_max,
            number: 0,
        }
    }

    /// Returns the next line that is not blank, or `None` at the end. Cancel safe.
    pub async fn next(&mut self) -> io::Result<Option<TextLine>> {
        loop {
            if let Some(length) = self.lines.skip().await? {
                let error = too_long(length, self.bytes_max);
                return Ok(Some(TextLine::of(self.number, Err(error))));
            }
            let Some(line) = self.lines.next().await? else {
                return Ok(None);
            };
            self.number += 1;
            if let InputLine::Complete(line) | InputLine::Partial(line) = line {
                let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
                if !line.trim_ascii().is_empty() {
                    return Ok(Some(TextLine::of(self.number, Ok(line))));
                }
            }
        }
    }
}

fn read(line: &[u8]) -> Result<String, Error> {
    let text = std::str::from_utf8(line).map_err(|error| {
        let why = format!("not UTF-8 from byte {} on", error.valid_up_to() + 1);
        let help = "send UTF-8; send binary payloads as payload_base64";
        Error::from(CoreError::invalid("line", why, help))
    })?;
    depth::check(text)?;
    Ok(text.trim_ascii().to_owned())
}

fn too_long(length: u64, bytes_max: usize) -> Error {
    let why = format!("{length} bytes is too long; maximum {bytes_max}");
    let help = "send shorter lines, or raise the limit with --line-max";
    CoreError::invalid("line", why, help).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_all(text: &[u8], bytes_max: usize) -> Vec<(u64, String)> {
        let mut lines = TextLines::new(text, bytes_max);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            let text = line.text.unwrap_or_else(|error| error.message);
            all.push((line.number, text));
        }
        all
    }

    #[tokio::test]
    async fn blank_lines_are_counted_and_skipped() {
        let text = b"\xef\xbb\xbfone\r\n\n \t\r\n\xef\xbb\xbf\ntwo\nlast";
        let lines = read_all(text, 100).await;
        let expected = [(1, "one"), (5, "two"), (6, "last")];
        assert_eq!(lines, expected.map(|(at, text)| (at, text.to_owned())));
    }

    #[tokio::test]
    async fn lines_that_cannot_be_read_are_reported_with_their_number() {
        let text = b"far too long\nfive5\nb\xffd\n123456";
        let lines = read_all(text, 5).await;
        let invalid = |why: &str| CoreError::invalid("line", why, "").to_string();
        let expected = [
            (1, invalid("12 bytes is too long; maximum 5")),
            (2, "five5".to_owned()),
            (3, invalid("not UTF-8 from byte 2 on")),
            (4, invalid("6 bytes is too long; maximum 5")),
        ];
        assert_eq!(lines, expected);
    }

    #[tokio::test]
    async fn an_endless_line_is_not_stored() {
        let text = vec![b'x'; 1_000_000];
        let mut lines = TextLines::new(&text[..], 10);
        let line = lines.next().await.unwrap().unwrap();
        assert!(line.text.unwrap_err().message.contains("1000000 bytes"));
    }
}
