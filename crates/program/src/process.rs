//! A process and all that it started: one group, which ends as a whole.

use std::io;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use crate::spawn::Spawner;

/// A running process. Dropping it kills the whole group.
///
/// The process is not reaped before its group has been killed: as long as it is there, no other
/// process can get its number, and no signal reaches a stranger.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    group: Pid,
    /// Says that some child has ended; listened to since before this one began.
    ends: Signals,
    is_reaped: bool,
}

impl Process {
    /// Starts a command in a group of its own, with its output in pipes.
    pub(crate) async fn start(
        spawner: &Spawner,
        mut command: Command,
        stdin: Stdio,
    ) -> io::Result<Self> {
        let ends = signal(SignalKind::child())?;
        command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let child = spawner.spawn(command).await?;
        let group = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other("the new process has no id"))?;
        Ok(Self {
            child,
            group,
            ends,
            is_reaped: false,
        })
    }

    pub(crate) fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    pub(crate) fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    pub(crate) fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Waits for the end of the process itself, and leaves it to be reaped.
    pub(crate) async fn ended(&mut self) {
        while !self.has_ended() {
            self.ends.recv().await;
        }
    }

    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that there is no such child any more.
        !matches!(waitid(WaitId::Pid(self.group), options), Ok(None))
    }

    /// Sends a signal to the whole group.
    pub(crate) fn signal(&self, signal: Signal) {
        if !self.is_reaped {
            // A group that is gone needs no signal.
            let _ = kill_process_group(self.group, signal);
        }
    }

    /// Kills what is left of the group, and says how the process ended.
    pub(crate) async fn reap(mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::KILL);
        self.ended().await;
        let status = self.child.wait().await;
        self.is_reaped = true;
        status
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
