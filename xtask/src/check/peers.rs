//! The step `peers`: the real clients of the older systems, which the tests of interop talk to.
//!
//! They come from their registries at pinned versions into `target/peers`. A test that needs one is
//! never passed over.

use std::path::Path;

use crate::install::Parcel;

/// What to do when the step failed.
pub(super) const NEXT: &str = "install python3 with its venv module, and Node with npm \
                               (`apt-get install python3 python3-venv nodejs npm`, `brew install \
                               python node`); see that their registries can be reached; then \
                               `cargo xtask peers`";

/// Where the clients are installed; the tests look there.
const PLACE: &str = "target/peers";

/// Makes sure of all clients; says which could not be installed and why.
pub(super) fn ensure(root: &Path) -> Result<(), String> {
    let parcel = |name, source| Parcel {
        root,
        source,
        place: PLACE,
        name,
    };
    parcel("python", "crates/interop/peers/python").python()?;
    parcel("node", "crates/interop/peers/node").node()?;
    parcel("rust", "crates/interop/peers/rust").rust(&["--locked"])
}
