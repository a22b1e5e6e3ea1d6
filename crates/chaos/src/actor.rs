//! Starts, hears and ends actors. Whatever one said before it was killed is heard.

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

/// A ledger that actors write to while tests wait for what it will say.
#[derive(Debug, Clone)]
pub struct Record {
    ledger: Arc<Mutex<Ledger>>,
    lines: watch::Sender<usize>,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            ledger: Arc::default(),
            lines: watch::Sender::new(0),
        }
    }
}

impl Record {
    /// The ledger as it is now.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the ledger says something.
    pub async fn until(&self, mut is_said: impl FnMut(&Ledger) -> bool) {
        let mut lines = self.lines.subscribe();
        while !is_said(&self.ledger()) {
            if lines.changed().await.is_err() {
                return;
            }
        }
    }

    /// Writes down a line of a life that is a task of this process.
    pub fn note(&self, life: usize, line: Line) {
        self.write(|ledger| ledger.note(life, line));
    }

    fn hear(&self, life: usize, text: &str) {
        self.write(|ledger| ledger.hear(life, text));
    }

    fn write(&self, write: impl FnOnce(&mut Ledger)) {
        let count = {
            let mut ledger = self.ledger();
            write(&mut ledger);
            ledger.lines
        };
        self.lines.send_replace(count);
    }
}

/// How actors are started.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The `windlass-actor` binary.
    pub program: PathBuf,
    /// The store they all use: a file, or a URL.
    pub store: OsString,
    /// Where their lines go.
    pub record: Record,
    /// A library to load into each, which tells of syncs.
    pub preload: Option<PathBuf>,
}

impl Stage {
    /// Actors of `program` on the store at `store`.
    pub fn new(program: &str, store: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            store: store.into(),
            record: Record::default(),
            preload: None,
        }
    }

    /// Starts an actor; it ends when it is done, when its stdin is closed, or with the test.
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
        let life = self.record.ledger().begin(name);
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let record = self.record.clone();
        let hearing = tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                record.hear(life, &line);
            }
        });
        Ok(Actor {
            name: name.to_owned(),
            life,
            stdin: child.stdin.take(),
            child,
            hearing,
        })
    }
}

/// A process under way.
#[derive(Debug)]
pub struct Actor {
    /// Who it is.
    pub name: String,
    /// Its number in the ledger.
    pub life: usize,
    child: Child,
    stdin: Option<ChildStdin>,
    hearing: JoinHandle<()>,
}

impl Actor {
    /// Its process.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Says a line to it.
    pub async fn say(&mut self, line: &str) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(format!("{line}\n").as_bytes()).await?;
        stdin.flush().await
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.number()?, signal)?)
    }

    /// Sends it SIGSTOP and blocks until every thread of it stands.
    pub fn freeze(&self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        waitid(WaitId::Pid(self.number()?), WaitIdOptions::STOPPED)?;
        Ok(())
    }

    /// Lets it go on.
    pub fn thaw(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn number(&self) -> io::Result<Pid> {
        let pid = self.pid().and_then(|pid| i32::try_from(pid).ok());
        let pid = pid.and_then(Pid::from_raw);
        pid.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Waits for it to end by itself, and leaves it as it is.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Strikes it with SIGKILL and does not wait.
    pub fn strike(&mut self) -> io::Result<()> {
        self.child.start_kill()
    }

    /// Waits for its end and hears it out. One that was struck had not ended before: it answers
    /// whether it died of the blow.
    pub async fn bury(mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.hear_out().await?;
        Ok(status)
    }

    /// Closes its stdin, waits for its end and hears it out.
    pub async fn stop(mut self) -> io::Result<ExitStatus> {
        self.stdin = None;
        let status = self.child.wait().await?;
        self.hear_out().await?;
        Ok(status)
    }

    /// Waits for it to end by itself and hears it out.
    pub async fn done(mut self) -> io::Result<ExitStatus> {
        // `wait` would close stdin, which means stop.
        let stdin = self.stdin.take();
        let status = self.child.wait().await?;
        drop(stdin);
        self.hear_out().await?;
        Ok(status)
    }

    async fn hear_out(&mut self) -> io::Result<()> {
        (&mut self.hearing).await.map_err(io::Error::other)
    }
}
