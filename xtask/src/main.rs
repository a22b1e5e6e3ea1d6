//! Development tasks of this repository. Run `cargo xtask help` for the list.

#![allow(clippy::print_stdout, reason = "a command-line tool prints to stdout")]

mod chaos;
mod check;
mod fuzz;
mod matrix;
mod tidy;

use std::process::ExitCode;

use clap::Parser;

/// Development tasks of this repository
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Run what CI runs: fmt, clippy, tidy, redis, peers, tests, browser, a part of matrix, prometheus, docs, deny
    Check {
        /// Run only fmt, tidy, clippy and the fast tests
        #[arg(long)]
        quick: bool,
    },
    /// Check the style rules: crate edges, file sizes, names, words, links
    Tidy,
    /// Install the clients of the older systems, used by tests, into target/peers
    Peers,
    /// Test the dashboard in Chromium, with modules of npm installed into target/browser
    Browser {
        /// Run only these files of crates/server/tests/browser
        files: Vec<String>,
    },
    /// Run the long crash tests, in release mode
    Chaos(chaos::Options),
    /// Run the tests that use Redis on Redis 8.0 and Valkey 8.1, installed into target/trixie
    Matrix,
    /// Run the fuzz targets with libFuzzer
    Fuzz(fuzz::Options),
}

fn main() -> ExitCode {
    let root = xtask::root();
    match Task::parse() {
        Task::Check { quick: true } => check::run(&root, check::Extent::Quick),
        Task::Check { quick: false } => check::run(&root, check::Extent::Full),
        Task::Tidy => tidy::run(&root),
        Task::Peers => check::peers(&root),
        Task::Browser { files } => check::browser(&root, &files),
        Task::Chaos(options) => chaos::run(&root, &options),
        Task::Matrix => matrix::run(&root),
        Task::Fuzz(options) => fuzz::run(&root, &options),
    }
}
