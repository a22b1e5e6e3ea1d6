//! Lines of a pipe, read with a bound: whatever comes, memory does not grow.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A whole line.
    Whole(Vec<u8>),
    /// As much of a line as the bound allows; the rest is passed over.
    Cut(Vec<u8>),
    /// What came before the end without a line end.
    Partial(Vec<u8>),
}

impl Line {
    /// The text, whatever bytes there are.
    pub(crate) fn text(&self) -> String {
        let (Self::Whole(bytes) | Self::Cut(bytes) | Self::Partial(bytes)) = self;
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// Reads lines.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    bytes_max: usize,
    is_skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R, bytes_max: usize) -> Self {
        Self {
            reader: BufReader::with_capacity(64 * 1024, reader),
            line: Vec::new(),
            bytes_max,
            is_skipping: false,
        }
    }

    /// The next line; nothing at the end. A line that is too long is told as soon as it is, not when
    /// it ends.
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
            let is_cut = !self.is_skipping && part.len() > room;
            if !self.is_skipping {
                self.line.extend_from_slice(&part[..part.len().min(room)]);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            let was_skipping = self.is_skipping;
            self.is_skipping = (was_skipping || is_cut) && end.is_none();
            if is_cut {
                return Ok(Some(Line::Cut(std::mem::take(&mut self.line))));
            }
            if end.is_some() && !was_skipping {
                return Ok(Some(Line::Whole(std::mem::take(&mut self.line))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8], bytes_max: usize) -> Vec<Line> {
        let mut lines = Lines::new(text, bytes_max);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn lines_are_told_from_long_ones_and_from_a_torn_end() {
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(
            read(b"one\n\nfar too long\nfive5\nlast", 5).await,
            [
                whole("one"),
                whole(""),
                Line::Cut(b"far t".to_vec()),
                whole("five5"),
                Line::Partial(b"last".to_vec()),
            ]
        );
    }

    #[tokio::test]
    async fn a_line_without_end_is_cut_at_once_and_held_no_longer() {
        let text = vec![b'x'; 1_000_000];
        let mut lines = Lines::new(&text[..], 10);
        assert_eq!(lines.next().await.unwrap(), Some(Line::Cut(vec![b'x'; 10])));
        assert_eq!(lines.next().await.unwrap(), None);
    }

    #[test]
    fn any_bytes_can_be_shown() {
        assert_eq!(Line::Whole(b"a\xff\r".to_vec()).text(), "a\u{fffd}");
    }
}
