//! Development tasks of this repository. Run `cargo xtask help` for the list.

#![allow(clippy::print_stdout, reason = "a command-line tool prints to stdout")]

mod bench;
mod cargo;
mod chaos;
mod check;
mod fuzz;
mod help;
mod install;
mod packages;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["check"] => check::run(&root(), check::Extent::Full),
        ["check", "--quick"] => check::run(&root(), check::Extent::Quick),
        ["peers"] => check::peers(&root()),
        ["tidy"] => tidy::run(&root()),
        ["chaos", options @ ..] => match chaos::Options::parse(options) {
            Some(options) => chaos::run(&root(), &options),
            None => help::unknown(&arguments),
        },
        ["fuzz", options @ ..] => match fuzz::Options::parse(options) {
            Some(options) => fuzz::run(&root(), &options),
            None => help::unknown(&arguments),
        },
        ["bench"] => bench::ours::run(&root()),
        ["bench", "--page"] => bench::ours::page(&root()),
        ["bench", "--peers", options @ ..] => match bench::Extent::read(options) {
            Some(extent) => bench::run(&root(), &extent),
            None => help::unknown(&arguments),
        },
        [] | ["help" | "--help" | "-h"] => help::run(),
        other => help::unknown(other),
    }
}

/// Returns the root of the repository: the parent folder of this crate.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent()
        .map_or_else(|| PathBuf::from("."), PathBuf::from)
}
