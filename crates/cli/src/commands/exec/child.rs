//! `windlass exec-child`: what a process of a worker is before it becomes the program. Not meant to
//! be typed.

use std::ffi::OsString;
use std::path::Path;

use clap::Args;
use windlass_program::{Launch, guard};

use crate::session::Session;

/// This program, even when its file was replaced since it began.
const SELF: &str = "/proc/self/exe";

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    worker: u32,

    #[arg(last = true)]
    command: Vec<OsString>,
}

/// How a worker starts its processes.
pub(crate) fn launch() -> Launch {
    let program = if Path::new(SELF).exists() {
        Some(SELF.into())
    } else {
        std::env::current_exe().ok()
    };
    program.map_or_else(Launch::bare, |program| {
        Launch::guarded(vec![program.into_os_string(), "exec-child".into()])
    })
}

/// Becomes the program, or ends as a shell does that cannot.
pub(crate) fn run(arguments: &Arguments, session: &mut Session) -> ! {
    let (why, status) = guard::become_program(arguments.worker, &arguments.command);
    session.output.talk(&why);
    std::process::exit(status.into())
}
