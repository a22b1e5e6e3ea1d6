//! Resident processes: each runs job after job and replies in JSON lines.

mod crashes;
mod instance;
mod pool;
mod protocol;
mod reader;
mod supervise;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use windlass_core::{QueueName, Store};
use windlass_worker::{AttemptContext, AttemptFuture, Handle, Outcome, StopReason};

use crate::environment::from_now;
use crate::job::{JobLine, line};
use crate::log::JobLog;
use crate::progress;
use crate::run::Starter;
use crate::template::Template;

use crashes::Crashes;
use pool::{Assignment, AttemptEnd, Pool};
use protocol::{Cancel, Drain};

/// How long a process may take to read the next chunk of a line before it counts as stuck.
pub const WRITE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// How long a job waits for a process before it is released: another worker may have one.
const PROCESS_WAIT_MAX: Duration = Duration::from_secs(60);

/// Options for running jobs in resident processes.
#[derive(Debug, Clone)]
pub struct ResidentOptions {
    /// The program and its arguments.
    pub command: Template,
    /// Starts the processes.
    pub starter: Starter,
    /// The number of processes.
    pub processes: usize,
    /// How many jobs each process runs at once.
    pub concurrency: usize,
    /// Whether a line that is not a protocol message ends the process.
    pub is_strict: bool,
    /// How long a process may take to exit after SIGTERM before it is killed, and how long a cancelled
    /// job may take to end.
    pub kill_after: Duration,
    /// How long a process may take to read before it counts as stuck.
    pub write_timeout: Duration,
    /// Where follow-up jobs go.
    pub store: Arc<dyn Store>,
    /// The worker's queues, sent to the processes.
    pub queues: Vec<QueueName>,
}

/// Runs jobs in resident processes. They are ended when the last clone is dropped.
#[derive(Clone)]
pub struct Resident {
    shared: Arc<Shared>,
    _close_on_drop: Arc<DropGuard>,
}

struct Shared {
    options: ResidentOptions,
    pool: Pool,
    crashes: Crashes,
    /// Cancelled when all processes must end.
    closing: CancellationToken,
    /// Cancelled when no new jobs may be assigned: a child of `closing`.
    draining: CancellationToken,
    supervisors: TaskTracker,
}

impl Resident {
    /// Starts the processes. Must be called in the Tokio runtime that runs the jobs.
    pub fn start(options: ResidentOptions) -> Self {
        let processes = options.processes;
        let closing = CancellationToken::new();
        let shared = Arc::new(Shared {
            options,
            pool: Pool::new(processes),
            crashes: Crashes::default(),
            draining: closing.child_token(),
            closing: closing.clone(),
            supervisors: TaskTracker::new(),
        });
        for slot in 0..processes {
            let supervisor = supervise::supervise(Arc::clone(&shared), slot);
            shared.supervisors.spawn(supervisor);
        }
        shared.supervisors.close();
        Self {
            shared,
            _close_on_drop: Arc::new(closing.drop_guard()),
        }
    }

    /// Announces to the processes that no more jobs follow, and by when the running ones must end.
    pub fn drain(&self, grace: Duration) {
        self.shared.draining.cancel();
        let deadline = from_now(grace);
        self.shared.pool.send_all(&line(&Drain { deadline }));
    }

    /// Ends the processes and waits until they have exited.
    pub async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.supervisors.wait().await;
    }
}

impl Handle for Resident {
    fn handle(&self, context: AttemptContext) -> AttemptFuture {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { shared.run(&context).await })
    }
}

impl Shared {
    async fn run(&self, context: &AttemptContext) -> Outcome {
        let log_sink = Arc::clone(&self.options.starter.log_sink);
        let log = Arc::new(JobLog::new(context.clone(), log_sink));
        let Some(mut assignment) = self.assign(context, &log).await else {
            // No process has seen it, so the attempt does not count.
            return Outcome::Release;
        };
        let newest = assignment.progress.clone();
        let (end, stopped) = tokio::select! {
            biased;
            end = &mut assignment.end => (end.ok(), None),
            why = context.stopped() => (self.stop(context, &mut assignment, why).await, Some(why)),
            () = progress::publish(context, newest) => (None, None),
        };
        log.finish();
        self.outcome_of(context, end, stopped)
    }

    /// Waits for a process with free capacity. Returns `None` if the job should not start any more.
    async fn assign(&self, context: &AttemptContext, log: &Arc<JobLog>) -> Option<Assignment<'_>> {
        let release_at = Instant::now() + PROCESS_WAIT_MAX;
        let mut waiting = self.pool.waiting(self.crashes.is_suspect(context));
        let job = line(&JobLine::new(Some("job"), context));
        loop {
            if self.draining.is_cancelled() {
                return None;
            }
            if let Some(assignment) = waiting.take(log, &job) {
                return Some(assignment);
            }
            tokio::select! {
                changed = timeout_at(release_at, waiting.changed()) => changed.ok()?,
                _ = context.stopped() => return None,
                () = self.draining.cancelled() => return None,
            }
        }
    }

    /// Stops a job. It must not run any more when another worker gets it, so this waits for the process
    /// to exit if necessary.
    async fn stop(
        &self,
        context: &AttemptContext,
        assignment: &mut Assignment<'_>,
        why: StopReason,
    ) -> Option<AttemptEnd> {
        let reason = match why {
            StopReason::TimedOut => "timeout",
            StopReason::Leaving => "shutdown",
            StopReason::LeaseLost => "lease_lost",
            _ => "user",
        };
        assignment.send(line(&Cancel {
            id: context.job().id.as_str(),
            token: context.token().to_string(),
            reason,
        }));
        match why {
            StopReason::Leaving => {
                self.closing.cancel();
                (&mut assignment.end).await.ok()
            }
            StopReason::LeaseLost => {
                assignment.abandon();
                None
            }
            _ => {
                if let Ok(end) = timeout(self.options.kill_after, &mut assignment.end).await {
                    return end.ok();
                }
                if assignment.abandon() {
                    let _ = (&mut assignment.end).await;
                }
                None
            }
        }
    }

    fn outcome_of(
        &self,
        context: &AttemptContext,
        end: Option<AttemptEnd>,
        stopped: Option<StopReason>,
    ) -> Outcome {
        match (end, stopped) {
            (Some(AttemptEnd::Replied(outcome)), _) => {
                self.crashes.forget(context);
                outcome
            }
            (Some(AttemptEnd::Released), _)
            | (_, Some(StopReason::Leaving | StopReason::LeaseLost)) => Outcome::Release,
            (Some(AttemptEnd::Unread { why }), _) => {
                if self.crashes.record_unread(context) {
                    Outcome::failed(why)
                } else {
                    Outcome::Release
                }
            }
            (Some(AttemptEnd::Crashed { why, was_alone }), _) => {
                if self.crashes.record(context, was_alone) {
                    let why = format!(
                        "poison: the job was running each time its process crashed, the last time alone: {why}"
                    );
                    return Outcome::permanent(why);
                }
                Outcome::failed(why)
            }
            (None, _) => {
                Outcome::failed("the worker process was asked to stop the job and did not reply")
            }
        }
    }
}

impl std::fmt::Debug for Resident {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Resident")
            .field(&self.shared.options)
            .finish()
    }
}
