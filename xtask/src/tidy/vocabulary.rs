//! Plain English: no word or phrase of the private dialect that Windlass once had.
//!
//! The list holds what is never right. CONTRIBUTING.md has the glossary and the words to avoid by
//! reading. `_` separates words, so names in code are checked as well.

use super::tree::{File, Tree};
use super::violation::Violation;

/// What to refuse, and what to write instead.
const REFUSED: [(&str, &str); 18] = [
    (
        "told",
        "name the actor: \"returns\", \"reports\", \"replies\"",
    ),
    ("unheard", "\"undelivered\" or \"unanswered\""),
    ("unless said", "\"(default: …)\" or \"unless set\""),
    ("anew", "\"again\""),
    ("whoever", "a noun: \"clients that connect…\""),
    ("come about", "\"happen\" or \"is established\""),
    ("comes about", "\"happens\" or \"is established\""),
    ("came about", "\"happened\" or \"was established\""),
    ("lie down", "\"block\" or \"wait\""),
    ("lies down", "\"blocks\" or \"waits\""),
    ("knock", "\"wake-up\" or \"notify\""),
    ("knocks", "\"wakes\" or \"notifies\""),
    ("knocked", "\"woke\" or \"notified\""),
    ("knocking", "\"waking\" or \"notifying\""),
    ("is none", "say what is missing or invalid"),
    ("are none", "say what is missing or invalid"),
    ("was none", "say what was missing or invalid"),
    ("upkeep", "\"maintenance\""),
];

/// Lines that may use one: the path, and a part of the line.
const ALLOWED: [(&str, &str); 3] = [
    ("CONTRIBUTING.md", "> told, unheard,"),
    ("CHANGELOG.md", "field `told` in heartbeat replies"),
    ("CHANGELOG.md", "`Told`, `Held`, `Settled`"),
];

/// Kinds of files that people read.
const READ: [&str; 11] = [
    "rs", "lua", "sql", "md", "toml", "txt", "stderr", "py", "js", "ts", "sh",
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    check_with(tree, &ALLOWED)
}

fn check_with(tree: &Tree, allowed: &[(&str, &str)]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut used = vec![false; allowed.len()];
    for file in tree.files().iter().filter(|file| is_read(file)) {
        for (number, line) in file.lines() {
            for (refused, instead) in REFUSED.iter().filter(|(phrase, _)| has(line, phrase)) {
                let is_allowed =
                    |(path, part): &(&str, &str)| file.path == *path && line.contains(part);
                if let Some(at) = allowed.iter().position(is_allowed) {
                    used[at] = true;
                    continue;
                }
                violations.push(Violation::new(
                    &file.path,
                    number,
                    format!("\"{refused}\" is not plain English here"),
                    format!("instead: {instead}; the glossary is in CONTRIBUTING.md"),
                ));
            }
        }
    }
    for ((path, part), _) in allowed.iter().zip(used).filter(|(_, used)| !used) {
        violations.push(Violation::new(
            file!(),
            1,
            format!("no refused word is left in {path} in a line with \"{part}\""),
            "remove the entry from the allow list",
        ));
    }
    violations
}

/// This file spells the words out.
fn is_read(file: &File) -> bool {
    file.path != file!() && READ.iter().any(|extension| file.is(extension))
}

/// Returns whether a line has a phrase as whole words, also at the start of a sentence. Python's
/// `is None` is something else.
fn has(line: &str, phrase: &str) -> bool {
    let is_letter = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphabetic);
    let (first, rest) = phrase.split_at(1);
    [phrase.to_owned(), first.to_uppercase() + rest]
        .iter()
        .flat_map(|phrase| line.match_indices(phrase.as_str()))
        .any(|(at, found)| {
            !is_letter(line[..at].chars().next_back())
                && !is_letter(line[at + found.len()..].chars().next())
        })
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    #[test]
    fn refused_words_are_caught_in_comments_messages_names_and_documents() {
        let tree = Tree::of(&[
            (
                "a.rs",
                "// The caller is told.\nfn a_is_told_b() {}\nlet s = \"It is none\";\n",
            ),
            ("b.md", "Whoever reads, 5 unless said.\n"),
            ("c.lua", "-- made anew\n"),
            ("d.png", "told\n"),
            (
                "e.rs",
                "let untold = \"goldtolder, renewed, nobody knocks_\";\n",
            ),
        ]);
        assert_eq!(
            briefly(&check_with(&tree, &[])),
            [
                "a.rs:1: \"told\" is not plain English here",
                "a.rs:2: \"told\" is not plain English here",
                "a.rs:3: \"is none\" is not plain English here",
                "b.md:1: \"unless said\" is not plain English here",
                "b.md:1: \"whoever\" is not plain English here",
                "c.lua:1: \"anew\" is not plain English here",
                "e.rs:1: \"knocks\" is not plain English here",
            ]
        );
    }

    #[test]
    fn an_allowed_line_passes_and_an_entry_without_one_is_caught() {
        let tree = Tree::of(&[("a.md", "Do not write \"told\".\n")]);
        assert_eq!(check_with(&tree, &[("a.md", "Do not write")]), []);
        assert_eq!(
            briefly(&check_with(
                &tree,
                &[("a.md", "Do not write"), ("b.md", "gone")]
            )),
            [format!(
                "{}:1: no refused word is left in b.md in a line with \"gone\"",
                file!()
            )]
        );
    }
}
