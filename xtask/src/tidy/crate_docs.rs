//! Every crate has a description, and a large library has a map of its modules.

use super::manifest::{self, Manifest};
use super::tree::{File, Tree};
use super::violation::Violation;

/// Libraries with more modules need a reading order.
const MODULES_MAX: usize = 5;

/// Minimum number of words in the description of a crate.
const WORDS_MIN: usize = 5;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let (manifests, _) = manifest::read(tree);
    manifests
        .iter()
        .flat_map(|manifest| check_crate(tree, manifest))
        .collect()
}

fn check_crate(tree: &Tree, manifest: &Manifest) -> Vec<Violation> {
    let root = |name| tree.get(&format!("{}/src/{name}", manifest.folder()));
    let (library, program) = (root("lib.rs"), root("main.rs"));
    let mut violations = Vec::new();
    if library.is_none() && program.is_none() {
        violations.push(Violation::new(
            manifest.path,
            1,
            "the crate has neither `src/lib.rs` nor `src/main.rs`",
            "add one that starts with a description of the crate",
        ));
    }
    for file in library.into_iter().chain(program) {
        if words_of_first_sentence(file) < WORDS_MIN {
            violations.push(Violation::new(
                &file.path,
                1,
                "the crate has no description",
                format!("start it with a `//!` sentence of at least {WORDS_MIN} words"),
            ));
        }
    }
    let missing = library.filter(|file| modules(file) > MODULES_MAX && !has_map(file));
    violations.extend(missing.map(|file| {
        Violation::new(
            &file.path,
            1,
            format!("a library of {} modules has no map", modules(file)),
            "add a `//! # Map` that names its modules in reading order",
        )
    }));
    violations
}

fn docs(file: &File) -> impl Iterator<Item = &str> {
    file.text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
}

fn words_of_first_sentence(file: &File) -> usize {
    let paragraph = docs(file).take_while(|line| !line.is_empty());
    paragraph
        .flat_map(str::split_whitespace)
        .filter(|word| word.contains(char::is_alphabetic))
        .count()
}

fn has_map(file: &File) -> bool {
    docs(file).any(|line| line == "# Map")
}

/// Counts modules in separate files, declared in the root.
fn modules(file: &File) -> usize {
    let declares = |line: &str| {
        line.ends_with(';')
            && ["mod ", "pub mod ", "pub(crate) mod "]
                .iter()
                .any(|start| line.starts_with(start))
    };
    file.text.lines().filter(|line| declares(line)).count()
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n");

    fn checked(library: &str) -> Vec<String> {
        briefly(&check(&Tree::of(&[
            MANIFEST,
            ("crates/a/src/lib.rs", library),
        ])))
    }

    #[test]
    fn a_crate_without_a_root_is_caught() {
        assert_eq!(check(&Tree::of(&[MANIFEST])).len(), 1);
    }

    #[test]
    fn a_crate_that_does_not_say_what_it_is_is_caught() {
        assert_eq!(checked("//! Keeps jobs in one file.\n"), [""; 0]);
        assert_eq!(
            checked("//! Under construction.\n//!\n//! More words that do not count here.\n"),
            ["crates/a/src/lib.rs:1: the crate has no description"]
        );
    }

    #[test]
    fn a_large_library_without_a_map_is_caught() {
        let modules = "mod a;\npub mod b;\npub(crate) mod c;\nmod d;\nmod e;\nmod f;\n";
        let opening = "//! Keeps jobs in one file.\n";
        assert_eq!(
            checked(&format!("{opening}{modules}")),
            ["crates/a/src/lib.rs:1: a library of 6 modules has no map"]
        );
        assert_eq!(
            checked(&format!("{opening}//!\n//! # Map\n{modules}")),
            [""; 0]
        );
        assert_eq!(
            checked(&format!("{opening}{}", modules.replace("mod f;", ""))),
            [""; 0]
        );
    }
}
