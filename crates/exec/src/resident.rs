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

use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use windlass_api::timestamp;
use windlass_core::{Clock, QueueName, Result, Store, SystemClock, Timestamp};
use windlass_worker::{AttemptContext, AttemptFuture, Handle, Outcome, StopReason};

use crate::environment::Environment;
use crate::job::{JobLine, line};
use crate::log::JobLog;
use crate::log_sink::LogSink;
use crate::parent_death::Launch;
use crate::progress;
use crate::spawn::Spawner;
use crate::template::Template;

use crashes::Crashes;
use pool::{Assignment, AttemptEnd, Pool};
use protocol::{Cancel, Drain};

/// How long a process may take to read the next chunk of a line before it counts as stuck.
pub const WRITE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// How long a job waits for a process before it is released: another worker may have one.
const PROCESS_WAIT_MAX: Duration = Duration::from_secs(60);

/// Options for running jobs in resident processes.
#[derive(Clone)]
pub struct ResidentOptions {
    /// The program and its arguments.
    pub command: Template,
    /// How processes are started.
    pub launch: Launch,
    /// Their environment variables.
    pub environment: Environment,
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
    /// Where log lines go.
    pub log_sink: LogSink,
}

/// Runs jobs in resident processes. They are ended when the last clone is dropped.
#[derive(Clone)]
pub struct Resident(Arc<Owner>);

struct Owner(Arc<Shared>);

struct Shared {
    options: ResidentOptions,
    spawner: Spawner,
    pool: Pool,
    crashes: Crashes,
    /// Cancelled when no new jobs may be assigned.
    draining: CancellationToken,
    /// Cancelled when all processes must end.
    closing: CancellationToken,
    /// How many supervisors are running.
    supervised: watch::Sender<usize>,
}

impl Resident {
    /// Starts the processes. Must be called in the Tokio runtime that runs the jobs.
    pub fn start(options: ResidentOptions) -> Result<Self> {
        let processes = options.processes;
        let shared = Arc::new(Shared {
            spawner: Spawner::start()?,
            pool: Pool::new(processes),
            crashes: Crashes::default(),
            draining: CancellationToken::new(),
            closing: CancellationToken::new(),
            supervised: watch::Sender::new(processes),
            options,
        });
        for slot in 0..processes {
            tokio::spawn(supervise::supervise(Arc::clone(&shared), slot));
        }
        Ok(Self(Arc::new(Owner(shared))))
    }

    /// Announces to the processes that no more jobs follow, and by when the running ones must end.
    pub fn drain(&self, grace: Duration) {
        let shared = &self.0.0;
        let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
        let deadline = timestamp::format(now.plus(grace));
        shared.draining.cancel();
        shared.pool.send_all(&line(&Drain { deadline }));
    }

    /// Ends the processes and waits until they have exited.
    pub async fn close(&self) {
        let shared = &self.0.0;
        shared.closing.cancel();
        let mut supervised = shared.supervised.subscribe();
        // Cannot fail: `self` holds the sender.
        let _ = supervised.wait_for(|supervised| *supervised == 0).await;
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.closing.cancel();
    }
}

impl Handle for Resident {
    fn handle(&self, context: AttemptContext) -> AttemptFuture {
        let shared = Arc::clone(&self.0.0);
        Box::pin(async move { shared.run(&context).await })
    }
}

impl Shared {
    async fn run(&self, context: &AttemptContext) -> Outcome {
        let log = Arc::new(JobLog::new(
            context.clone(),
            Arc::clone(&self.options.log_sink),
        ));
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
        let job = JobLine::new(Some("job"), context).to_line();
        loop {
            if self.draining.is_cancelled() || self.closing.is_cancelled() {
                return None;
            }
            if let Some(assignment) = waiting.take(context, log, &job) {
                return Some(assignment);
            }
            tokio::select! {
                changed = timeout_at(release_at, waiting.changed()) => changed.ok()?,
                _ = context.stopped() => return None,
                () = self.draining.cancelled() => return None,
                () = self.closing.cancelled() => return None,
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
        f.debug_struct("Resident")
            .field("command", &self.0.0.options.command)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ResidentOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResidentOptions")
            .field("command", &self.command)
            .field("processes", &self.processes)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
