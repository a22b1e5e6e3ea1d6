//! The name and dependencies of each crate's `Cargo.toml`, with line numbers.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::tree::{File, Tree};
use super::violation::Violation;

type Table = BTreeMap<Spanned<String>, Value>;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Written {
    package: Option<Package>,
    /// A crate with a separate workspace is not checked: clients of older systems for tests.
    workspace: Option<Value>,
    // Not flattened into `Tables`, which would lose the spans.
    #[serde(default)]
    dependencies: Table,
    #[serde(default)]
    dev_dependencies: Table,
    #[serde(default)]
    build_dependencies: Table,
    #[serde(default)]
    target: BTreeMap<String, Tables>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Tables {
    #[serde(default)]
    dependencies: Table,
    #[serde(default)]
    dev_dependencies: Table,
    #[serde(default)]
    build_dependencies: Table,
}

/// One dependency of a crate.
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) line: usize,
    /// Used only by tests, examples and benchmarks.
    pub(super) is_dev: bool,
    /// The version comes from the workspace table.
    pub(super) is_workspace: bool,
}

/// One crate of the workspace.
pub(super) struct Manifest<'a> {
    pub(super) path: &'a str,
    pub(super) name: String,
    pub(super) dependencies: Vec<Dependency>,
}

impl Manifest<'_> {
    /// The folder of the crate.
    pub(super) fn folder(&self) -> &str {
        self.path.strip_suffix("/Cargo.toml").unwrap_or(self.path)
    }
}

/// The crates of the workspace, and violations for invalid manifests.
pub(super) fn read(tree: &Tree) -> (Vec<Manifest<'_>>, Vec<Violation>) {
    let mut manifests = Vec::new();
    let mut violations = Vec::new();
    for file in tree.files() {
        if !file.path.ends_with("/Cargo.toml") {
            continue;
        }
        match toml::from_str::<Written>(&file.text) {
            Ok(written) => manifests.extend(manifest(file, written)),
            Err(error) => violations.push(Violation::new(
                &file.path,
                error.span().map_or(1, |span| line_of(file, span.start)),
                format!("could not parse the manifest: {}", error.message()),
                "correct it; `cargo metadata` shows the same error",
            )),
        }
    }
    (manifests, violations)
}

fn manifest(file: &File, written: Written) -> Option<Manifest<'_>> {
    if written.workspace.is_some() {
        return None;
    }
    let name = written.package?.name;
    let tables = Tables {
        dependencies: written.dependencies,
        dev_dependencies: written.dev_dependencies,
        build_dependencies: written.build_dependencies,
    };
    let mut dependencies = Vec::new();
    for tables in std::iter::once(tables).chain(written.target.into_values()) {
        let normal = tables
            .dependencies
            .into_iter()
            .chain(tables.build_dependencies);
        let all = normal.map(|found| (found, false)).chain(
            tables
                .dev_dependencies
                .into_iter()
                .map(|found| (found, true)),
        );
        for ((name, value), is_dev) in all {
            dependencies.push(Dependency {
                line: line_of(file, name.span().start),
                is_workspace: value.get("workspace").and_then(Value::as_bool) == Some(true),
                name: name.into_inner(),
                is_dev,
            });
        }
    }
    Some(Manifest {
        path: &file.path,
        name,
        dependencies,
    })
}

fn line_of(file: &File, offset: usize) -> usize {
    file.text
        .bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
        + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_found_in_every_table_with_their_lines() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\n\
            [target.'cfg(unix)'.dependencies]\nc = \"1\"\n[dev-dependencies]\nd = { path = \".\" }\n";
        let tree = Tree::of(&[("crates/a/Cargo.toml", text)]);

        let (manifests, violations) = read(&tree);

        let found: Vec<_> = manifests[0]
            .dependencies
            .iter()
            .map(|one| (one.name.as_str(), one.line, one.is_dev, one.is_workspace))
            .collect();
        assert_eq!(
            found,
            [
                ("b", 4, false, true),
                ("d", 8, true, false),
                ("c", 6, false, false)
            ]
        );
        assert!(violations.is_empty());
    }

    #[test]
    fn a_crate_with_a_workspace_of_its_own_is_none_of_ours() {
        let text = "[package]\nname = \"a\"\n[workspace]\n[dependencies]\nb = \"1\"\n";
        assert!(
            read(&Tree::of(&[("crates/a/peer/Cargo.toml", text)]))
                .0
                .is_empty()
        );
    }

    #[test]
    fn a_manifest_that_cannot_be_read_is_a_violation() {
        let tree = Tree::of(&[("crates/a/Cargo.toml", "[package]\nname = \n")]);
        assert_eq!(read(&tree).1.len(), 1);
    }
}
