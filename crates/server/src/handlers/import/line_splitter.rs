//! A stream of bytes cut into lines of bounded length.

use bytes::{Bytes, BytesMut};

/// What there is of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// All of it, without its end.
    Whole(Bytes),
    /// It is longer than allowed; what more comes of it is passed over.
    TooLong,
}

/// Bytes that came, on their way to be lines.
#[derive(Debug)]
pub(super) struct Lines {
    bytes_max: usize,
    rest: BytesMut,
    /// So many bytes of the rest are known to end no line.
    seen: usize,
    is_passing_over: bool,
}

impl Lines {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            rest: BytesMut::new(),
            seen: 0,
            is_passing_over: false,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
    }

    /// The next line, if it is there by now.
    pub(super) fn next(&mut self) -> Option<Line> {
        loop {
            let unseen = self.rest.get(self.seen..).unwrap_or_default();
            let Some(at) = unseen.iter().position(|byte| *byte == b'\n') else {
                return self.unended();
            };
            let mut line = self.rest.split_to(self.seen + at + 1);
            self.seen = 0;
            line.truncate(line.len() - 1);
            if !std::mem::take(&mut self.is_passing_over) {
                return Some(self.judge(line.freeze()));
            }
        }
    }

    /// The last line, which has no end.
    pub(super) fn last(mut self) -> Option<Line> {
        let rest = std::mem::take(&mut self.rest).freeze();
        let is_line = !rest.is_empty() && !self.is_passing_over;
        is_line.then(|| self.judge(rest))
    }

    fn judge(&self, line: Bytes) -> Line {
        if line.len() > self.bytes_max {
            Line::TooLong
        } else {
            Line::Whole(line)
        }
    }

    /// Keeps what may become a line, and no more than that.
    fn unended(&mut self) -> Option<Line> {
        let was_passing_over = self.is_passing_over;
        self.is_passing_over |= self.rest.len() > self.bytes_max;
        if self.is_passing_over {
            self.rest = BytesMut::new();
        }
        self.seen = self.rest.len();
        (self.is_passing_over && !was_passing_over).then_some(Line::TooLong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of some parts; too long ones as `!`.
    fn cut(bytes_max: usize, parts: &[&str]) -> Vec<String> {
        let shown = |line| match line {
            Line::Whole(line) => String::from_utf8(line.to_vec()).unwrap(),
            Line::TooLong => "!".to_owned(),
        };
        let mut lines = Lines::new(bytes_max);
        let mut cut = Vec::new();
        for part in parts {
            lines.push(part.as_bytes());
            while let Some(line) = lines.next() {
                cut.push(shown(line));
            }
            assert!(lines.rest.len() <= bytes_max, "too much is kept");
        }
        cut.extend(lines.last().map(shown));
        cut
    }

    #[test]
    fn lines_are_whole_wherever_the_parts_end() {
        let text = "one\n\nthree\nfour";
        for at in 0..=text.len() {
            let (first, second) = text.split_at(at);
            assert_eq!(cut(10, &[first, second]), ["one", "", "three", "four"]);
        }
        let bytes: Vec<String> = text.chars().map(String::from).collect();
        let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
        assert_eq!(cut(10, &bytes), ["one", "", "three", "four"]);
        assert_eq!(cut(10, &["one\n"]), ["one"]);
        assert_eq!(cut(10, &[]), [""; 0]);
    }

    #[test]
    fn a_line_too_long_is_told_once_and_passed_over() {
        assert_eq!(cut(3, &["abc\nd"]), ["abc", "d"]);
        assert_eq!(cut(3, &["abcd\ne"]), ["!", "e"]);
        assert_eq!(cut(3, &["ab", "cd", "efgh", "i\nj\n"]), ["!", "j"]);
        assert_eq!(cut(3, &["abcd", "\n", "\n"]), ["!", ""]);
        assert_eq!(cut(3, &["a\nbcdef"]), ["a", "!"]);
        assert_eq!(cut(3, &["bcdef", "gh"]), ["!"]);
    }
}
