//! `cargo xtask check`: the one command that decides whether a change is good, here and in CI.
//!
//! Steps run in order and the first failure ends the run. A tool that is not installed is said
//! aloud, never passed over in silence.

mod peers;
mod redis;
mod report;
mod steps;

use std::path::Path;
use std::process::ExitCode;

use report::Report;

/// How much of the check to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What CI runs.
    Full,
    /// What is worth waiting for while writing.
    Quick,
}

/// Runs the steps of an extent until one fails.
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

/// Makes sure of a server that can be started; says why there is none.
pub(crate) fn ensure_redis() -> Result<(), String> {
    redis::ensure()
}

/// Installs the older clients that tests talk to, alone.
pub(crate) fn peers(root: &Path) -> ExitCode {
    match peers::ensure(root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("why: {failure}\nnext: {}", peers::NEXT);
            ExitCode::FAILURE
        }
    }
}
