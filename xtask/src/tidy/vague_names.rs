//! Files, folders and modules are named after their content, not `utils`, `common` or the like.

use super::tree::{File, Tree};
use super::violation::Violation;

const DRAWERS: [&str; 7] = [
    "util", "utils", "common", "helpers", "misc", "types", "manager",
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.files()
        .iter()
        .flat_map(|file| in_path(file).into_iter().chain(in_text(file)))
        .collect()
}

fn in_path(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    for part in file.path.split('/') {
        let stem = part.split_once('.').map_or(part, |(stem, _)| stem);
        if DRAWERS.contains(&stem) {
            violations.push(drawer(&file.path, 1, stem));
        }
    }
    if file.path == "mod.rs" || file.path.ends_with("/mod.rs") {
        violations.push(Violation::new(
            &file.path,
            1,
            "a module lives in a `mod.rs`",
            "move it to `name.rs` next to the folder `name/`",
        ));
    }
    violations
}

fn in_text(file: &File) -> Vec<Violation> {
    if !file.is("rs") {
        return Vec::new();
    }
    file.lines()
        .filter_map(|(number, line)| {
            let name = module(line)?;
            DRAWERS
                .contains(&name)
                .then(|| drawer(&file.path, number, name))
        })
        .collect()
}

/// The name of the module that a line declares.
fn module(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.split_once("mod ").map(|(_, name)| name)?,
        None => line.strip_prefix("mod ")?,
    };
    line.split([';', ' ', '{']).next()
}

fn drawer(path: &str, line: usize, name: &str) -> Violation {
    Violation::new(
        path,
        line,
        format!("`{name}` does not say what it contains"),
        "name it after its subject, and move what does not belong to it",
    )
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    #[test]
    fn vague_names_are_caught_in_paths_and_in_declarations() {
        let tree = Tree::of(&[
            ("a/src/utils.rs", "//! Odds and ends.\n"),
            (
                "a/src/common/job.rs",
                "//! A job.\npub(crate) mod helpers {\n    mod name;\n}\n",
            ),
        ]);
        assert_eq!(
            briefly(&check(&tree)),
            [
                "a/src/utils.rs:1: `utils` does not say what it contains",
                "a/src/common/job.rs:1: `common` does not say what it contains",
                "a/src/common/job.rs:2: `helpers` does not say what it contains",
            ]
        );
    }

    #[test]
    fn a_mod_rs_is_caught() {
        let tree = Tree::of(&[
            ("a/src/job/mod.rs", "//! A job.\n"),
            ("a/src/commons.rs", ""),
        ]);
        assert_eq!(
            briefly(&check(&tree)),
            ["a/src/job/mod.rs:1: a module lives in a `mod.rs`"]
        );
    }
}
