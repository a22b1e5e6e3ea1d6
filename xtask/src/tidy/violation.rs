//! One broken rule at one place, and how to mend it.

use std::fmt;

/// One broken rule. The order is that of the files, so that a person can work through the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Violation {
    path: String,
    line: usize,
    what: String,
    mend: String,
}

impl Violation {
    /// What is wrong in a line (counted from 1), and how to mend it.
    pub(super) fn new(
        path: &str,
        line: usize,
        what: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
            mend: mend.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}\n    mend: {}",
            self.path, self.line, self.what, self.mend
        )
    }
}

/// The violations as `path:line: what`, for tests.
#[cfg(test)]
pub(super) fn briefly(violations: &[Violation]) -> Vec<String> {
    violations
        .iter()
        .map(|violation| format!("{}:{}: {}", violation.path, violation.line, violation.what))
        .collect()
}
