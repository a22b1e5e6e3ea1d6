//! `cargo xtask check`: everything that CI runs.
//!
//! Steps run in order, and the first failure ends the run. A tool that is not installed is
//! reported, never skipped silently.

mod browser;
mod peers;
mod report;
mod steps;

use std::path::Path;
use std::process::ExitCode;

use report::Report;

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
    match peers::ensure(root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("why: {failure}\nnext: {}", peers::NEXT);
            ExitCode::FAILURE
        }
    }
}

/// Runs only the tests of the dashboard in a browser, or some of their files.
pub(crate) fn browser(root: &Path, files: &[String]) -> ExitCode {
    if let Err(failure) = browser::prepare() {
        println!("why: {failure}\nnext: {}", browser::NEEDS);
        return ExitCode::FAILURE;
    }
    match browser::run(root, files) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("why: {failure}\nnext: {}", browser::NEXT);
            ExitCode::FAILURE
        }
    }
}
