//! `windlass exec-child WORKER -- PROGRAM …`: prepares a worker's child process, then replaces itself
//! with the program. Internal. It bypasses clap because every job of `exec` starts through it.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use windlass_exec::{Launch, parent_death};

use crate::output::Output;

/// This executable, even if its file has been replaced since the process started.
const SELF: &str = "/proc/self/exe";

/// Name of the internal command.
const COMMAND: &str = "exec-child";

/// Returns how a worker starts its processes.
pub(crate) fn launch() -> Launch {
    let program = if Path::new(SELF).exists() {
        Some(SELF.into())
    } else {
        std::env::current_exe().ok()
    };
    program.map_or_else(Launch::direct, |program| {
        Launch::guarded(vec![program.into_os_string(), COMMAND.into()])
    })
}

/// Runs the internal command if the arguments name it. Returns the exit code if the program cannot be
/// run, with the same codes as a shell.
pub(crate) fn run_if_requested(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    arguments.nth(1).filter(|name| name == COMMAND)?;
    let worker = arguments.next();
    let worker = worker.and_then(|pid| pid.to_str()?.parse().ok());
    let dashes = arguments.next();
    let (why, status) = match worker {
        Some(worker) if dashes.as_deref() == Some(OsStr::new("--")) => {
            parent_death::become_program(worker, &arguments.collect::<Vec<_>>())
        }
        _ => (
            format!("{COMMAND} is an internal command; use `windlass exec`"),
            parent_death::CANNOT_RUN,
        ),
    };
    Output::new(false).note(&why);
    Some(ExitCode::from(status))
}
