//! No trailing whitespace, no tabs in Rust, a newline at the end of each file.

use super::tree::Tree;
use super::violation::Violation;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files() {
        let mut found = |line, what: &str, fix: &str| {
            violations.push(Violation::new(&file.path, line, what, fix));
        };
        for (number, line) in file.text.split('\n').enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                found(number + 1, "the line has trailing whitespace", "remove it");
            }
            if file.is("rs") && line.contains('\t') {
                found(
                    number + 1,
                    "the line has a tab",
                    "use spaces, and `\\t` inside a string",
                );
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            let last = file.text.lines().count();
            found(last, "the file does not end with a newline", "add one");
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    #[test]
    fn unclean_ends_are_caught() {
        let tree = Tree::of(&[
            ("a.md", "one \ntwo\r\n\tthree\n"),
            ("b.rs", "//! B.\n\tlet x = 1;"),
            ("empty", ""),
        ]);
        assert_eq!(
            briefly(&check(&tree)),
            [
                "a.md:1: the line has trailing whitespace",
                "a.md:2: the line has trailing whitespace",
                "b.rs:2: the line has a tab",
                "b.rs:2: the file does not end with a newline",
            ]
        );
    }
}
