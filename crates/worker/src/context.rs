//! What a handler knows and can do besides its payload.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;
use windlass_core::{ClaimedJob, Enqueued, LeaseStatus, NewJob, QueueName, Result, Store, Token};

use crate::boottime::BootTime;
use crate::run::{Fence, Origin, Run};
use crate::stop::StopReason;

/// The headers that carry a trace from the job that enqueues to the job that is enqueued.
pub const TRACE_HEADERS: [&str; 2] = ["traceparent", "tracestate"];

/// One attempt as its handler sees it. Cheap to clone.
#[derive(Clone)]
pub struct Context(pub(crate) Arc<Run>);

impl Context {
    /// The context of a job that no worker holds, for tests: its lease never ends by itself.
    pub fn detached(
        store: Arc<dyn Store>,
        queue: QueueName,
        job: ClaimedJob,
        token: Token,
    ) -> Self {
        let origin = Arc::new(Origin { store, queue });
        let fence = Arc::new(Fence::at(BootTime::NEVER));
        let run = Run::new(origin, job, (token, 0), fence, None);
        run.start();
        Self(Arc::new(run))
    }

    /// The queue the job came from.
    pub fn queue(&self) -> &QueueName {
        &self.0.origin.queue
    }

    /// The job as it was claimed: id, kind, payload, headers, limits.
    pub fn job(&self) -> &ClaimedJob {
        &self.0.job
    }

    /// Which attempt this is, counted from 1.
    pub fn attempt(&self) -> u32 {
        self.0.job.attempt
    }

    /// Whether a failure of this attempt is the last.
    pub fn is_last_attempt(&self) -> bool {
        self.0.job.attempt >= self.0.job.retry.max_attempts
    }

    /// The token of the claim. Its number grows with every claim of the queue: show it to outside
    /// systems as a fencing token, and they can refuse whoever comes late.
    pub fn token(&self) -> Token {
        self.0.token
    }

    /// The store the job came from.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.origin.store
    }

    /// Whether the job is still this attempt's. False is certain; true may be overtaken by the time
    /// it is read, so outside effects should show the [token](Self::token).
    pub fn lease_valid(&self) -> bool {
        self.0.is_valid()
    }

    /// When this attempt is asked to stop because it took too long.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    /// Fires when the attempt should stop. A handler that has asked for it gets time to stop by
    /// itself; one that never asked is dropped at its next await.
    pub fn cancellation(&self) -> CancellationToken {
        self.0.stop_token().clone()
    }

    /// Waits until the attempt should stop, and says why.
    pub async fn stopped(&self) -> StopReason {
        self.0.stop_token().cancelled().await;
        self.0.stop_reason().unwrap_or(StopReason::Cancelled)
    }

    /// Why the attempt should stop; nothing while it may go on.
    pub fn stop_reason(&self) -> Option<StopReason> {
        // Whoever looks is trusted to look again.
        self.0.stop_token();
        self.0.stop_reason()
    }

    /// Tells everybody how far the attempt has come: a fraction from 0 to 1, and what is being done.
    pub async fn progress(&self, fraction: f64, message: Option<&str>) -> Result<LeaseStatus> {
        let Origin { store, queue } = &*self.0.origin;
        let message = message.map(str::to_owned);
        store
            .progress(queue, self.0.hold(), fraction, message)
            .await
    }

    /// Writes a log line. It goes to `tracing`, and the last lines are kept with the error should
    /// the attempt fail.
    pub fn log(&self, line: &str) {
        tracing::info!(target: "windlass::job", queue = %self.queue(), id = %self.job().id, "{line}");
        self.0.log(line);
    }

    /// Enqueues a follow-up job; the trace of this job goes with it.
    pub async fn enqueue_raw(&self, queue: &QueueName, mut job: NewJob) -> Result<Enqueued> {
        for name in TRACE_HEADERS {
            if let (None, Some(value)) = (job.headers.get(name), self.job().headers.get(name)) {
                job.headers.set(name, value)?;
            }
        }
        let answers = self.store().enqueue(queue, vec![job]).await?;
        answers.into_iter().next().ok_or_else(no_answer)
    }
}

fn no_answer() -> windlass_core::Error {
    windlass_core::Error::new(
        windlass_core::ErrorKind::Internal,
        "the store answered nothing about a job",
        "this is a fault of Windlass: report it",
    )
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("queue", self.queue())
            .field("id", &self.job().id)
            .field("attempt", &self.attempt())
            .field("token", &self.token())
            .finish_non_exhaustive()
    }
}
