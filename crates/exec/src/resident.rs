//! Resident processes: each takes job after job and answers, in lines of JSON.

mod crashes;
mod hearing;
mod life;
mod pool;
mod protocol;
mod supervise;
mod writing;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use windlass_api::timestamp;
use windlass_core::{Clock, QueueName, Result, Store, SystemClock, Timestamp};
use windlass_worker::{AttemptFuture, AttemptContext, Handle, Outcome, StopReason};

use crate::environment::Environment;
use crate::guard::Launch;
use crate::job::{JobLine, line};
use crate::log::JobLog;
use crate::progress;
use crate::spawn::Spawner;
use crate::talk::Talk;
use crate::template::Template;

use crashes::Crashes;
use pool::{End, Held, Pool};
use protocol::{Cancel, Drain};

/// How long a process may take to read the next part of a line before it counts as stuck.
pub const WRITE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// How long a job waits here for a process before it goes back: somebody else may have one.
const HOLD_MAX: Duration = Duration::from_secs(60);

/// How jobs are run by resident processes.
#[derive(Clone)]
pub struct ResidentOptions {
    /// The program and its arguments.
    pub command: Template,
    /// How processes are started.
    pub launch: Launch,
    /// What they see of the environment.
    pub environment: Environment,
    /// How many there are.
    pub processes: usize,
    /// How many jobs each has at once.
    pub concurrency: usize,
    /// Whether a line that is none of the protocol's ends the process.
    pub is_strict: bool,
    /// How long a process that was told to end may take before it is killed, and how long a job
    /// that was cancelled may take to end.
    pub kill_after: Duration,
    /// How long a process may take to read before it counts as stuck.
    pub write_timeout: Duration,
    /// Where follow-up jobs go.
    pub store: Arc<dyn Store>,
    /// The queues of the worker, for the processes to know.
    pub queues: Vec<QueueName>,
    /// Where remarks go.
    pub talk: Talk,
}

/// Runs jobs by resident processes. They end with the last clone of this.
#[derive(Clone)]
pub struct Resident(Arc<Owner>);

struct Owner(Arc<Shared>);

struct Shared {
    options: ResidentOptions,
    spawner: Spawner,
    pool: Pool,
    crashes: Crashes,
    /// No new jobs are handed out.
    draining: CancellationToken,
    /// All processes are ended.
    closing: CancellationToken,
    /// How many processes are looked after.
    supervised: watch::Sender<usize>,
}

impl Resident {
    /// Starts the processes; to be called in the runtime that runs the jobs.
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
        for seat in 0..processes {
            tokio::spawn(supervise::supervise(Arc::clone(&shared), seat));
        }
        Ok(Self(Arc::new(Owner(shared))))
    }

    /// Tells the processes that no more jobs come, and until when those under way may end.
    pub fn drain(&self, grace: Duration) {
        let shared = &self.0.0;
        let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
        let deadline = timestamp::format(now.plus(grace));
        shared.draining.cancel();
        shared.pool.tell_all(&line(&Drain { deadline }));
    }

    /// Ends the processes, and waits until they have ended.
    pub async fn close(&self) {
        let shared = &self.0.0;
        shared.closing.cancel();
        let mut supervised = shared.supervised.subscribe();
        // The sender lives as long as this.
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
        let log = Arc::new(JobLog::new(context.clone(), Arc::clone(&self.options.talk)));
        let Some(mut held) = self.hand_out(context, &log).await else {
            // No process has seen it: nothing happened, and no attempt is counted.
            return Outcome::Release;
        };
        let newest = held.progress.clone();
        let (end, stopped) = tokio::select! {
            biased;
            end = &mut held.end => (end.ok(), None),
            why = context.stopped() => (self.stop(context, &mut held, why).await, Some(why)),
            () = progress::tell(context, newest) => (None, None),
        };
        log.finish();
        self.judge(context, end, stopped)
    }

    /// Waits for a process with room; nothing where the job should not begin any more.
    async fn hand_out(&self, context: &AttemptContext, log: &Arc<JobLog>) -> Option<Held<'_>> {
        let give_up_at = Instant::now() + HOLD_MAX;
        let mut wish = self.pool.wish(self.crashes.is_suspect(context));
        let job = JobLine::new(Some("job"), context).to_line();
        loop {
            if self.draining.is_cancelled() || self.closing.is_cancelled() {
                return None;
            }
            if let Some(held) = wish.take(context, log, &job) {
                return Some(held);
            }
            tokio::select! {
                changed = timeout_at(give_up_at, wish.changed()) => changed.ok()?,
                _ = context.stopped() => return None,
                () = self.draining.cancelled() => return None,
                () = self.closing.cancelled() => return None,
            }
        }
    }

    /// Brings a job that should not go on to its end. Whoever gets it next must not meet it: where
    /// that needs the end of its process, that is waited for.
    async fn stop(&self, context: &AttemptContext, held: &mut Held<'_>, why: StopReason) -> Option<End> {
        let reason = match why {
            StopReason::TimedOut => "timeout",
            StopReason::Leaving => "shutdown",
            StopReason::LeaseLost => "lease_lost",
            _ => "user",
        };
        held.tell(line(&Cancel {
            id: context.job().id.as_str(),
            token: context.token().to_string(),
            reason,
        }));
        match why {
            StopReason::Leaving => {
                self.closing.cancel();
                (&mut held.end).await.ok()
            }
            StopReason::LeaseLost => {
                held.give_up();
                None
            }
            _ => {
                if let Ok(end) = timeout(self.options.kill_after, &mut held.end).await {
                    return end.ok();
                }
                if held.give_up() {
                    let _ = (&mut held.end).await;
                }
                None
            }
        }
    }

    fn judge(&self, context: &AttemptContext, end: Option<End>, stopped: Option<StopReason>) -> Outcome {
        match (end, stopped) {
            (Some(End::Answered(outcome)), _) => {
                self.crashes.forget(context);
                outcome
            }
            (Some(End::Unharmed), _) | (_, Some(StopReason::Leaving | StopReason::LeaseLost)) => {
                Outcome::Release
            }
            (Some(End::Crashed { why, was_alone }), _) => {
                if self.crashes.note(context, was_alone) {
                    let why = format!(
                        "poison: the job was there each time its process ended, at last alone: {why}"
                    );
                    return Outcome::permanent(why);
                }
                Outcome::failed(why)
            }
            (None, _) => {
                Outcome::failed("the worker process was told to stop the job and did not answer")
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
