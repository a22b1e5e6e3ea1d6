//! Links between documents of this repository are valid.

use super::tree::Tree;
use super::violation::Violation;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files().iter().filter(|file| file.is("md")) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut is_code = false;
        for (number, line) in file.lines() {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            }
            if is_code {
                continue;
            }
            for target in targets(line)
                .into_iter()
                .filter(|target| is_relative(target))
            {
                let found = resolve(folder, target).is_some_and(|path| tree.has(&path));
                if !found {
                    violations.push(Violation::new(
                        &file.path,
                        number,
                        format!("broken link to `{target}`"),
                        "fix the path, relative to this document, or remove the link",
                    ));
                }
            }
        }
    }
    violations
}

/// The targets of the links in a line: `[text](target)` and `[name]: target`.
fn targets(line: &str) -> Vec<&str> {
    let mut found: Vec<_> = line
        .match_indices("](")
        // After an odd number of backticks it is code, not a link.
        .filter(|(at, _)| line[..*at].matches('`').count().is_multiple_of(2))
        .filter_map(|(at, _)| line[at + 2..].split_once(')'))
        .map(|(target, _)| target)
        .collect();
    if line.starts_with('[') {
        found.extend(line.split_once("]: ").map(|(_, target)| target));
    }
    found
        .into_iter()
        .filter_map(|target| target.split_whitespace().next())
        .collect()
}

fn is_relative(target: &str) -> bool {
    !target.starts_with('#') && !target.contains("://") && !target.starts_with("mailto:")
}

/// The path from the root, or `None` if the link leaves the repository.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let path = target.split_once('#').map_or(target, |(path, _)| path);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    #[test]
    fn a_link_that_leads_nowhere_is_caught() {
        let text = "[a](two.md#top) [b](../README.md) [c](three.md)\n[d]: ./four.md\n";
        let tree = Tree::of(&[
            ("docs/one.md", text),
            ("docs/two.md", ""),
            ("README.md", ""),
        ]);
        assert_eq!(
            briefly(&check(&tree)),
            [
                "docs/one.md:1: broken link to `three.md`",
                "docs/one.md:2: broken link to `./four.md`",
            ]
        );
    }

    #[test]
    fn links_outwards_and_links_in_code_are_left_alone() {
        let text = "[a](https://example.com/x) [b](#here) [c](docs) `[d](nowhere)`\n```\n[d](nowhere)\n```\n";
        let tree = Tree::of(&[("one.md", text), ("docs/two.md", "")]);
        assert_eq!(check(&tree), []);
        assert_eq!(
            check(&Tree::of(&[("one.md", "[a](../outside.md)\n")])).len(),
            1
        );
    }
}
