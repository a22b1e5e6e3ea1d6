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

    /// Waits for `work` until `until`, or longer while bytes move: until none has moved for as long, and
    /// at most ten times as long. Returns `None` if it is given up.
    pub async fn wait<T>(&self, until: Instant, work: impl Future<Output = T>) -> Option<T> {
        let started = Instant::now();
        let patience = until.saturating_duration_since(started);
        let limit = started.checked_add(patience.saturating_mul(LIMIT));
        let mut work = pin!(work);
        let mut until = until;
        loop {
            if let Ok(done) = timeout_at(until, work.as_mut()).await {
                return Some(done);
            }
            let next = self.moved_at() + patience;
            until = limit.map_or(next, |limit| next.min(limit));
            if until <= Instant::now() {
                return None;
            }
        }
    }

    fn moved_at(&self) -> Instant {
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
