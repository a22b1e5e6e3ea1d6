//! What `cargo xtask` and the benchmarks share: they install what tests and other queues need.
//!
//! # Map
//!
//! [`cargo`] runs the cargo of this build, [`packages`] the package manager of the system. [`install`]
//! installs packages of Python, Node and Rust at pinned versions. [`redis`] ensures a Redis server.

#![allow(clippy::print_stdout, reason = "a command-line tool prints to stdout")]

pub mod cargo;
pub mod install;
pub mod packages;
pub mod redis;

use std::path::PathBuf;

/// Returns the root of the repository: the parent folder of this crate.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(PathBuf::from)
        .unwrap_or_default()
}
