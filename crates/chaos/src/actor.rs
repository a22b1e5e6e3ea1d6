//! Starts actors, reads their lines and ends them. All lines written before a kill are read.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::event::Line;
use crate::ledger::Ledger;

/// A ledger that actors write to while tests wait for its content.
#[derive(Debug, Clone)]
pub struct SharedLedger {
    ledger: Arc<Mutex<Ledger>>,
    lines: watch::Sender<usize>,
}

impl Default for SharedLedger {
    fn default() -> Self {
        Self {
            ledger: Arc::default(),
            lines: watch::Sender::new(0),
        }
    }
}

impl SharedLedger {
    /// Locks the ledger.
    pub fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a condition on the ledger holds.
    pub async fn wait_until(&self, mut condition: impl FnMut(&Ledger) -> bool) {
        let mut lines = self.lines.subscribe();
        while !condition(&self.lock()) {
            if lines.changed().await.is_err() {
                return;
            }
        }
    }

    /// Adds a line of a task in this process.
    pub fn push(&self, process: usize, line: Line) {
        self.write(|ledger| ledger.push(process, line));
    }

    fn parse_line(&self, process: usize, text: &str) {
        self.write(|ledger| ledger.parse_line(process, text));
    }

    fn write(&self, write: impl FnOnce(&mut Ledger)) {
        let count = {
            let mut ledger = self.lock();
            write(&mut ledger);
            ledger.lines
        };
        self.lines.send_replace(count);
    }
}

/// Starts actors.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The `windlass-actor` binary.
    pub program: PathBuf,
    /// The store they all use: a file, or a URL.
    pub store: OsString,
    /// Where their lines go.
    pub ledger: SharedLedger,
    /// A library to preload, which reports syncs.
    pub preload: Option<PathBuf>,
}

impl Launcher {
    /// Actors of `program` on the store at `store`.
    pub fn new(program: &str, store: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            store: store.into(),
            ledger: SharedLedger::default(),
            preload: None,
        }
    }

    /// Starts an actor. It exits when done, when its stdin is closed, or with the test.
    pub fn start(&self, name: &str, arguments: &[String]) -> io::Result<Actor> {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .arg("--store")
            .arg(&self.store)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        if let Some(library) = &self.preload {
            command.env("LD_PRELOAD", library);
        }
        let mut child = command.spawn()?;
        let process = self.ledger.lock().add_process(name);
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let ledger = self.ledger.clone();
        let reader = tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                ledger.parse_line(process, &line);
            }
        });
        Ok(Actor {
            name: name.to_owned(),
            process,
            stdin: child.stdin.take(),
            child,
            reader,
        })
    }
}

/// A running actor process.
#[derive(Debug)]
pub struct Actor {
    /// Its name.
    pub name: String,
    /// Its index in the ledger.
    pub process: usize,
    child: Child,
    stdin: Option<ChildStdin>,
    reader: JoinHandle<()>,
}

impl Actor {
    /// Its process id.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Writes a line to its stdin.
    pub async fn send_line(&mut self, line: &str) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(format!("{line}\n").as_bytes()).await?;
        stdin.flush().await
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.checked_pid()?, signal)?)
    }

    /// Stops it with SIGSTOP and blocks until all its threads are stopped.
    pub fn freeze(&self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        waitid(WaitId::Pid(self.checked_pid()?), WaitIdOptions::STOPPED)?;
        Ok(())
    }

    /// Resumes it with SIGCONT.
    pub fn thaw(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn checked_pid(&self) -> io::Result<Pid> {
        let pid = self.pid().and_then(|pid| i32::try_from(pid).ok());
        let pid = pid.and_then(Pid::from_raw);
        pid.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Waits for its exit, without consuming it.
    pub async fn exited(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Sends SIGKILL without waiting.
    pub fn start_kill(&mut self) -> io::Result<()> {
        self.child.start_kill()
    }

    /// Waits for its exit and reads its remaining lines. The status shows whether a kill ended it.
    pub async fn wait_killed(mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        (&mut self.reader).await.map_err(io::Error::other)?;
        Ok(status)
    }

    /// Closes its stdin, waits for its exit and reads its remaining lines.
    pub async fn stop(mut self) -> io::Result<ExitStatus> {
        self.stdin = None;
        self.wait_killed().await
    }

    /// Waits until it exits by itself and reads its remaining lines.
    pub async fn finish(mut self) -> io::Result<ExitStatus> {
        // `wait` would close stdin, which asks the actor to stop.
        let stdin = self.stdin.take();
        let ended = self.wait_killed().await;
        drop(stdin);
        ended
    }
}
