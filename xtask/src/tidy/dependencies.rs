//! Every dependency comes from the workspace table: one version, declared once.

use super::manifest;
use super::tree::Tree;
use super::violation::Violation;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let (manifests, _) = manifest::read(tree);
    let mut violations = Vec::new();
    for manifest in &manifests {
        for dependency in manifest
            .dependencies
            .iter()
            .filter(|found| !found.is_workspace)
        {
            violations.push(Violation::new(
                manifest.path,
                dependency.line,
                format!(
                    "`{}` does not come from the workspace table",
                    dependency.name
                ),
                format!(
                    "add it to the root Cargo.toml and write `{}.workspace = true` here",
                    dependency.name
                ),
            ));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    #[test]
    fn a_version_of_its_own_is_caught() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nserde = \"1\"\n\
            toml = { workspace = true, features = [\"parse\"] }\nbytes.workspace = true\n";
        let tree = Tree::of(&[("crates/a/Cargo.toml", text)]);
        assert_eq!(
            briefly(&check(&tree)),
            ["crates/a/Cargo.toml:4: `serde` does not come from the workspace table"]
        );
    }
}
