//! Files and documents stay short.

use super::tree::{File, Tree};
use super::violation::Violation;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files() {
        let (lines, limit) = (measure(file), limit(file).unwrap_or(usize::MAX));
        if lines > limit {
            let what = format!("{lines} lines, the limit is {limit}");
            let fix = if file.is("md") {
                "shorten it, or move a part to a page under docs/"
            } else {
                "split it by subject"
            };
            violations.push(Violation::new(&file.path, limit + 1, what, fix));
        }
    }
    violations
}

/// The maximum number of lines of a file, if limited.
fn limit(file: &File) -> Option<usize> {
    let path = file.path.as_str();
    match path {
        "README.md" => Some(149),
        "ARCHITECTURE.md" => Some(199),
        _ if path.starts_with("docs/decisions/") => Some(39),
        // Whole programs: a call in them costs more than a line.
        _ if file.is("lua") && path.contains("/fast/") => Some(225),
        _ if file.is("lua") => Some(if path.contains("/lib/") { 200 } else { 150 }),
        _ if file.is("rs") => Some(if is_test(path) { 500 } else { 400 }),
        _ => None,
    }
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
    fn a_document_that_grew_too_long_is_caught() {
        let tree = Tree::of(&[
            ("README.md", &"Line.\n".repeat(150)),
            ("ARCHITECTURE.md", &"Line.\n".repeat(199)),
            ("docs/decisions/0001-a.md", &"Line.\n".repeat(40)),
        ]);
        assert_eq!(
            briefly(&check(&tree)),
            [
                "README.md:150: 150 lines, the limit is 149",
                "docs/decisions/0001-a.md:40: 40 lines, the limit is 39",
            ]
        );
    }
}
