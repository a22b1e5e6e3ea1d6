//! One process per job: reads the payload from stdin, reports with its exit status.

mod attempt;
mod missing;

use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use tokio_util::task::TaskTracker;
use windlass_worker::{AttemptContext, AttemptFuture, Handle};

use crate::exits::ExitMap;
use crate::run::Starter;
use crate::template::Template;

use missing::Missing;

/// How long a process may take to exit after SIGTERM before it is killed (default: 5s).
pub const KILL_AFTER_DEFAULT: Duration = Duration::from_secs(5);

/// What a process reads from stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[non_exhaustive]
pub enum Stdin {
    /// The payload, unchanged.
    #[default]
    Payload,
    /// The job as one JSON object.
    Job,
    /// Nothing.
    #[value(name = "none")]
    Nothing,
}

/// Which part of a process's stdout becomes the result of its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[non_exhaustive]
pub enum KeepOutput {
    /// All of stdout; if it is empty, there is no result
    #[default]
    #[value(name = "stdout")]
    All,
    /// The last non-empty line of stdout; all lines are logged
    LastLine,
    /// Nothing; stdout is logged
    #[value(name = "none")]
    Nothing,
}

/// Options for running each job as a process.
#[derive(Debug, Clone)]
pub struct ExecOptions {
    /// The program and its arguments.
    pub command: Template,
    /// Starts the processes.
    pub starter: Starter,
    /// What they read from stdin.
    pub stdin: Stdin,
    /// Which part of their stdout becomes the result.
    pub keep: KeepOutput,
    /// What their exit statuses mean.
    pub exits: ExitMap,
    /// How long a process may take to exit after SIGTERM before it is killed (default: 5s).
    pub kill_after: Duration,
}

/// Runs each job as a separate process.
#[derive(Debug, Clone)]
pub struct Exec(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: ExecOptions,
    missing: Missing,
    /// Counts the running attempts.
    running: TaskTracker,
}

impl Exec {
    /// Creates the handler.
    pub fn new(options: ExecOptions) -> Self {
        Self(Arc::new(Shared {
            options,
            missing: Missing::default(),
            running: TaskTracker::new(),
        }))
    }

    /// Waits until no process is left. Dropped attempts kill their process.
    pub async fn wait_until_idle(&self) {
        self.0.running.close();
        self.0.running.wait().await;
    }
}

impl Handle for Exec {
    fn handle(&self, context: AttemptContext) -> AttemptFuture {
        let shared = Arc::clone(&self.0);
        let attempt = async move { attempt::run(&shared, &context).await };
        Box::pin(self.0.running.track_future(attempt))
    }
}
