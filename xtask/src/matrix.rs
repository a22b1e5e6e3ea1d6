//! `cargo xtask matrix`: the tests that use Redis, on newer servers than the installed one.
//!
//! The servers are packages of Debian 13, unpacked into `target/trixie`. That needs apt-get but no
//! root, and any release of the system runs them.

use std::path::Path;
use std::process::ExitCode;

use xtask::cargo::{cargo, has};
use xtask::install::{self, Installation};
use xtask::redis;

/// What to do if a test fails.
pub(crate) const NEXT: &str = "run the failing test alone, on the server of that run: \
    `WINDLASS_REDIS_SERVER=$PWD/target/trixie/valkey-server cargo nextest run NAME`";

/// What to do if the servers cannot be installed.
pub(crate) const NEEDS: &str = "Redis 8.0 and Valkey 8.1 could not be installed, for the reason above: they need cargo-nextest, \
    apt-get, debian-archive-keyring and http://deb.debian.org";

/// Each program, and the version that it must report.
const SERVERS: [(&str, &str); 2] = [
    ("redis-server", "Redis 8.0"),
    ("valkey-server", "Valkey 8.1"),
];

/// The variable with that version, for the test that compares it.
const VERSION: &str = "WINDLASS_REDIS_VERSION";

/// What starts Redis servers, as a filter of nextest.
const ALL: &str = "package(windlass-store-redis) | package(windlass-redis-link) | package(windlass-interop) \
    | package(windlass-testkit) & binary(redis) | package(windlass-chaos) & test(redis) \
    | package(windlass-cli) & (binary(redis) | binary(served_redis) | binary(interop))";

/// What differs first between servers: errors and settings, Sentinel, the conformance suite on a Cluster, and costs.
const SMOKE: &str = "package(windlass-testkit) & test(version) | package(windlass-redis-link) \
    | package(windlass-store-redis) & (binary(cost) | binary(cluster) & not test(differential))";

/// Runs all these tests on each server.
pub(crate) fn run(root: &Path) -> ExitCode {
    let outcome = match prepare(root) {
        Ok(()) => test_on_each(root, ALL).map_err(|why| (why, NEXT)),
        Err(why) => Err((why, NEEDS)),
    };
    let Err((why, next)) = outcome else {
        return ExitCode::SUCCESS;
    };
    println!("why: {why}\nnext: {next}");
    ExitCode::FAILURE
}

/// Runs some of these tests on each server, which [`prepare`] installed.
pub(crate) fn smoke(root: &Path) -> Result<(), String> {
    test_on_each(root, SMOKE)
}

/// Installs the servers. The error says why it could not.
pub(crate) fn prepare(root: &Path) -> Result<(), String> {
    if !has(root, "nextest") {
        let why = "cargo-nextest is not installed: `cargo install --locked cargo-nextest`";
        return Err(why.to_owned());
    }
    servers(root).shell()
}

fn servers(root: &Path) -> Installation<'_> {
    Installation {
        root,
        source: "xtask/trixie",
        folder: "target",
        name: "trixie",
    }
}

/// Runs tests on each server, also after one failed. The error says on which.
fn test_on_each(root: &Path, filter: &str) -> Result<(), String> {
    let mut failed = Vec::new();
    for (program, version) in SERVERS {
        println!("\n{version}:");
        let arguments = [
            "nextest",
            "run",
            "--workspace",
            "--no-fail-fast",
            "-E",
            filter,
        ];
        let mut tests = cargo(root, &arguments);
        tests.env(redis::PROGRAM, servers(root).path().join(program));
        if install::run(tests.env(VERSION, version)).is_err() {
            failed.push(version);
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("tests failed on {}", failed.join(" and on ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_read_the_variables_that_select_a_server_and_its_version() {
        let start = include_str!("../../crates/testkit/src/redis/process.rs");
        let compare = include_str!("../../crates/testkit/tests/redis/single.rs");
        assert!(start.contains(&format!("\"{}\"", redis::PROGRAM)));
        assert!(compare.contains(&format!("\"{VERSION}\"")));
        assert!(
            compare.contains("fn servers_report_the_version"),
            "in SMOKE"
        );
    }
}
