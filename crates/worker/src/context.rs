//! What a handler can see and do besides reading its payload.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;
use windlass_core::store::{ClaimedJob, Fraction, GroupName, LeaseStatus};
use windlass_core::{Enqueued, NewJob, QueueName, Result, Store, Token};

use crate::boot_time::BootTime;
use crate::run::attempt::{Attempt, LocalExpiry, Origin};
use crate::stop::StopReason;

/// The trace headers that a job passes on to the jobs it enqueues.
pub const TRACE_HEADERS: [&str; 2] = ["traceparent", "tracestate"];

/// The attempt that a handler is running. Cheap to clone.
#[derive(Clone)]
pub struct AttemptContext(pub(crate) Arc<Attempt>);

impl AttemptContext {
    /// Creates a context outside of a worker, for tests. Its lease never expires locally.
    pub fn detached(
        store: Arc<dyn Store>,
        queue: QueueName,
        job: ClaimedJob,
        token: Token,
    ) -> Self {
        let origin = Arc::new(Origin::new(store, queue));
        let expiry = Arc::new(LocalExpiry::at(BootTime::NEVER));
        let attempt = Attempt::new(origin, job, (token, 0), expiry, None);
        attempt.start();
        Self(Arc::new(attempt))
    }

    /// Returns the job's queue.
    pub fn queue(&self) -> &QueueName {
        &self.0.origin.queue
    }

    /// Returns the job as it was claimed: id, kind, payload, headers, limits.
    pub fn job(&self) -> &ClaimedJob {
        &self.0.job
    }

    /// Returns the job's group.
    pub fn group(&self) -> Option<&GroupName> {
        self.0.job.group.as_ref()
    }

    /// Returns the number of this attempt, starting at 1.
    pub fn attempt(&self) -> u32 {
        self.0.job.attempt
    }

    /// Returns true if the retry policy allows no further attempt.
    pub fn is_last_attempt(&self) -> bool {
        self.0.job.attempt >= self.0.job.retry.max_attempts
    }

    /// Returns the token of the claim. Its number grows with every claim of the queue: pass it to
    /// external systems as a fencing token, so that they can reject writes of stale attempts.
    pub fn token(&self) -> Token {
        self.0.token
    }

    /// Returns the store the job came from.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.origin.store
    }

    /// Returns whether this attempt still holds the lease. `false` is final; `true` may be outdated
    /// by the time it is used, so external effects should carry the [token](Self::token).
    pub fn lease_valid(&self) -> bool {
        self.0.is_valid()
    }

    /// Returns when this attempt times out.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    /// Returns a token that is cancelled when the attempt should stop. A handler that has called this
    /// gets time to return; any other handler is dropped at its next `await`.
    pub fn cancellation(&self) -> CancellationToken {
        self.0.stop_token().clone()
    }

    /// Waits until the attempt should stop, and returns why.
    pub async fn stopped(&self) -> StopReason {
        self.0.stop_token().cancelled().await;
        self.0.stop_reason().unwrap_or(StopReason::Cancelled)
    }

    /// Returns why the attempt should stop, or `None` while it may continue.
    pub fn stop_reason(&self) -> Option<StopReason> {
        // Creates the token: a handler that polls the reason counts as watching for cancellation.
        self.0.stop_token();
        self.0.stop_reason()
    }

    /// Publishes the attempt's progress: a fraction from 0 to 1 and an optional message.
    pub async fn progress(&self, fraction: f64, message: Option<&str>) -> Result<LeaseStatus> {
        let Origin { store, queue, .. } = &*self.0.origin;
        let message = message.map(str::to_owned);
        store
            .progress(queue, self.0.lease(), Fraction::new(fraction)?, message)
            .await
    }

    /// Logs a line to `tracing`. If the attempt fails, its last lines are stored with the error.
    pub fn log(&self, line: &str) {
        tracing::info!(target: "windlass::job", queue = %self.queue(), id = %self.job().id, "{line}");
        self.0.log(line);
    }

    /// Returns the last line that was logged and is not empty.
    pub fn last_line(&self) -> Option<String> {
        let lines = self.0.last_lines();
        lines.lines().next_back().map(|line| line.trim().to_owned())
    }

    /// Sets the trace of this attempt as `traceparent` (W3C Trace Context), for code that records a span
    /// of it. Programs that the attempt starts and jobs that it enqueues inherit it (default: the trace
    /// of the job). Only the first call counts.
    pub fn set_traceparent(&self, traceparent: String) {
        let _ = self.0.traceparent.set(traceparent);
    }

    /// Returns one of [`TRACE_HEADERS`], of this attempt or else of its job.
    pub fn trace_header(&self, name: &str) -> Option<&str> {
        let own = self.0.traceparent.get();
        match own.filter(|_| name == TRACE_HEADERS[0]) {
            Some(own) => Some(own),
            None => self.job().headers.get(name),
        }
    }

    /// Sets the trace headers of this attempt on a follow-up job that has none.
    pub fn pass_trace_to(&self, job: &mut NewJob) -> Result<()> {
        for name in TRACE_HEADERS {
            if let (None, Some(value)) = (job.headers.get(name), self.trace_header(name)) {
                job.headers.set(name, value)?;
            }
        }
        Ok(())
    }

    /// Enqueues a follow-up job that inherits the trace of this attempt.
    pub async fn enqueue_raw(&self, queue: &QueueName, mut job: NewJob) -> Result<Enqueued> {
        self.pass_trace_to(&mut job)?;
        let replies = self.store().enqueue(queue, vec![job]).await?;
        replies.into_iter().next().ok_or_else(no_reply)
    }
}

fn no_reply() -> windlass_core::Error {
    windlass_core::Error::new(
        windlass_core::ErrorKind::Internal,
        "expected 1 reply from the store, got 0",
        "this is a bug in Windlass; report it",
    )
}

impl fmt::Debug for AttemptContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptContext")
            .field("queue", self.queue())
            .field("id", &self.job().id)
            .field("attempt", &self.attempt())
            .field("token", &self.token())
            .finish_non_exhaustive()
    }
}
