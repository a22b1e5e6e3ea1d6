//! When bytes last moved on a connection, so that a slow call can be distinguished from a dead one.
//!
//! Bytes that are read count. Bytes that are written count only if the socket was full before: the
//! kernel accepts bytes for a server that no longer reads until its buffers are full.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// How many times its timeout a call may take while bytes move, so that a server that sends a byte now
/// and then cannot hold it forever.
const LIMIT: u32 = 10;

/// When bytes last moved.
#[derive(Debug)]
pub struct LinkProgress {
    started: Instant,
    /// Milliseconds after `started`.
    moved: AtomicU64,
    /// Moves with this one: the progress of all connections of a link.
    all: Option<Arc<LinkProgress>>,
}

impl LinkProgress {
    /// Moves together with `all`, the progress of all connections of a link.
    pub fn new(all: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            moved: AtomicU64::new(0),
            all,
        })
    }

    /// Waits for `work` until `until`, or longer while bytes move. Returns `None` if it is given up.
    pub async fn wait<T>(&self, until: Instant, work: impl Future<Output = T>) -> Option<T> {
        self.wait_until(&mut CallDeadline::new(until), work).await
    }

    pub(super) async fn wait_until<T>(
        &self,
        deadline: &mut CallDeadline,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        loop {
            if let Ok(done) = timeout_at(deadline.until, work.as_mut()).await {
                return Some(done);
            }
            if deadline.is_over(Instant::now(), self.moved_at()) {
                return None;
            }
        }
    }

    pub(super) fn moved_at(&self) -> Instant {
        self.started + Duration::from_millis(self.moved.load(Ordering::Relaxed))
    }

    pub(super) fn record(&self) {
        let elapsed = u64::try_from(self.started.elapsed().as_millis());
        self.moved
            .store(elapsed.unwrap_or(u64::MAX), Ordering::Relaxed);
        if let Some(all) = &self.all {
            all.record();
        }
    }
}

/// When a call is given up: at its deadline, or later while bytes move: when none has moved for as long, and
/// at the latest after [`LIMIT`] times as long.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallDeadline {
    pub(super) until: Instant,
    patience: Duration,
    limit: Instant,
}

impl CallDeadline {
    /// The deadline of a call that starts now.
    pub(super) fn new(until: Instant) -> Self {
        let started = Instant::now();
        let patience = until.saturating_duration_since(started);
        let limit = started.checked_add(patience.saturating_mul(LIMIT));
        Self {
            until,
            patience,
            limit: limit.unwrap_or(until),
        }
    }

    /// Whether the call is given up now, if bytes last moved at `moved`.
    pub(super) fn is_over(&mut self, now: Instant, moved: Instant) -> bool {
        if self.until <= now {
            self.until = (moved + self.patience).min(self.limit);
        }
        self.until <= now
    }
}
