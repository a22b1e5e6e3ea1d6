//! No two `pub` types of the workspace share a name: one name leads to one type.

use std::collections::BTreeMap;

use super::tree::{File, Tree};
use super::violation::Violation;

/// Names that mean the same in every crate.
const SHARED: [&str; 9] = [
    "Arguments",
    "Command",
    "Config",
    "Error",
    "Fixture",
    "Keys",
    "Options",
    "Reply",
    "Store",
];

/// Types of `core` whose JSON form in `api` has the same name.
const JSON_FORMS: [&str; 5] = ["Claim", "Heartbeat", "Progress", "Snooze", "Stats"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut types: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for file in tree.rust().filter(|file| is_production(file)) {
        for (number, name) in public_types(file) {
            let places = types.entry(name).or_default();
            // The same type for two platforms stands twice in one file.
            if places.iter().all(|(path, _)| *path != file.path) {
                places.push((&file.path, number));
            }
        }
    }
    let mut violations = Vec::new();
    for (name, places) in types.iter().filter(|(name, _)| !SHARED.contains(name)) {
        let is_json_form = JSON_FORMS.contains(name)
            && places.len() == 2
            && ["crates/api/", "crates/core/"]
                .iter()
                .zip(places)
                .all(|(folder, (path, _))| path.starts_with(folder));
        if is_json_form {
            continue;
        }
        for (path, number) in &places[1..] {
            violations.push(Violation::new(
                path,
                *number,
                format!("`{name}` is also a type of {}", places[0].0),
                "give it a more specific name, or make it `pub(crate)`",
            ));
        }
    }
    violations
}

fn is_production(file: &File) -> bool {
    let path = file.path.as_str();
    let is_source =
        path.starts_with("xtask/src/") || path.starts_with("crates/") && path.contains("/src/");
    is_source
        && !path.contains("/tests/")
        && !path.ends_with("/tests.rs")
        && !path.contains("/peers/")
}

/// The types a file declares as `pub`, with the numbers of their lines; none of its inline tests.
fn public_types(file: &File) -> impl Iterator<Item = (usize, &str)> {
    file.lines()
        .take_while(|(_, line)| *line != "mod tests {")
        .filter_map(|(number, line)| {
            let rest = line.trim_start().strip_prefix("pub ")?;
            let mut words = rest.split([' ', '<', '(', ';', '{', ':', '=']);
            let keyword = words.next()?;
            let name = words.next()?;
            ["struct", "enum", "trait", "type", "union"]
                .contains(&keyword)
                .then_some((number, name))
                // A macro's `$name` is no name yet.
                .filter(|(_, name)| name.starts_with(char::is_uppercase))
        })
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    #[test]
    fn a_second_public_type_of_a_name_is_caught() {
        let tree = Tree::of(&[
            (
                "crates/a/src/lib.rs",
                "//! A.\npub struct Place(u8);\npub enum Error {}\n",
            ),
            (
                "crates/b/src/x.rs",
                "//! B.\n\n    pub enum Place<T> {\npub struct Error;\n",
            ),
            (
                "crates/b/src/y.rs",
                "pub(crate) struct Place;\nstruct Place;\n",
            ),
            ("crates/b/src/z.rs", "mod tests {\n    pub struct Place;\n"),
            ("crates/b/tests/z.rs", "pub struct Place;\n"),
        ]);
        assert_eq!(
            briefly(&check(&tree)),
            ["crates/b/src/x.rs:3: `Place` is also a type of crates/a/src/lib.rs"]
        );
    }

    #[test]
    fn a_json_form_may_have_the_name_of_its_core_type_and_of_no_other() {
        let of = |second: &str| {
            let tree = Tree::of(&[
                ("crates/api/src/claim.rs", "pub struct Claim {\n"),
                (second, "pub struct Claim {\n"),
            ]);
            briefly(&check(&tree))
        };
        assert_eq!(of("crates/core/src/claim.rs"), [""; 0]);
        assert_eq!(of("crates/server/src/claim.rs").len(), 1);
    }
}
