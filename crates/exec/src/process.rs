//! A process and all that it started: one group, which ends as a whole.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::spawn::Spawner;

/// How long the pipes of a process that has ended may stay open: a process that left the group may
/// hold them for ever.
const PIPES_AFTER_END: Duration = Duration::from_secs(1);

/// Whoever serves the pipes of a process.
pub(crate) trait Pipes {
    /// Waits until nothing more can be heard.
    fn heard_out(&mut self) -> impl Future<Output = ()> + Send;
}

impl Pipes for JoinSet<()> {
    async fn heard_out(&mut self) {
        while self.join_next().await.is_some() {}
    }
}

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

    /// The number of the process, which is that of its group.
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

    /// Kills what is left of the group and says how the process ended. With patience it is told to
    /// end first, and killed when it has not done so by then.
    pub(crate) async fn end(
        mut self,
        patience: Option<Duration>,
        pipes: &mut impl Pipes,
    ) -> io::Result<ExitStatus> {
        if let Some(patience) = patience {
            self.signal(Signal::TERM);
            let all = async {
                self.ended().await;
                // All that is in the group and writes somewhere gets its time, not only the first.
                pipes.heard_out().await;
            };
            let _ = timeout(patience, all).await;
        }
        self.signal(Signal::KILL);
        let _ = timeout(PIPES_AFTER_END, pipes.heard_out()).await;
        self.ended().await;
        let status = self.child.wait().await;
        self.is_reaped = true;
        status
    }

    fn signal(&self, signal: Signal) {
        if !self.is_reaped {
            // A group that is gone needs no signal.
            let _ = kill_process_group(self.group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
