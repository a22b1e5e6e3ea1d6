//! The last lines of whoever may say any number of them.

use std::collections::VecDeque;
use std::fmt;

/// How many lines are kept.
pub(crate) const LINES_MAX: usize = 20;

/// The last lines; shown, each begins with a line end.
#[derive(Debug, Default)]
pub(crate) struct Tail(VecDeque<String>);

impl Tail {
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

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().try_for_each(|line| write!(f, "\n{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept() {
        let mut tail = Tail::default();
        for number in 0..=LINES_MAX {
            tail.push(&number.to_string());
        }
        assert_eq!(tail.lines().len(), LINES_MAX);
        assert!(tail.to_string().starts_with("\n1\n2\n"), "{tail}");
    }
}
