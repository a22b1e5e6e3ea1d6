//! Every promise in docs/guarantees.md names tests that verify it, and these tests exist.

use super::tree::{File, Tree};
use super::violation::Violation;

const PAGE: &str = "docs/guarantees.md";
const SUITE: &str = "crates/testkit/src/conformance";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(page) = tree.get(PAGE) else {
        return Vec::new();
    };
    let mut violations = unheld(page);
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

/// Promises (`## P1 …`) and rules (`**Leases.** …`) without a test.
fn unheld(page: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    for (number, line) in page.lines().chain([(0, "## ")]) {
        let title = line.strip_prefix("## ");
        let rule = line
            .strip_prefix("**")
            .and_then(|rest| rest.split_once("**"))
            .map(|(rule, _)| rule);
        if title.or(rule).is_some() {
            violations.extend(open.take().map(|(start, promise)| {
                Violation::new(
                    PAGE,
                    start,
                    format!("no test is named for `{promise}`"),
                    "name the test that verifies it as `topic::name`, in backticks",
                )
            }));
            let promise = title.filter(|title| is_promise(title));
            open = promise.or(rule).map(|promise| (number, promise));
        }
        if !tests_named(line).is_empty() {
            open = None;
        }
    }
    violations
}

fn is_promise(title: &str) -> bool {
    title
        .strip_prefix('P')
        .is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()))
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
        let page = "## P1 Accepted\nYes.\n## P2 Once\n`claim::a_job_is_handed_out_once`\n## More\n";
        assert_eq!(
            checked(page),
            ["docs/guarantees.md:1: no test is named for `P1 Accepted`"]
        );
    }

    #[test]
    fn a_rule_without_a_test_is_caught() {
        let page =
            "## Rules\n**Claims.** `claim::a_job_is_handed_out_once`\n\n**Leases.** They end.\n";
        assert_eq!(
            checked(page),
            ["docs/guarantees.md:4: no test is named for `Leases.`"]
        );
    }
}
