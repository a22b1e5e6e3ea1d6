//! Measures calls: keeps the longest; a call beyond the limit is a violation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::event_log::EventLog;

/// Durations of the calls of some actors; clones share them.
#[derive(Debug, Clone, Default)]
pub struct CallTimes {
    /// How long a call may take.
    pub limit: Option<Duration>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    calls: AtomicU64,
    longest_us: AtomicU64,
}

impl CallTimes {
    /// Calls may take up to `limit`.
    pub fn within(limit: Duration) -> Self {
        Self {
            limit: Some(limit),
            ..Self::default()
        }
    }

    /// The number of finished calls.
    pub fn count(&self) -> u64 {
        self.shared.calls.load(Ordering::Relaxed)
    }

    /// The longest call so far.
    pub fn longest(&self) -> Duration {
        Duration::from_micros(self.shared.longest_us.load(Ordering::Relaxed))
    }

    /// Resets the longest call.
    pub fn reset(&self) {
        self.shared.longest_us.store(0, Ordering::Relaxed);
    }

    /// Makes and measures a call.
    pub(super) async fn measured<T>(&self, events: &EventLog, call: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let reply = self.bounded(events, Duration::ZERO, call).await;
        let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.shared.calls.fetch_add(1, Ordering::Relaxed);
        self.shared.longest_us.fetch_max(took_us, Ordering::Relaxed);
        reply
    }

    /// Makes a call that may additionally take `wait`. A call that never ends is reported as soon as
    /// its time is over.
    pub(super) async fn bounded<T>(
        &self,
        events: &EventLog,
        wait: Duration,
        call: impl Future<Output = T>,
    ) -> T {
        let Some(limit) = self.limit else {
            return call.await;
        };
        let mut call = std::pin::pin!(call);
        if let Ok(reply) = tokio::time::timeout(limit + wait, call.as_mut()).await {
            return reply;
        }
        events.violation(format!("a call timed out after {limit:?}"));
        call.await
    }
}
