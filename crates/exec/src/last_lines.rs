//! Keeps the last lines of a stream.

use std::collections::VecDeque;
use std::fmt;

/// How many lines are kept.
pub(crate) const LINES_MAX: usize = 20;

/// The last lines; when displayed, each starts with a newline.
#[derive(Debug, Default)]
pub(crate) struct LastLines(VecDeque<String>);

impl LastLines {
    pub(crate) fn push(&mut self, line: &str) {
        if self.0.len() == LINES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(line.to_owned());
    }

    pub(crate) fn lines(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for LastLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().try_for_each(|line| write!(f, "\n{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept() {
        let mut last_lines = LastLines::default();
        for number in 0..=LINES_MAX {
            last_lines.push(&number.to_string());
        }
        assert_eq!(last_lines.lines().len(), LINES_MAX);
        assert!(
            last_lines.to_string().starts_with("\n1\n2\n"),
            "{last_lines}"
        );
    }
}
