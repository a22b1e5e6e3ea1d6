//! One attempt of one job, as the worker holds it: whoever ends it first decides how.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use windlass_core::{ClaimedJob, JobLease, QueueName, Store, Token};

use crate::boottime::BootTime;
use crate::stop::StopReason;

/// The most bytes of log lines that are kept for the error of a failed attempt.
const TAIL_BYTES_MAX: usize = 2 * 1024;

/// Where a job came from.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queue: QueueName,
}

/// When this worker stops trusting a lease: before the store does.
#[derive(Debug)]
pub(crate) struct Fence(AtomicU64);

impl Fence {
    pub(crate) fn at(time: BootTime) -> Self {
        Self(AtomicU64::new(time.as_us()))
    }

    pub(crate) fn time(&self) -> BootTime {
        BootTime::from_us(self.0.load(Ordering::Acquire))
    }

    /// Moves the fence; never back, since answers may overtake each other.
    pub(crate) fn move_to(&self, time: BootTime) {
        self.0.fetch_max(time.as_us(), Ordering::AcqRel);
    }
}

/// One attempt.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) origin: Arc<Origin>,
    pub(crate) job: ClaimedJob,
    pub(crate) token: Token,
    /// Its place in the claim.
    pub(crate) index: usize,
    pub(crate) fence: Arc<Fence>,
    pub(crate) timeout: Option<Duration>,
    is_ended: AtomicBool,
    why: AtomicU8,
    /// Made when the handler first asks: who never asks cannot stop by itself.
    stop: OnceLock<CancellationToken>,
    started: OnceLock<Instant>,
    tail: Mutex<String>,
    abort: OnceLock<AbortHandle>,
}

impl Run {
    pub(crate) fn new(
        origin: Arc<Origin>,
        job: ClaimedJob,
        (token, index): (Token, usize),
        fence: Arc<Fence>,
        timeout: Option<Duration>,
    ) -> Self {
        let timeout = job.timeout.or(timeout);
        Self {
            origin,
            job,
            token,
            index,
            fence,
            timeout,
            is_ended: AtomicBool::new(false),
            why: AtomicU8::new(0),
            stop: OnceLock::new(),
            started: OnceLock::new(),
            tail: Mutex::default(),
            abort: OnceLock::new(),
        }
    }

    pub(crate) fn hold(&self) -> JobLease {
        JobLease::new(self.job.id.clone(), self.token)
    }

    /// The handler begins.
    pub(crate) fn start(&self) {
        self.started.get_or_init(Instant::now);
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.started.get()?.checked_add(self.timeout?)
    }

    /// How the handler's task can be dropped.
    pub(crate) fn set_abort(&self, abort: AbortHandle) {
        let _ = self.abort.set(abort);
    }

    /// Drops the handler at its next await; one that blocks its thread goes on until it returns.
    pub(crate) fn abort(&self) {
        if let Some(abort) = self.abort.get() {
            abort.abort();
        }
    }

    /// Ends the attempt; true for the one caller who may say how.
    pub(crate) fn end(&self) -> bool {
        !self.is_ended.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    pub(crate) fn is_valid(&self) -> bool {
        !self.is_ended() && BootTime::now() < self.fence.time()
    }

    /// Whether the handler can stop by itself when it is asked.
    pub(crate) fn listens(&self) -> bool {
        self.stop.get().is_some()
    }

    /// Asks the handler to stop, the first reason counts; true when it listens.
    pub(crate) fn ask_to_stop(&self, why: StopReason) -> bool {
        let first = self
            .why
            .compare_exchange(0, why as u8, Ordering::AcqRel, Ordering::Acquire);
        if first.is_err() && why == StopReason::LeaseLost {
            // Nothing will be written any more, whatever was asked before.
            self.why.store(why as u8, Ordering::Release);
        }
        match self.stop.get() {
            Some(stop) => {
                stop.cancel();
                true
            }
            None => false,
        }
    }

    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        StopReason::from_number(self.why.load(Ordering::Acquire))
    }

    pub(crate) fn stop_token(&self) -> &CancellationToken {
        let stop = self.stop.get_or_init(CancellationToken::new);
        // It may have been asked before it listened.
        if self.stop_reason().is_some() {
            stop.cancel();
        }
        stop
    }

    pub(crate) fn log(&self, line: &str) {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.push_str(line);
        tail.push('\n');
        if tail.len() > 2 * TAIL_BYTES_MAX {
            let cut = tail.ceil_char_boundary(tail.len() - TAIL_BYTES_MAX);
            tail.drain(..cut);
        }
    }

    /// The last lines the handler logged.
    pub(crate) fn tail(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let cut = tail.ceil_char_boundary(tail.len().saturating_sub(TAIL_BYTES_MAX));
        tail[cut..].trim_end().to_owned()
    }
}
