//! Splits a stream of bytes into lines of bounded length.

use bytes::{Bytes, BytesMut};

/// One line of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A complete line, without its line break.
    Complete(Bytes),
    /// A line over the limit. The rest of it is skipped.
    TooLong,
}

/// Buffers input and returns it line by line.
#[derive(Debug)]
pub(super) struct LineSplitter {
    bytes_max: usize,
    buffer: BytesMut,
    /// How many bytes of the buffer were already searched for a line break.
    searched: usize,
    is_skipping: bool,
}

impl LineSplitter {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            buffer: BytesMut::new(),
            searched: 0,
            is_skipping: false,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete line, if there is one.
    pub(super) fn next(&mut self) -> Option<Line> {
        loop {
            let new = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(at) = new.iter().position(|byte| *byte == b'\n') else {
                return self.keep_partial();
            };
            let mut line = self.buffer.split_to(self.searched + at + 1);
            self.searched = 0;
            line.truncate(line.len() - 1);
            if !std::mem::take(&mut self.is_skipping) {
                return Some(self.check_length(line.freeze()));
            }
        }
    }

    /// Returns the last line, which has no line break.
    pub(super) fn last(mut self) -> Option<Line> {
        let rest = std::mem::take(&mut self.buffer).freeze();
        let is_line = !rest.is_empty() && !self.is_skipping;
        is_line.then(|| self.check_length(rest))
    }

    fn check_length(&self, line: Bytes) -> Line {
        if line.len() > self.bytes_max {
            Line::TooLong
        } else {
            Line::Complete(line)
        }
    }

    /// Keeps an incomplete line, or drops it if it is already over the limit.
    fn keep_partial(&mut self) -> Option<Line> {
        let was_skipping = self.is_skipping;
        self.is_skipping |= self.buffer.len() > self.bytes_max;
        if self.is_skipping {
            self.buffer = BytesMut::new();
        }
        self.searched = self.buffer.len();
        (self.is_skipping && !was_skipping).then_some(Line::TooLong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits chunks into lines; lines over the limit are shown as `!`.
    fn split(bytes_max: usize, chunks: &[&str]) -> Vec<String> {
        let shown = |line| match line {
            Line::Complete(line) => String::from_utf8(line.to_vec()).unwrap(),
            Line::TooLong => "!".to_owned(),
        };
        let mut lines = LineSplitter::new(bytes_max);
        let mut found = Vec::new();
        for chunk in chunks {
            lines.push(chunk.as_bytes());
            while let Some(line) = lines.next() {
                found.push(shown(line));
            }
            assert!(lines.buffer.len() <= bytes_max, "the buffer is too large");
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
