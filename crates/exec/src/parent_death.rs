//! Makes a program die with its worker: the first code of a new process requests the parent-death
//! signal, and is then replaced by the program.
//!
//! Only the process itself can request it, and safe code must not run between fork and exec. So the
//! worker starts its own binary, which makes one system call and then execs the program.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;

use rustix::process::{Pid, getppid};

use crate::environment::{PROGRESS_FD, PROGRESS_FD_VARIABLE};

/// The exit status for a program that does not exist.
pub const NOT_FOUND: u8 = 127;

/// The exit status for a program that exists but cannot be run.
pub const CANNOT_RUN: u8 = 126;

/// The first descriptor after stdin, stdout and stderr.
const FIRST_INHERITED_FD: i32 = 3;

/// How processes are started: directly, or through a guard.
#[derive(Debug, Clone, Default)]
pub struct Launch(Vec<OsString>);

impl Launch {
    /// Starts programs directly: they may outlive a worker that is killed, and inherit its descriptors.
    pub fn direct() -> Self {
        Self::default()
    }

    /// Starts programs through this command. It receives the worker's pid, `--` and the program with its
    /// arguments, and calls [`become_program`] with them.
    pub fn guarded(command: Vec<OsString>) -> Self {
        Self(command)
    }

    pub(crate) fn command(&self, command_line: &[OsString]) -> tokio::process::Command {
        let worker = OsString::from(std::process::id().to_string());
        let dashes = OsString::from("--");
        let guard = self.0.iter().chain([&worker, &dashes]);
        let guard = guard.take(if self.0.is_empty() { 0 } else { usize::MAX });
        let mut line = guard.chain(command_line);
        let first = line.next().map_or(OsStr::new(""), OsString::as_os_str);
        let mut command = tokio::process::Command::new(first);
        command.args(line);
        command
    }
}

/// Replaces this process with the program. Returns only on failure, with an error message and the
/// exit status that shells use for it.
pub fn become_program(worker: u32, command_line: &[OsString]) -> (String, u8) {
    let Some((program, arguments)) = command_line.split_first() else {
        return ("no program to run".to_owned(), CANNOT_RUN);
    };
    die_with_worker();
    // A worker that died before the call above sends no signal.
    let parent = getppid().map(Pid::as_raw_pid);
    if parent.and_then(|pid| u32::try_from(pid).ok()) != Some(worker) {
        return ("the worker has died".to_owned(), CANNOT_RUN);
    }
    close_inherited();
    let error = std::process::Command::new(program).args(arguments).exec();
    let text = format!("cannot start {}: {error}", program.display());
    (text, status_of(&error))
}

/// Closes, when the program starts, all descriptors that the worker inherited: they may lead to files and
/// sockets that a job must not reach. The descriptor for progress stays open.
fn close_inherited() {
    let has_progress = std::env::var_os(PROGRESS_FD_VARIABLE).is_some();
    let kept: &[i32] = if has_progress { &[PROGRESS_FD] } else { &[] };
    close_fds::set_fds_cloexec(FIRST_INHERITED_FD, kept);
}

/// The exit status that shells use for a program that cannot be started.
pub(crate) fn status_of(error: &io::Error) -> u8 {
    if error.kind() == io::ErrorKind::NotFound {
        NOT_FOUND
    } else {
        CANNOT_RUN
    }
}

#[cfg(target_os = "linux")]
fn die_with_worker() {
    use rustix::process::{Signal, set_parent_process_death_signal};
    // If this fails, the lease still expires and another worker runs the job.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
}

#[cfg(not(target_os = "linux"))]
fn die_with_worker() {}
