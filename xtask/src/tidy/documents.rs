//! Documents stay short.

use super::tree::Tree;
use super::violation::Violation;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files() {
        let lines = file.text.lines().count();
        if let Some(bound) = bound(&file.path)
            && lines >= bound
        {
            violations.push(Violation::new(
                &file.path,
                bound,
                format!("{lines} lines, the limit is {bound}"),
                "shorten it, or move a part to a page under docs/",
            ));
        }
    }
    violations
}

fn bound(path: &str) -> Option<usize> {
    match path {
        "README.md" => Some(150),
        "ARCHITECTURE.md" => Some(200),
        _ => path.starts_with("docs/decisions/").then_some(40),
    }
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

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
                "README.md:150: 150 lines, the limit is 150",
                "docs/decisions/0001-a.md:40: 40 lines, the limit is 40",
            ]
        );
    }
}
