//! The process of one task: fed, heard out, and ended with all that it started.

use std::collections::VecDeque;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::timeout;
use windlass::{Bytes, Limits};
use windlass_program::Talk;

use super::starter::Starter;

/// How many of the last lines on standard error are kept.
const LAST_LINES: usize = 20;

/// The most bytes of such a line.
const LINE_BYTES_MAX: usize = 4 * 1024;

/// How long the pipes of a process that has ended may stay open: one that left the group may hold
/// them for ever.
const PIPES_AFTER_END: Duration = Duration::from_secs(1);

/// A running process. Dropping it kills it and all that it started.
///
/// It is not reaped before its group has been killed: as long as it is there, no other process can
/// get its number, and no signal reaches a stranger.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Pid,
    /// Says that some child has ended; listened to since before this one began.
    ends: Signals,
    pipes: JoinSet<()>,
    heard: Arc<Heard>,
    is_reaped: bool,
}

/// How it went.
#[derive(Debug)]
pub(super) struct Ended {
    /// Whether it ended with status 0, and without being told to.
    pub(super) is_success: bool,
    /// How it ended, in words.
    pub(super) how: String,
    /// What it wrote to standard output, or how many bytes that were where it was too much.
    pub(super) output: Result<Bytes, u64>,
    /// The last lines it wrote to standard error.
    pub(super) last_lines: Vec<String>,
}

#[derive(Debug, Default)]
struct Heard(Mutex<Words>);

#[derive(Debug, Default)]
struct Words {
    output: Vec<u8>,
    total: u64,
    last: VecDeque<String>,
}

impl Process {
    /// Starts a command in a group of its own; what it writes to standard error also goes to `talk`.
    pub(super) async fn start(
        starter: &Starter,
        mut command: Command,
        input: Bytes,
        talk: Talk,
    ) -> io::Result<Self> {
        let ends = signal(SignalKind::child())?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = starter.start(command).await?;
        let group = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other("the new process has no id"))?;
        let heard = Arc::new(Heard::default());
        let mut pipes = JoinSet::new();
        if let Some(mut stdin) = child.stdin.take() {
            // A process that reads only a part, or nothing, is no failure.
            pipes.spawn(async move {
                let _ = stdin.write_all(&input).await;
            });
        }
        if let Some(stdout) = child.stdout.take() {
            let heard = Arc::clone(&heard);
            pipes.spawn(async move { heard.output(stdout).await });
        }
        if let Some(stderr) = child.stderr.take() {
            let heard = Arc::clone(&heard);
            pipes.spawn(async move { heard.errors(stderr, &talk).await });
        }
        Ok(Self {
            child,
            group,
            ends,
            pipes,
            heard,
            is_reaped: false,
        })
    }

    /// The number of the process.
    pub(super) fn id(&self) -> u32 {
        self.group.as_raw_pid().unsigned_abs()
    }

    /// Waits for its end. When `stop` comes first it is told to end, with all that it started, and
    /// killed when it has not done so after a while.
    pub(super) async fn see_it_end(
        mut self,
        stop: impl Future<Output = ()>,
        kill_after: Duration,
    ) -> io::Result<Ended> {
        let is_stopped = tokio::select! {
            biased;
            () = self.ended() => false,
            () = stop => true,
        };
        if is_stopped {
            self.signal(Signal::TERM);
            let _ = timeout(kill_after, async {
                self.ended().await;
                pipes_ended(&mut self.pipes).await;
            })
            .await;
        }
        self.signal(Signal::KILL);
        self.ended().await;
        let _ = timeout(PIPES_AFTER_END, pipes_ended(&mut self.pipes)).await;
        let status = self.child.wait().await;
        self.is_reaped = true;
        let status = status?;
        let (output, last_lines) = self.heard.told();
        Ok(Ended {
            is_success: status.success() && !is_stopped,
            how: describe(status),
            output,
            last_lines,
        })
    }

    /// Waits for the end of the process itself, and leaves it to be reaped.
    async fn ended(&mut self) {
        while !self.has_ended() {
            self.ends.recv().await;
        }
    }

    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that there is no such child any more.
        !matches!(waitid(WaitId::Pid(self.group), options), Ok(None))
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

async fn pipes_ended(pipes: &mut JoinSet<()>) {
    while pipes.join_next().await.is_some() {}
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("the program ended with status {code}"),
        (None, Some(signal)) => format!("the program was ended by signal {signal}"),
        (None, None) => "the program ended".to_owned(),
    }
}

impl Heard {
    /// Reads to the end, whatever is kept of it: a process must never wait for somebody to read.
    async fn output(&self, mut pipe: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
            let mut words = self.lock();
            let room = Limits::default().payload_bytes_max - words.output.len();
            words.output.extend_from_slice(&chunk[..read.min(room)]);
            words.total += read as u64;
        }
    }

    async fn errors(&self, pipe: impl AsyncRead + Unpin, talk: &Talk) {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut piece = (&mut reader).take(LINE_BYTES_MAX as u64);
            if !matches!(piece.read_until(b'\n', &mut line).await, Ok(1..)) {
                return;
            }
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            talk(&text);
            let mut words = self.lock();
            words.last.push_back(text);
            if words.last.len() > LAST_LINES {
                words.last.pop_front();
            }
        }
    }

    fn told(&self) -> (Result<Bytes, u64>, Vec<String>) {
        let mut words = self.lock();
        let output = std::mem::take(&mut words.output);
        let is_whole = output.len() as u64 == words.total;
        let output = if is_whole {
            Ok(Bytes::from(output))
        } else {
            Err(words.total)
        };
        (output, words.last.drain(..).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Words> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
