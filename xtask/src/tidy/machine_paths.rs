//! No path that exists on one machine alone.

use super::tree::Tree;
use super::violation::Violation;

const PLACES: [&str; 3] = ["/root/", "/home/", "/work/"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    // This file alone may spell them out.
    for file in tree.files().iter().filter(|file| file.path != file!()) {
        for (number, line) in file.lines() {
            for place in PLACES.iter().filter(|place| starts_a_path(line, place)) {
                violations.push(Violation::new(
                    &file.path,
                    number,
                    format!("`{place}` is a path of one machine"),
                    "use a path from the root of the repository, or a temporary folder",
                ));
            }
        }
    }
    violations
}

/// Whether the place stands at the start of a path, not inside of one (`crates/work/src`).
fn starts_a_path(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "_-.}".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_caught() {
        let tree = Tree::of(&[
            (
                "a.md",
                "See [it](crates/work/one.md).\nRun `/home/ann/bin/x`.\n",
            ),
            ("b.sh", "cd /work/main\n"),
        ]);
        assert_eq!(
            briefly(&check(&tree)),
            [
                "a.md:2: `/home/` is a path of one machine",
                "b.sh:1: `/work/` is a path of one machine"
            ]
        );
    }
}
