//! `cargo xtask check`: everything that CI runs.
//!
//! Steps run in order, and the first failure ends the run. A tool that is not installed is
//! reported, never skipped silently.

mod browser;
mod clients;
mod peers;
mod report;
mod steps;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use report::Report;
use xtask::cargo::cargo;
use xtask::install;

/// Which steps to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Everything, as in CI.
    Full,
    /// The fast steps, for use while editing.
    Quick,
}

/// Runs the steps until one fails.
pub(crate) fn run(root: &Path, extent: Extent) -> ExitCode {
    let mut report = Report::start();
    for step in steps::of(root, extent) {
        if let Some(why) = step.not_run {
            report.not_run(step.name, why);
            continue;
        }
        report.begin(&step);
        let outcome = step.run(root);
        report.end(step.name);
        if let Err(failure) = outcome {
            report.failed(&step, &failure);
            return ExitCode::FAILURE;
        }
    }
    report.passed();
    ExitCode::SUCCESS
}

/// Installs only the clients of the older systems.
pub(crate) fn peers(root: &Path) -> ExitCode {
    one(peers::ensure(root), peers::NEXT)
}

/// Runs only the tests of the dashboard in a browser, or some of their files.
pub(crate) fn browser(root: &Path, files: &[String]) -> ExitCode {
    match browser::prepare() {
        Ok(()) => one(browser::run(root, files), browser::NEXT),
        missing => one(missing, browser::NEEDS),
    }
}

/// Runs only the tests of the clients, or of one.
pub(crate) fn clients(root: &Path, only: Option<&str>) -> ExitCode {
    one(clients::run(root, only), clients::NEXT)
}

/// Reports a step that runs alone.
fn one(outcome: Result<(), String>, next: &str) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("why: {why}\nnext: {next}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the program as the tests do, and returns its path.
fn debug_binary(root: &Path) -> Result<PathBuf, String> {
    install::run(&mut cargo(root, &["build", "--package", "windlass-cli"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root.join("target"), PathBuf::from);
    Ok(root.join(target).join("debug/windlass"))
}
