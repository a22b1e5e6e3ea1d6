//! One violation of a rule, and how to fix it.

use std::fmt;

/// One violation. Sorts by file and line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Violation {
    path: String,
    line: usize,
    what: String,
    fix: String,
}

impl Violation {
    /// What is wrong in a line (1-based), and how to fix it.
    pub(super) fn new(
        path: &str,
        line: usize,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}\n    fix: {}",
            self.path, self.line, self.what, self.fix
        )
    }
}

/// Formats violations as `path:line: what`, for tests.
#[cfg(test)]
pub(super) fn briefly(violations: &[Violation]) -> Vec<String> {
    violations
        .iter()
        .map(|violation| format!("{}:{}: {}", violation.path, violation.line, violation.what))
        .collect()
}
