//! One attempt of a job. The first caller to end it decides the outcome.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use windlass_core::store::ClaimedJob;
use windlass_core::{JobLease, QueueName, Store, Token};

use crate::boot_time::BootTime;
use crate::lock::lock;
use crate::metrics::{KindMetrics, KindsLeft, QueueMetrics};
use crate::stop::StopReason;

/// The most bytes of log lines kept for the error of a failed attempt.
const LAST_LINES_BYTES_MAX: usize = 2 * 1024;

/// Where a job came from.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queue: QueueName,
    pub(crate) metrics: QueueMetrics,
}

impl Origin {
    /// A queue outside of a worker.
    pub(crate) fn new(store: Arc<dyn Store>, queue: QueueName) -> Self {
        let metrics = QueueMetrics::new(0, queue.as_str(), KindsLeft::default());
        Self {
            store,
            queue,
            metrics,
        }
    }
}

/// When a lease expires for this worker: some time before it expires in the store.
#[derive(Debug)]
pub(crate) struct LocalExpiry(Mutex<BootTime>);

impl LocalExpiry {
    pub(crate) fn at(time: BootTime) -> Self {
        Self(Mutex::new(time))
    }

    pub(crate) fn time(&self) -> BootTime {
        *lock(&self.0)
    }

    /// Extends the expiry; never shortens it, since replies may arrive out of order.
    pub(crate) fn extend_to(&self, time: BootTime) {
        let mut expiry = lock(&self.0);
        *expiry = time.max(*expiry);
    }
}

/// One attempt.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) origin: Arc<Origin>,
    pub(crate) job: ClaimedJob,
    pub(crate) token: Token,
    /// Its position in the claim.
    pub(crate) index: usize,
    pub(crate) expiry: Arc<LocalExpiry>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) metrics: Arc<KindMetrics>,
    is_ended: AtomicBool,
    stop_reason: Mutex<Option<StopReason>>,
    /// Created when the handler first asks for it; without it the handler cannot stop cooperatively.
    stop: OnceLock<CancellationToken>,
    started: OnceLock<Instant>,
    /// Only set if the end of every job is logged.
    ended: OnceLock<Instant>,
    last_lines: Mutex<String>,
    pub(crate) traceparent: OnceLock<String>,
    abort: OnceLock<AbortHandle>,
}

impl Attempt {
    pub(crate) fn new(
        origin: Arc<Origin>,
        job: ClaimedJob,
        (token, index): (Token, usize),
        expiry: Arc<LocalExpiry>,
        timeout: Option<Duration>,
    ) -> Self {
        let timeout = job.timeout.or(timeout);
        Self {
            metrics: origin.metrics.of_kind(job.kind.as_ref()),
            origin,
            job,
            token,
            index,
            expiry,
            timeout,
            is_ended: AtomicBool::new(false),
            stop_reason: Mutex::default(),
            stop: OnceLock::new(),
            started: OnceLock::new(),
            ended: OnceLock::new(),
            last_lines: Mutex::default(),
            traceparent: OnceLock::new(),
            abort: OnceLock::new(),
        }
    }

    pub(crate) fn lease(&self) -> JobLease {
        JobLease::new(self.job.id.clone(), self.token)
    }

    /// Records that the handler starts.
    pub(crate) fn start(&self) {
        self.started.get_or_init(Instant::now);
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.started.get()?.checked_add(self.timeout?)
    }

    /// Sets the handle that aborts the handler's task.
    pub(crate) fn set_abort(&self, abort: AbortHandle) {
        let _ = self.abort.set(abort);
    }

    /// Drops the handler at its next `await`; one that blocks its thread runs until it returns.
    pub(crate) fn abort(&self) {
        if let Some(abort) = self.abort.get() {
            abort.abort();
        }
    }

    /// Ends the attempt. Returns true for the first caller, which decides the outcome.
    pub(crate) fn end(&self) -> bool {
        if tracing::enabled!(target: "windlass", tracing::Level::DEBUG) {
            self.ended.get_or_init(Instant::now);
        }
        !self.is_ended.swap(true, Ordering::AcqRel)
    }

    /// Returns how long the handler ran, if that is logged.
    pub(crate) fn took(&self) -> Option<Duration> {
        Some(self.ended.get()?.duration_since(*self.started.get()?))
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    pub(crate) fn is_valid(&self) -> bool {
        !self.is_ended() && BootTime::now() < self.expiry.time()
    }

    /// Whether the handler watches for cancellation.
    pub(crate) fn watches_cancellation(&self) -> bool {
        self.stop.get().is_some()
    }

    /// Asks the handler to stop. The first reason counts, unless the lease is lost: then the outcome will
    /// not be stored. Returns true if the handler watches for cancellation.
    pub(crate) fn ask_to_stop(&self, why: StopReason) -> bool {
        let mut reason = lock(&self.stop_reason);
        if reason.is_none() || why == StopReason::LeaseLost {
            *reason = Some(why);
        }
        drop(reason);
        let stop = self.stop.get();
        stop.inspect(|stop| stop.cancel()).is_some()
    }

    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        *lock(&self.stop_reason)
    }

    pub(crate) fn stop_token(&self) -> &CancellationToken {
        let stop = self.stop.get_or_init(CancellationToken::new);
        // The stop may have been requested before the token was created.
        if self.stop_reason().is_some() {
            stop.cancel();
        }
        stop
    }

    pub(crate) fn log(&self, line: &str) {
        let mut last_lines = lock(&self.last_lines);
        last_lines.push_str(line);
        last_lines.push('\n');
        if last_lines.len() > 2 * LAST_LINES_BYTES_MAX {
            let cut = last_lines.ceil_char_boundary(last_lines.len() - LAST_LINES_BYTES_MAX);
            last_lines.drain(..cut);
        }
    }

    /// Returns the last lines that the handler logged.
    pub(crate) fn last_lines(&self) -> String {
        let last_lines = lock(&self.last_lines);
        let cut =
            last_lines.ceil_char_boundary(last_lines.len().saturating_sub(LAST_LINES_BYTES_MAX));
        last_lines[cut..].trim_end().to_owned()
    }
}
