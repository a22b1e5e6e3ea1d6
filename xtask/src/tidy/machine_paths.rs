//! No paths that exist only on one machine.

use super::tree::Tree;
use super::violation::Violation;

const PREFIXES: [&str; 3] = ["/root/", "/home/", "/work/"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let wrong = |line: &str| {
        let found = PREFIXES.iter().filter(|prefix| starts_a_path(line, prefix));
        found
            .map(|prefix| format!("`{prefix}` is a path of one machine"))
            .collect()
    };
    let fix = "use a path from the root of the repository, or a temporary folder";
    // This file defines them.
    tree.check_lines(|file| file.path != file!(), wrong, fix)
}

/// Returns whether the prefix starts a path, rather than being inside one (`crates/work/src`).
fn starts_a_path(line: &str, prefix: &str) -> bool {
    line.match_indices(prefix).any(|(at, _)| {
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
