//! One process per job: the payload goes in, the exit status says how it went.

mod attempt;
mod missing;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use windlass_core::Result;
use windlass_worker::{AttemptFuture, AttemptContext, Handle};

use crate::environment::Environment;
use crate::exits::ExitMap;
use crate::guard::Launch;
use crate::spawn::Spawner;
use crate::talk::Talk;
use crate::template::Template;

use missing::Missing;

/// How long a process that was told to end may take before it is killed.
pub const KILL_AFTER_DEFAULT: Duration = Duration::from_secs(5);

/// What a process reads on its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Stdin {
    /// The payload, byte for byte.
    #[default]
    Payload,
    /// The whole job as one JSON object.
    Job,
    /// Nothing.
    Nothing,
}

/// What of a process' standard output is the result of its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Keep {
    /// All of it; nothing at all is no result.
    #[default]
    All,
    /// The last line that is not empty; all lines are logged.
    LastLine,
    /// Nothing; all lines are logged.
    Nothing,
}

/// How jobs are run as processes.
#[derive(Clone)]
pub struct ExecOptions {
    /// The program and its arguments.
    pub command: Template,
    /// How processes are started.
    pub launch: Launch,
    /// What they see of the environment.
    pub environment: Environment,
    /// What they read.
    pub stdin: Stdin,
    /// What is kept of what they write.
    pub keep: Keep,
    /// What their exit statuses mean.
    pub exits: ExitMap,
    /// How long a process that was told to end may take before it is killed.
    pub kill_after: Duration,
    /// Where remarks go.
    pub talk: Talk,
}

/// Runs each job as a process of its own.
#[derive(Clone)]
pub struct Exec(Arc<Shared>);

struct Shared {
    options: ExecOptions,
    spawner: Spawner,
    missing: Missing,
    /// How many attempts are under way.
    running: watch::Sender<usize>,
}

impl Exec {
    /// A handler for these jobs; to be called in the runtime that runs them.
    pub fn new(options: ExecOptions) -> Result<Self> {
        Ok(Self(Arc::new(Shared {
            options,
            spawner: Spawner::start()?,
            missing: Missing::default(),
            running: watch::Sender::new(0),
        })))
    }

    /// Waits until no process is left. Attempts that were dropped kill theirs as they go.
    pub async fn emptied(&self) {
        let mut running = self.0.running.subscribe();
        // The sender lives as long as this.
        let _ = running.wait_for(|running| *running == 0).await;
    }
}

impl Handle for Exec {
    fn handle(&self, context: AttemptContext) -> AttemptFuture {
        let counted = Counted::new(&self.0);
        Box::pin(async move {
            let outcome = attempt::run(&counted.0, &context).await;
            drop(counted);
            outcome
        })
    }
}

/// Counts an attempt for as long as it is there, however it ends.
struct Counted(Arc<Shared>);

impl Counted {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.running.send_modify(|running| *running += 1);
        Self(Arc::clone(shared))
    }
}

impl Drop for Counted {
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

/// Whether the words or the environment were more than the system takes.
fn is_too_long(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ArgumentListTooLong
}
