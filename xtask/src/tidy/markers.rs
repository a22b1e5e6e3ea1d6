//! No marks of unfinished work: it is done in this change, or it is an issue, not a comment.

use super::tree::Tree;
use super::violation::Violation;

/// Marks as whole words, and macros that stay behind by mistake.
const MARKERS: [&str; 5] = ["TODO", "FIXME", "XXX", "todo!", "dbg!"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    // This file alone may spell them out.
    for file in tree.files().iter().filter(|file| file.path != file!()) {
        for (number, line) in file.lines() {
            for marker in MARKERS.iter().filter(|marker| has_word(line, marker)) {
                violations.push(Violation::new(
                    &file.path,
                    number,
                    format!("`{marker}` marks unfinished work"),
                    "finish it here, or open an issue and remove the mark",
                ));
            }
        }
    }
    violations
}

/// Whether a line has this word, not as a part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |neighbour: Option<char>| {
        neighbour.is_some_and(|neighbour| neighbour.is_alphanumeric() || neighbour == '_')
    };
    line.match_indices(word).any(|(at, _)| {
        let after = line[at + word.len()..].chars().next();
        !is_part(line[..at].chars().next_back()) && (word.ends_with('!') || !is_part(after))
    })
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    #[test]
    fn marks_are_caught_and_words_that_contain_them_are_not() {
        let tree = Tree::of(&[
            ("a.rs", "//! A.\n// TODO: more\nlet x = dbg!(1);\n"),
            ("b.md", "mktemp XXXXXX, TODOS, a todo list\n"),
            ("c.toml", "# XXX\n"),
        ]);
        assert_eq!(
            briefly(&check(&tree)),
            [
                "a.rs:2: `TODO` marks unfinished work",
                "a.rs:3: `dbg!` marks unfinished work",
                "c.toml:1: `XXX` marks unfinished work",
            ]
        );
    }
}
