//! One process per job: reads the payload from stdin, reports with its exit status.

mod attempt;
mod missing;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use windlass_core::Result;
use windlass_worker::{AttemptContext, AttemptFuture, Handle};

use crate::environment::Environment;
use crate::exits::ExitMap;
use crate::log_sink::LogSink;
use crate::parent_death::Launch;
use crate::spawn::Spawner;
use crate::template::Template;

use missing::Missing;

/// How long a process may take to exit after SIGTERM before it is killed (default: 5s).
pub const KILL_AFTER_DEFAULT: Duration = Duration::from_secs(5);

/// What a process reads from stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Stdin {
    /// The payload, unchanged.
    #[default]
    Payload,
    /// The job as one JSON object.
    Job,
    /// Nothing.
    Nothing,
}

/// Which part of a process's stdout becomes the result of its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum KeepOutput {
    /// All of it; empty output means no result.
    #[default]
    All,
    /// The last non-empty line. All lines are logged.
    LastLine,
    /// Nothing. All lines are logged.
    Nothing,
}

/// Options for running each job as a process.
#[derive(Clone)]
pub struct ExecOptions {
    /// The program and its arguments.
    pub command: Template,
    /// How processes are started.
    pub launch: Launch,
    /// Their environment variables.
    pub environment: Environment,
    /// What they read from stdin.
    pub stdin: Stdin,
    /// Which part of their stdout becomes the result.
    pub keep: KeepOutput,
    /// What their exit statuses mean.
    pub exits: ExitMap,
    /// How long a process may take to exit after SIGTERM before it is killed (default: 5s).
    pub kill_after: Duration,
    /// Where log lines go.
    pub log_sink: LogSink,
}

/// Runs each job as a separate process.
#[derive(Clone)]
pub struct Exec(Arc<Shared>);

struct Shared {
    options: ExecOptions,
    spawner: Spawner,
    missing: Missing,
    /// How many attempts are running.
    running: watch::Sender<usize>,
}

impl Exec {
    /// Creates the handler. Must be called in the Tokio runtime that runs the jobs.
    pub fn new(options: ExecOptions) -> Result<Self> {
        Ok(Self(Arc::new(Shared {
            options,
            spawner: Spawner::start()?,
            missing: Missing::default(),
            running: watch::Sender::new(0),
        })))
    }

    /// Waits until no process is left. Dropped attempts kill their process.
    pub async fn wait_until_idle(&self) {
        let mut running = self.0.running.subscribe();
        // Cannot fail: `self` holds the sender.
        let _ = running.wait_for(|running| *running == 0).await;
    }
}

impl Handle for Exec {
    fn handle(&self, context: AttemptContext) -> AttemptFuture {
        let guard = AttemptGuard::new(&self.0);
        Box::pin(async move {
            let outcome = attempt::run(&guard.0, &context).await;
            drop(guard);
            outcome
        })
    }
}

/// Counts an attempt until it is dropped.
struct AttemptGuard(Arc<Shared>);

impl AttemptGuard {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.running.send_modify(|running| *running += 1);
        Self(Arc::clone(shared))
    }
}

impl Drop for AttemptGuard {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}

impl std::fmt::Debug for Exec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exec")
            .field("command", &self.0.options.command)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ExecOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecOptions")
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

/// Whether the arguments and the environment exceed the limit of the system.
fn is_too_long(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ArgumentListTooLong
}
