//! Crates depend on each other in one direction: interfaces → api → core ← stores, worker → core.
//!
//! The table lists every crate and the workspace crates that it may use. Add a row in the change that
//! needs it.

use super::manifest::{self, Dependency, Manifest};
use super::tree::Tree;
use super::violation::Violation;

/// Each crate and the workspace crates that it may use.
const EDGES: &[(&str, &[&str])] = &[
    ("windlass-core", &[]),
    ("windlass-store-memory", &["windlass-core"]),
    ("windlass-schedule", &["windlass-core"]),
    // Its own tests enable its features.
    (
        "windlass-store-sqlite",
        // Its tests put schedules.
        &[
            "windlass-core",
            "windlass-schedule",
            "windlass-store-sqlite",
        ],
    ),
    ("windlass-redis-link", &["windlass-core"]),
    // Its own tests enable its features.
    (
        "windlass-store-redis",
        &[
            "windlass-core",
            "windlass-redis-link",
            // Its tests put schedules.
            "windlass-schedule",
            "windlass-store-redis",
        ],
    ),
    (
        "windlass-store-http",
        // Its tests serve a store.
        &["windlass-api", "windlass-core", "windlass-server"],
    ),
    ("windlass-worker", &["windlass-core", "windlass-schedule"]),
    // Its tests use the crate that re-exports it.
    ("windlass-derive", &["windlass"]),
    ("windlass-api", &["windlass-core", "windlass-schedule"]),
    (
        "windlass-exec",
        &["windlass-api", "windlass-core", "windlass-worker"],
    ),
    ("windlass-server", &["windlass-api", "windlass-core"]),
    (
        "windlass-interop",
        &[
            "windlass",
            "windlass-api",
            "windlass-core",
            "windlass-exec",
            "windlass-redis-link",
            "windlass-schedule",
            "windlass-server",
            "windlass-terminal",
        ],
    ),
    (
        "windlass",
        &[
            // Its own tests and examples enable its features.
            "windlass",
            "windlass-core",
            "windlass-derive",
            "windlass-schedule",
            "windlass-store-http",
            "windlass-store-memory",
            "windlass-store-redis",
            "windlass-store-sqlite",
            "windlass-worker",
        ],
    ),
    (
        "windlass-cli",
        &[
            "windlass",
            "windlass-api",
            "windlass-bench",
            "windlass-interop",
            "windlass-exec",
            "windlass-schedule",
            "windlass-server",
            "windlass-store-http",
            "windlass-terminal",
            "windlass-worker",
        ],
    ),
    (
        "windlass-terminal",
        &["windlass", "windlass-api", "windlass-server"],
    ),
    (
        "windlass-testkit",
        &[
            "windlass-core",
            "windlass-schedule",
            "windlass-store-memory",
        ],
    ),
    (
        "windlass-chaos",
        &[
            "windlass",
            "windlass-api",
            "windlass-core",
            "windlass-schedule",
            "windlass-store-redis",
            "windlass-store-sqlite",
            "windlass-testkit",
            "windlass-worker",
        ],
    ),
    (
        "windlass-fuzz",
        &[
            "windlass",
            "windlass-api",
            "windlass-cli",
            "windlass-core",
            "windlass-interop",
            "windlass-server",
            "windlass-store-memory",
            "windlass-store-redis",
            "windlass-store-sqlite",
            "windlass-testkit",
        ],
    ),
    (
        "windlass-bench",
        &["windlass", "windlass-server", "windlass-testkit", "xtask"],
    ),
    ("xtask", &[]),
];

/// What the tests of any crate may use as well: the conformance suite, the stores, and the ledger of
/// the crash tests.
const DEV: [&str; 4] = [
    "windlass-testkit",
    "windlass-store-memory",
    "windlass-store-redis",
    "windlass-chaos",
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let (manifests, mut violations) = manifest::read(tree);
    for manifest in &manifests {
        violations.extend(misnamed(manifest));
        let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == manifest.name) else {
            violations.push(Violation::new(
                manifest.path,
                1,
                format!(
                    "the crate `{}` has no row in the table of dependencies",
                    manifest.name
                ),
                format!("list in `{}` which workspace crates it may use", file!()),
            ));
            continue;
        };
        for dependency in &manifest.dependencies {
            if is_ours(dependency) && !is_allowed(dependency, allowed) {
                violations.push(Violation::new(
                    manifest.path,
                    dependency.line,
                    format!("`{}` may not use `{}`", manifest.name, dependency.name),
                    "move the code to a crate that may; dependencies point to core (ARCHITECTURE.md)",
                ));
            }
        }
    }
    violations
}

fn is_ours(dependency: &Dependency) -> bool {
    dependency.name == "windlass" || dependency.name.starts_with("windlass-")
}

fn is_allowed(dependency: &Dependency, allowed: &[&str]) -> bool {
    let name = dependency.name.as_str();
    allowed.contains(&name) || (dependency.is_dev && DEV.contains(&name))
}

/// Folder `crates/x` is package `windlass-x`. The crate that users add is `windlass`.
fn misnamed(manifest: &Manifest) -> Option<Violation> {
    let folder = manifest.folder().strip_prefix("crates/")?;
    let name = if folder == "windlass" {
        folder.to_owned()
    } else {
        format!("windlass-{folder}")
    };
    (manifest.name != name).then(|| {
        Violation::new(
            manifest.path,
            1,
            format!("the crate in this folder is named `{}`", manifest.name),
            format!("name it `{name}`, after its folder"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::violation::briefly;
    use super::*;

    fn checked(folder: &str, text: &str) -> Vec<String> {
        briefly(&check(&Tree::of(&[(
            &format!("{folder}/Cargo.toml"),
            text,
        )])))
    }

    #[test]
    fn an_edge_against_the_direction_is_caught() {
        let text = "[package]\nname = \"windlass-core\"\n[dependencies]\nwindlass-api = \"1\"\n";
        assert_eq!(
            checked("crates/core", text),
            ["crates/core/Cargo.toml:4: `windlass-core` may not use `windlass-api`"]
        );
    }

    #[test]
    fn only_tests_may_use_the_testkit() {
        let dev = "[package]\nname = \"windlass-api\"\n[dev-dependencies]\n\
            windlass-testkit.workspace = true\n";
        assert_eq!(checked("crates/api", dev), [""; 0]);
        assert_eq!(checked("crates/api", &dev.replace("dev-", "")).len(), 1);
    }

    #[test]
    fn a_crate_without_a_row_or_with_a_wrong_name_is_caught() {
        let found = checked("crates/extra", "[package]\nname = \"windlass-other\"\n");
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
