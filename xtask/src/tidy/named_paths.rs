//! Paths of this repository in backticks in a document exist.

use super::tree::{File, Tree};
use super::violation::Violation;

/// Text that starts with one of these is a path.
const ROOTS: [&str; 3] = ["crates/", "docs/", "xtask/"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let wrong = |line: &str| {
        let missing = paths(line).filter(|path| !tree.has(path));
        missing
            .map(|path| format!("`{path}` does not exist"))
            .collect()
    };
    let is_read = |file: &File| file.is("md") && !file.is_history();
    tree.check_lines(is_read, wrong, "use the current path")
}

/// Paths in backticks, except those with a placeholder (`crates/<name>`, `docs/*.md`).
fn paths(line: &str) -> impl Iterator<Item = &str> {
    line.split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| ROOTS.iter().any(|root| code.starts_with(root)))
        .filter(|code| !code.contains([' ', '<', '*', '{', '…']))
        .map(|path| path.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    #[test]
    fn a_path_that_is_not_there_is_caught() {
        let text = "From `crates/a/src/` to `crates/a/src/gone.rs` by `crates/<name>` and `a/b`.\n";
        let files = [
            ("ARCHITECTURE.md", text),
            ("CHANGELOG.md", text),
            ("crates/a/src/lib.rs", ""),
        ];
        assert_eq!(
            briefly(&check(&Tree::of(&files))),
            ["ARCHITECTURE.md:1: `crates/a/src/gone.rs` does not exist"]
        );
    }
}
