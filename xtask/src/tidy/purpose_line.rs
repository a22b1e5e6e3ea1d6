//! Every source file starts with its purpose.

use super::tree::Tree;
use super::violation::Violation;

/// How a file starts, by its extension.
const OPENINGS: [(&str, &str); 2] = [("rs", "//! "), ("lua", "-- ")];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files() {
        for (extension, opening) in OPENINGS {
            if file.is(extension) && !file.text.starts_with(opening) {
                let opening = opening.trim_end();
                violations.push(Violation::new(
                    &file.path,
                    1,
                    format!("the file does not start with `{opening}`"),
                    "add one to four lines that say what it is for",
                ));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    #[test]
    fn a_file_that_does_not_say_what_it_is_for_is_caught() {
        let tree = Tree::of(&[
            ("a.rs", "use std::io;\n"),
            ("b.rs", "//! Reads jobs.\n"),
            ("c.lua", "return 1\n"),
            ("d.lua", "-- Claims jobs.\n"),
        ]);
        assert_eq!(
            briefly(&check(&tree)),
            [
                "a.rs:1: the file does not start with `//!`",
                "c.lua:1: the file does not start with `--`"
            ]
        );
    }
}
