//! Lines of bounded length: read from any input, and written to any output.
//!
//! [`LineSplitter`] splits bytes, [`LineReader`] a stream. [`TextLines`] are the lines of an interface
//! that speaks JSON lines; [`LineWriter`] and [`format_reply`] are its output, and [`SessionEnd`] says how
//! a conversation ended.

mod end;
mod reply;
mod text;
mod writer;

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

pub use end::{Cause, SessionEnd, UndeliveredJob, release_all};
pub use reply::format_reply;
pub use text::{LINE_BYTES_MAX_DEFAULT, TextLine, TextLines};
pub use writer::LineWriter;

/// One line, without its line break.
#[derive(Debug, PartialEq, Eq)]
pub enum InputLine {
    /// A complete line.
    Complete(Vec<u8>),
    /// The start of a line over the limit; the rest is skipped.
    Truncated(Vec<u8>),
    /// The last line, if it has no line break.
    Partial(Vec<u8>),
}

impl InputLine {
    /// Returns the text; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        let (Self::Complete(bytes) | Self::Truncated(bytes) | Self::Partial(bytes)) = self;
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// Splits bytes into lines. Stores at most one line up to the limit.
#[derive(Debug)]
pub struct LineSplitter {
    bytes_max: usize,
    line: Vec<u8>,
    /// The length so far of a line over the limit, which is being skipped.
    skipped: Option<u64>,
}

impl LineSplitter {
    /// Creates a splitter for lines of at most `bytes_max` bytes.
    pub const fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            line: Vec::new(),
            skipped: None,
        }
    }

    /// Consumes bytes up to the end of a line. Returns the line when it ends, or when it exceeds the
    /// limit.
    pub fn next(&mut self, bytes: &mut &[u8]) -> Option<InputLine> {
        if self.skipped.is_some() {
            self.skip(bytes)?;
        }
        let (part, is_end) = part(bytes);
        let room = self.bytes_max - self.line.len();
        if part.len() > room {
            self.line.extend_from_slice(&part[..room]);
            *bytes = &bytes[room..];
            self.skipped = Some(self.bytes_max as u64);
            return Some(InputLine::Truncated(std::mem::take(&mut self.line)));
        }
        self.line.extend_from_slice(part);
        *bytes = &bytes[part.len() + usize::from(is_end)..];
        is_end.then(|| InputLine::Complete(std::mem::take(&mut self.line)))
    }

    /// Consumes the rest of a line over the limit. Returns the length of the line when it ends.
    fn skip(&mut self, bytes: &mut &[u8]) -> Option<u64> {
        let (part, is_end) = part(bytes);
        *bytes = &bytes[part.len() + usize::from(is_end)..];
        let length = self.skipped.as_mut()?;
        *length += part.len() as u64;
        if is_end { self.skipped.take() } else { None }
    }

    /// Returns the last line, which has no line break.
    pub fn last(&mut self) -> Option<InputLine> {
        self.skipped = None;
        let line = std::mem::take(&mut self.line);
        (!line.is_empty()).then_some(InputLine::Partial(line))
    }
}

/// Returns the bytes before the first line break, and whether there is one.
fn part<'a>(bytes: &&'a [u8]) -> (&'a [u8], bool) {
    let end = memchr::memchr(b'\n', bytes);
    (&bytes[..end.unwrap_or(bytes.len())], end.is_some())
}

/// Reads a stream line by line.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: BufReader<R>,
    lines: LineSplitter,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of at most `bytes_max` bytes.
    pub fn new(reader: R, bytes_max: usize) -> Self {
        Self::with_buffer(64 * 1024, reader, bytes_max)
    }

    /// Reads lines through a buffer of this size.
    pub fn with_buffer(capacity: usize, reader: R, bytes_max: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(capacity, reader),
            lines: LineSplitter::new(bytes_max),
        }
    }

    /// Returns whether the next line is already in the buffer.
    pub fn has_line(&self) -> bool {
        memchr::memchr(b'\n', self.reader.buffer()).is_some()
    }

    /// Returns the next line, or `None` at the end. A line over the limit is returned as soon as it
    /// exceeds the limit. Cancel safe.
    pub async fn next(&mut self) -> io::Result<Option<InputLine>> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(self.lines.last());
            }
            let mut rest = chunk;
            let line = self.lines.next(&mut rest);
            let used = chunk.len() - rest.len();
            self.reader.consume(used);
            if line.is_some() {
                return Ok(line);
            }
        }
    }

    /// Skips the rest of a line over the limit. Returns the length of the line; `None` if the last line
    /// was not over the limit. Cancel safe.
    pub async fn skip(&mut self) -> io::Result<Option<u64>> {
        while self.lines.skipped.is_some() {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(self.lines.skipped.take());
            }
            let mut rest = chunk;
            let length = self.lines.skip(&mut rest);
            let used = chunk.len() - rest.len();
            self.reader.consume(used);
            if length.is_some() {
                return Ok(length);
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8], bytes_max: usize) -> Vec<InputLine> {
        let mut lines = LineReader::new(text, bytes_max);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn long_lines_and_a_partial_last_line_are_distinguished() {
        let whole = |text: &str| InputLine::Complete(text.as_bytes().to_vec());
        assert_eq!(
            read(b"one\n\nfar too long\nfive5\nlast", 5).await,
            [
                whole("one"),
                whole(""),
                InputLine::Truncated(b"far t".to_vec()),
                whole("five5"),
                InputLine::Partial(b"last".to_vec()),
            ]
        );
    }

    #[tokio::test]
    async fn an_endless_line_is_truncated_and_not_buffered() {
        let text = vec![b'x'; 1_000_000];
        let mut lines = LineReader::new(&text[..], 10);
        assert_eq!(
            lines.next().await.unwrap(),
            Some(InputLine::Truncated(vec![b'x'; 10]))
        );
        assert_eq!(lines.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn the_length_of_a_line_over_the_limit_is_known_at_its_end() {
        let mut lines = LineReader::new(&b"far too long\nfive5"[..], 5);
        lines.next().await.unwrap();
        assert_eq!(lines.skip().await.unwrap(), Some(12));
        assert_eq!(lines.skip().await.unwrap(), None);
        assert_eq!(
            lines.next().await.unwrap(),
            Some(InputLine::Partial(b"five5".to_vec()))
        );
    }

    #[test]
    fn any_bytes_can_be_shown() {
        assert_eq!(InputLine::Complete(b"a\xff\r".to_vec()).text(), "a\u{fffd}");
    }

    /// Splits chunks into lines; lines over the limit are shown as `!`.
    fn split(bytes_max: usize, chunks: &[&str]) -> Vec<String> {
        let shown = |line| match line {
            InputLine::Complete(line) | InputLine::Partial(line) => {
                String::from_utf8(line).unwrap()
            }
            InputLine::Truncated(_) => "!".to_owned(),
        };
        let mut lines = LineSplitter::new(bytes_max);
        let mut found = Vec::new();
        for chunk in chunks {
            let mut rest = chunk.as_bytes();
            while let Some(line) = lines.next(&mut rest) {
                found.push(shown(line));
            }
            assert!(rest.is_empty(), "a chunk is consumed");
            assert!(lines.line.len() <= bytes_max, "the buffer is too large");
        }
        found.extend(lines.last().map(shown));
        found
    }

    #[test]
    fn lines_are_complete_wherever_the_chunks_end() {
        let text = "one\n\nthree\nfour";
        for at in 0..=text.len() {
            let (first, second) = text.split_at(at);
            assert_eq!(split(10, &[first, second]), ["one", "", "three", "four"]);
        }
        let bytes: Vec<String> = text.chars().map(String::from).collect();
        let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
        assert_eq!(split(10, &bytes), ["one", "", "three", "four"]);
        assert_eq!(split(10, &["one\n"]), ["one"]);
        assert_eq!(split(10, &[]), [""; 0]);
    }

    #[test]
    fn a_line_too_long_is_reported_once_and_skipped() {
        assert_eq!(split(3, &["abc\nd"]), ["abc", "d"]);
        assert_eq!(split(3, &["abcd\ne"]), ["!", "e"]);
        assert_eq!(split(3, &["ab", "cd", "efgh", "i\nj\n"]), ["!", "j"]);
        assert_eq!(split(3, &["abcd", "\n", "\n"]), ["!", ""]);
        assert_eq!(split(3, &["a\nbcdef"]), ["a", "!"]);
        assert_eq!(split(3, &["bcdef", "gh"]), ["!"]);
    }
}
