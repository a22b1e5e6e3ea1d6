//! Files stay short. A longer one is listed in `xtask/budget.toml` with a reason and its exact
//! length, so that it can only shrink.

use serde::Deserialize;
use toml::Spanned;

use super::tree::{File, Tree};
use super::violation::Violation;

const BUDGET: &str = "xtask/budget.toml";

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    #[serde(default)]
    file: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: Spanned<String>,
    lines: usize,
    reason: String,
}

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let (budget_text, budget) = match tree.get(BUDGET) {
        None => (String::new(), Budget::default()),
        Some(file) => match toml::from_str(&file.text) {
            Ok(budget) => (file.text.clone(), budget),
            Err(error) => {
                return vec![Violation::new(
                    BUDGET,
                    1,
                    format!("could not parse the budget: {}", error.message()),
                    "write `[[file]]` entries with `path`, `lines` and `reason`",
                )];
            }
        },
    };
    let mut violations = Vec::new();
    for file in tree.files() {
        let listed = budget
            .file
            .iter()
            .any(|entry| *entry.path.get_ref() == file.path);
        if let (Some(limit), false) = (limit(file), listed) {
            violations.extend(too_long(file, limit));
        }
    }
    for entry in &budget.file {
        let line = budget_text[..entry.path.span().start]
            .lines()
            .count()
            .max(1);
        violations.extend(judge(tree, entry).map(|(what, fix)| {
            Violation::new(
                BUDGET,
                line,
                format!("{}: {what}", entry.path.get_ref()),
                fix,
            )
        }));
    }
    violations
}

fn too_long(file: &File, limit: usize) -> Option<Violation> {
    let lines = measure(file);
    (lines > limit).then(|| {
        Violation::new(
            &file.path,
            limit + 1,
            format!("{lines} lines, the limit is {limit}"),
            "split it by subject; if that would be worse, list it in xtask/budget.toml",
        )
    })
}

/// What is wrong with an entry, and how to fix it.
fn judge(tree: &Tree, entry: &Entry) -> Option<(String, String)> {
    let found = tree
        .get(entry.path.get_ref())
        .and_then(|file| Some((file, limit(file)?)));
    let Some((file, limit)) = found else {
        return Some((
            "no file with a limit has this path".into(),
            "remove the entry".into(),
        ));
    };
    let lines = measure(file);
    if lines <= limit {
        Some((
            format!("{lines} lines is within the limit"),
            "remove the entry".into(),
        ))
    } else if lines < entry.lines {
        Some((
            format!("it has shrunk to {lines} lines"),
            format!("write `lines = {lines}`"),
        ))
    } else if lines > entry.lines {
        Some((
            format!("it has grown from {} to {lines} lines", entry.lines),
            "move the new code to another file; the number may only decrease".into(),
        ))
    } else if entry.reason.trim().is_empty() {
        Some((
            "the entry has no reason".into(),
            "say why one file is better than two".into(),
        ))
    } else {
        None
    }
}

/// The maximum number of lines of a file, if limited.
fn limit(file: &File) -> Option<usize> {
    let path = &file.path;
    if file.is("lua") {
        return Some(if path.contains("/lib/") { 200 } else { 150 });
    }
    file.is("rs").then(|| if is_test(path) { 500 } else { 400 })
}

fn is_test(path: &str) -> bool {
    // The conformance suite is a library, but its files are tests.
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.contains("/conformance/")
}

/// Counts lines without the inline `mod tests`.
fn measure(file: &File) -> usize {
    let lines: Vec<&str> = file.text.lines().collect();
    let is_start = |at: usize| {
        lines[at] == "#[cfg(test)]"
            && lines
                .get(at + 1)
                .is_some_and(|next| next.starts_with("mod tests {"))
    };
    let Some(start) = (0..lines.len()).find(|at| is_start(*at)) else {
        return lines.len();
    };
    let inside = lines[start..].iter().position(|line| *line == "}");
    lines.len() - inside.map_or(lines.len() - start, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    fn long(lines: usize) -> String {
        "//! A file.\n".repeat(lines)
    }

    fn listed(lines: usize, reason: &str) -> String {
        format!("[[file]]\npath = \"a/src/one.rs\"\nlines = {lines}\nreason = \"{reason}\"\n")
    }

    fn checked(files: &[(&str, &str)]) -> Vec<String> {
        briefly(&check(&Tree::of(files)))
    }

    #[test]
    fn a_file_over_its_limit_is_caught() {
        assert_eq!(
            checked(&[("a/src/one.rs", &long(401)), ("a/src/two.rs", &long(400))]),
            ["a/src/one.rs:401: 401 lines, the limit is 400"]
        );
        assert_eq!(
            checked(&[
                ("a/tests/one.rs", &long(501)),
                ("a/src/b/tests.rs", &long(500))
            ]),
            ["a/tests/one.rs:501: 501 lines, the limit is 500"]
        );
        assert_eq!(
            checked(&[
                ("a/lua/one.lua", &long(150)),
                ("a/lua/lib/two.lua", &long(201))
            ]),
            ["a/lua/lib/two.lua:201: 201 lines, the limit is 200"]
        );
    }

    #[test]
    fn inline_tests_do_not_count() {
        let tests = format!(
            "#[cfg(test)]\nmod tests {{\n{}}}\n",
            "    // One.\n".repeat(99)
        );
        assert_eq!(checked(&[("a/src/one.rs", &(long(400) + &tests))]), [""; 0]);
        assert_eq!(
            checked(&[("a/src/one.rs", &(long(400) + &tests + "// After.\n"))]).len(),
            1
        );
    }

    #[test]
    fn a_listed_file_may_only_shrink_and_the_entry_follows() {
        let with = |lines, entry: &str| checked(&[("a/src/one.rs", &long(lines)), (BUDGET, entry)]);
        let one = |what: &str| vec![format!("{BUDGET}:2: a/src/one.rs: {what}")];

        assert_eq!(with(450, &listed(450, "one table")), [""; 0]);
        assert_eq!(
            with(451, &listed(450, "one table")),
            one("it has grown from 450 to 451 lines")
        );
        assert_eq!(
            with(449, &listed(450, "one table")),
            one("it has shrunk to 449 lines")
        );
        assert_eq!(
            with(400, &listed(450, "one table")),
            one("400 lines is within the limit")
        );
        assert_eq!(with(450, &listed(450, " ")), one("the entry has no reason"));
        assert_eq!(
            checked(&[(BUDGET, &listed(450, "one table"))]),
            one("no file with a limit has this path")
        );
    }
}
