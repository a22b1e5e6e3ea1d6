//! The chores of this repository, in the one language everybody here has: `cargo xtask help`.

#![allow(
    clippy::print_stdout,
    reason = "a chore talks to the person who started it"
)]

mod bench;
mod cargo;
mod chaos;
mod check;
mod help;
mod install;
mod packages;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => check::run(&root(), check::Extent::Full),
        ["check", "--quick"] => check::run(&root(), check::Extent::Quick),
        ["peers"] => check::peers(&root()),
        ["tidy"] => tidy::run(&root()),
        ["chaos", options @ ..] => match chaos::Extent::read(options) {
            Some(extent) => chaos::run(&root(), &extent),
            None => help::refuse(&words),
        },
        ["bench"] => bench::ours::run(&root()),
        ["bench", "--page"] => bench::ours::page(&root()),
        ["bench", "--peers", options @ ..] => match bench::Extent::read(options) {
            Some(extent) => bench::run(&root(), &extent),
            None => help::refuse(&words),
        },
        [] | ["help" | "--help" | "-h"] => help::run(),
        other => help::refuse(other),
    }
}

/// The root of the repository: the folder above this crate, wherever the checkout was moved.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent()
        .map_or_else(|| PathBuf::from("."), PathBuf::from)
}
