//! A process and its children: one process group, which is ended as a whole.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::spawn::Spawner;

/// How long to wait for the pipes of a process that has exited: a child that left the group may hold
/// them open forever.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A running process. Dropping it kills the whole group.
///
/// The process is not reaped before its group is killed: until then its pid cannot be reused, so no
/// signal reaches an unrelated process.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    group: Pid,
    /// SIGCHLD, subscribed to before the process is started.
    child_signals: Signals,
    is_reaped: bool,
}

impl Process {
    /// Starts a command in a new process group, with piped output.
    pub(crate) async fn start(
        spawner: &Spawner,
        mut command: Command,
        stdin: Stdio,
    ) -> io::Result<Self> {
        let child_signals = signal(SignalKind::child())?;
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
            child_signals,
            is_reaped: false,
        })
    }

    /// Returns the pid, which is also the id of the group.
    pub(crate) fn id(&self) -> u32 {
        self.group.as_raw_pid().unsigned_abs()
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

    /// Waits for the process to exit, without reaping it.
    pub(crate) async fn ended(&mut self) {
        while !self.has_ended() {
            self.child_signals.recv().await;
        }
    }

    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that the child does not exist any more.
        !matches!(waitid(WaitId::Pid(self.group), options), Ok(None))
    }

    /// Kills the group and returns the exit status of the process. With a grace period, sends SIGTERM
    /// first and SIGKILL when it is over. `pipes` are the tasks that end when its pipes are closed.
    pub(crate) async fn end(
        &mut self,
        grace: Option<Duration>,
        pipes: &mut JoinSet<()>,
    ) -> io::Result<ExitStatus> {
        if let Some(grace) = grace {
            self.signal(Signal::TERM);
            let all = async {
                self.ended().await;
                // Its children get the grace period too, not only the process itself.
                wait_until_closed(pipes).await;
            };
            let _ = timeout(grace, all).await;
        }
        self.signal(Signal::KILL);
        let _ = timeout(CLOSE_TIMEOUT, wait_until_closed(pipes)).await;
        self.ended().await;
        let status = self.child.wait().await;
        self.is_reaped = true;
        status
    }

    fn signal(&self, signal: Signal) {
        if !self.is_reaped {
            // Fails if the group is gone, which is fine.
            let _ = kill_process_group(self.group, signal);
        }
    }
}

async fn wait_until_closed(pipes: &mut JoinSet<()>) {
    while pipes.join_next().await.is_some() {}
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
