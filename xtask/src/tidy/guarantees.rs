//! Every promise in docs/guarantees.md names tests that verify it, and these tests exist.

use super::tree::{File, Tree};
use super::violation::Violation;

const PAGE: &str = "docs/guarantees.md";
const SUITE: &str = "crates/testkit/src/conformance";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(page) = tree.get(PAGE) else {
        return Vec::new();
    };
    let mut violations = unverified(page);
    for (number, line) in page.lines() {
        for (topic, name) in tests_named(line) {
            if !exists(tree, topic, name) {
                violations.push(Violation::new(
                    PAGE,
                    number,
                    format!("there is no test `{topic}::{name}`"),
                    format!("name a test of `{SUITE}/{topic}.rs`"),
                ));
            }
        }
    }
    violations
}

/// Promises and rules (`### P1 …`) without a row in the table of tests (`| **P1 …** | tests |`).
fn unverified(page: &File) -> Vec<Violation> {
    let has_row = |title: &str| {
        let row = format!("| **{title}** |");
        page.lines()
            .any(|(_, line)| line.starts_with(&row) && !tests_named(line).is_empty())
    };
    let titles = page
        .lines()
        .filter_map(|(number, line)| Some((number, line.strip_prefix("### ")?)));
    titles
        .filter(|(_, title)| !has_row(title))
        .map(|(number, title)| {
            Violation::new(
                PAGE,
                number,
                format!("no test is named for `{title}`"),
                "add a row with its tests to the table at the end: | **TITLE** | `topic::name` |",
            )
        })
        .collect()
}

/// The `topic::name` pairs between backticks.
fn tests_named(line: &str) -> Vec<(&str, &str)> {
    line.split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|code| code.split_once("::"))
        .filter(|(topic, name)| is_snake(topic) && is_snake(name))
        .collect()
}

fn is_snake(word: &str) -> bool {
    let is_allowed =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    !word.is_empty() && word.chars().all(is_allowed)
}

fn exists(tree: &Tree, topic: &str, name: &str) -> bool {
    let (file, folder) = (format!("{SUITE}/{topic}.rs"), format!("{SUITE}/{topic}/"));
    let declared = format!("pub async fn {name}(");
    let generic = format!("pub async fn {name}<");
    tree.rust()
        .filter(|found| found.path == file || found.path.starts_with(&folder))
        .any(|found| found.text.contains(&declared) || found.text.contains(&generic))
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    fn checked(page: &str) -> Vec<String> {
        let suite = "//! Claims.\npub async fn a_job_is_handed_out_once(store: &dyn Store) {}\n";
        briefly(&check(&Tree::of(&[
            (PAGE, page),
            (&format!("{SUITE}/claim.rs"), suite),
        ])))
    }

    #[test]
    fn a_test_that_does_not_exist_is_caught() {
        assert_eq!(
            checked(
                "Held by `claim::a_job_is_handed_out_once` and `claim::a_job`, `Store::get`.\n"
            ),
            ["docs/guarantees.md:1: there is no test `claim::a_job`"]
        );
    }

    #[test]
    fn a_promise_without_a_test_is_caught() {
        let page = "### P1 Accepted\n### P2 Once\n### Leases\n\
            | **P1 Accepted** | none |\n| **P2 Once** | `claim::a_job_is_handed_out_once` |\n";
        assert_eq!(
            checked(page),
            [
                "docs/guarantees.md:1: no test is named for `P1 Accepted`",
                "docs/guarantees.md:3: no test is named for `Leases`",
            ]
        );
    }
}
