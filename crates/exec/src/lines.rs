//! Reads lines from a pipe with bounded memory.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// One line, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A complete line.
    Complete(Vec<u8>),
    /// The start of a line that is too long; the rest is skipped.
    Truncated(Vec<u8>),
    /// The last line, if it has no newline.
    Partial(Vec<u8>),
}

impl Line {
    /// Returns the text; invalid UTF-8 is replaced.
    pub(crate) fn text(&self) -> String {
        let (Self::Complete(bytes) | Self::Truncated(bytes) | Self::Partial(bytes)) = self;
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// Reads lines.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    bytes_max: usize,
    is_skipping: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(reader: R, bytes_max: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(64 * 1024, reader),
            line: Vec::new(),
            bytes_max,
            is_skipping: false,
        }
    }

    /// Returns the next line, or `None` at the end. A line that is too long is returned as soon as it
    /// exceeds the limit.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                let line = std::mem::take(&mut self.line);
                return Ok((!line.is_empty()).then_some(Line::Partial(line)));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let room = self.bytes_max - self.line.len();
            let is_truncated = !self.is_skipping && part.len() > room;
            if !self.is_skipping {
                self.line.extend_from_slice(&part[..part.len().min(room)]);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            let was_skipping = self.is_skipping;
            self.is_skipping = (was_skipping || is_truncated) && end.is_none();
            if is_truncated {
                return Ok(Some(Line::Truncated(std::mem::take(&mut self.line))));
            }
            if end.is_some() && !was_skipping {
                return Ok(Some(Line::Complete(std::mem::take(&mut self.line))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8], bytes_max: usize) -> Vec<Line> {
        let mut lines = LineReader::new(text, bytes_max);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn long_lines_and_a_partial_last_line_are_distinguished() {
        let whole = |text: &str| Line::Complete(text.as_bytes().to_vec());
        assert_eq!(
            read(b"one\n\nfar too long\nfive5\nlast", 5).await,
            [
                whole("one"),
                whole(""),
                Line::Truncated(b"far t".to_vec()),
                whole("five5"),
                Line::Partial(b"last".to_vec()),
            ]
        );
    }

    #[tokio::test]
    async fn an_endless_line_is_truncated_and_not_buffered() {
        let text = vec![b'x'; 1_000_000];
        let mut lines = LineReader::new(&text[..], 10);
        assert_eq!(
            lines.next().await.unwrap(),
            Some(Line::Truncated(vec![b'x'; 10]))
        );
        assert_eq!(lines.next().await.unwrap(), None);
    }

    #[test]
    fn any_bytes_can_be_shown() {
        assert_eq!(Line::Complete(b"a\xff\r".to_vec()).text(), "a\u{fffd}");
    }
}
