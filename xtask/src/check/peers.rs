//! The step `peers`: installs the real clients of the older systems for the interop tests.
//!
//! They come from their registries, at pinned versions, into `target/peers`. Tests that need one are
//! never skipped.

use std::path::Path;

use xtask::install::Installation;

/// What to do if the step fails.
pub(super) const NEXT: &str = "install python3 with its venv module, and Node with npm \
                               (`apt-get install python3 python3-venv nodejs npm`, `brew install \
                               python node`); make sure that their registries are reachable; then run \
                               `cargo xtask peers`";

/// Where the tests expect the clients.
const FOLDER: &str = "target/peers";

/// Installs all clients. The error says which one failed and why.
pub(super) fn ensure(root: &Path) -> Result<(), String> {
    let client = |name, source| Installation {
        root,
        source,
        folder: FOLDER,
        name,
    };
    client("python", "crates/interop/peers/python").python()?;
    client("node", "crates/interop/peers/node").node()?;
    client("rust", "crates/interop/peers/rust").rust(&["--locked"])
}
