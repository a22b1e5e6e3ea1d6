//! `windlass exec-child WORKER -- PROGRAM …`: what a process of a worker is before it becomes the
//! program. Not meant to be typed, and not parsed like what is: each job of `exec` waits for it.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use windlass_exec::{Launch, guard};

use crate::output::Output;

/// This program, even when its file was replaced since it began.
const SELF: &str = "/proc/self/exe";

/// The first word after the program's name.
const WORD: &str = "exec-child";

/// How a worker starts its processes.
pub(crate) fn launch() -> Launch {
    let program = if Path::new(SELF).exists() {
        Some(SELF.into())
    } else {
        std::env::current_exe().ok()
    };
    program.map_or_else(Launch::bare, |program| {
        Launch::guarded(vec![program.into_os_string(), WORD.into()])
    })
}

/// Becomes the program where that is what was asked for, or ends as a shell does that cannot.
pub(crate) fn run_if_asked(mut typed: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    typed.nth(1).filter(|word| word == WORD)?;
    let worker = typed.next().and_then(|word| word.to_str()?.parse().ok());
    let dashes = typed.next();
    let (why, status) = match worker {
        Some(worker) if dashes.as_deref() == Some(OsStr::new("--")) => {
            guard::become_program(worker, &typed.collect::<Vec<_>>())
        }
        _ => (
            format!("{WORD} is only for workers: use `windlass exec`"),
            guard::CANNOT_RUN,
        ),
    };
    Output::new(false).talk(&why);
    Some(ExitCode::from(status))
}
