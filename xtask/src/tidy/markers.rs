//! No markers of unfinished work: finish it in this change, or open an issue.

use super::tree::Tree;
use super::violation::Violation;

/// Markers as whole words, and macros that are left behind by mistake.
const MARKERS: [&str; 5] = ["TODO", "FIXME", "XXX", "todo!", "dbg!"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let wrong = |line: &str| {
        let found = MARKERS.iter().filter(|marker| has_word(line, marker));
        found
            .map(|marker| format!("`{marker}` marks unfinished work"))
            .collect()
    };
    let fix = "finish it here, or open an issue and remove the marker";
    // This file defines them.
    tree.check_lines(|file| file.path != file!(), wrong, fix)
}

/// Returns whether a line contains this whole word.
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
    fn markers_are_caught_and_words_that_contain_them_are_not() {
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
