//! The first thing that runs in a new process: it makes sure that the process does not outlive its
//! worker, and then becomes the program.
//!
//! Only a process can ask this for itself, and between fork and exec no safe code may run; so the
//! worker starts its own binary, which does one system call and is replaced by the program.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;

use rustix::process::{Pid, getppid};

/// The program is not there.
pub const NOT_FOUND: u8 = 127;

/// The program is there and cannot be run.
pub const CANNOT_RUN: u8 = 126;

/// How processes are started: through a guard, or as they are.
#[derive(Debug, Clone, Default)]
pub struct Launch(Vec<OsString>);

impl Launch {
    /// Programs are started as they are: one may outlive a worker that is killed.
    pub fn bare() -> Self {
        Self::default()
    }

    /// Programs are started by this command, which gets the id of the worker's process, `--` and
    /// the words of the program, and calls [`become_program`] with them.
    pub fn guarded(command: Vec<OsString>) -> Self {
        Self(command)
    }

    pub(crate) fn command(&self, words: &[OsString]) -> tokio::process::Command {
        let worker = OsString::from(std::process::id().to_string());
        let dashes = OsString::from("--");
        let guard = self.0.iter().chain([&worker, &dashes]);
        let guard = guard.take(if self.0.is_empty() { 0 } else { usize::MAX });
        let mut line = guard.chain(words);
        let first = line.next().map_or(OsStr::new(""), OsString::as_os_str);
        let mut command = tokio::process::Command::new(first);
        command.args(line);
        command
    }
}

/// Becomes the program; comes back only when that is not possible, with what to say and the exit
/// status that shells use for it.
pub fn become_program(worker: u32, words: &[OsString]) -> (String, u8) {
    let Some((program, arguments)) = words.split_first() else {
        return ("there is no program to run".to_owned(), CANNOT_RUN);
    };
    die_with_worker();
    // A worker that died before the call above sends no signal any more.
    let parent = getppid().map(Pid::as_raw_pid);
    if parent.and_then(|pid| u32::try_from(pid).ok()) != Some(worker) {
        return ("its worker has died".to_owned(), CANNOT_RUN);
    }
    let error = std::process::Command::new(program).args(arguments).exec();
    let text = format!("{} cannot be started: {error}", program.display());
    (text, status_of(&error))
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
    // Where it is refused the lease still runs out, and somebody else takes the job.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
}

#[cfg(not(target_os = "linux"))]
fn die_with_worker() {}
