//! How long calls take: the longest is remembered, one beyond the bound is a fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::voice::Voice;

/// What is known of the calls of some actors; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    /// How long a call may take.
    pub bound: Option<Duration>,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    calls: AtomicU64,
    longest_us: AtomicU64,
}

impl Calls {
    /// Calls that may take so long.
    pub fn within(bound: Duration) -> Self {
        Self {
            bound: Some(bound),
            ..Self::default()
        }
    }

    /// How many calls ended.
    pub fn count(&self) -> u64 {
        self.seen.calls.load(Ordering::Relaxed)
    }

    /// The longest call so far.
    pub fn longest(&self) -> Duration {
        Duration::from_micros(self.seen.longest_us.load(Ordering::Relaxed))
    }

    /// The longest call from now on.
    pub fn forget(&self) {
        self.seen.longest_us.store(0, Ordering::Relaxed);
    }

    /// Makes a call.
    pub(super) async fn measured<T>(&self, voice: &Voice, call: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let answer = self.bounded(voice, Duration::ZERO, call).await;
        let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.seen.calls.fetch_add(1, Ordering::Relaxed);
        self.seen.longest_us.fetch_max(took_us, Ordering::Relaxed);
        answer
    }

    /// Makes a call that may take longer by `wait`. One that does not end at all is found out as
    /// well: it is a fault as soon as its time is over.
    pub(super) async fn bounded<T>(
        &self,
        voice: &Voice,
        wait: Duration,
        call: impl Future<Output = T>,
    ) -> T {
        let Some(bound) = self.bound else {
            return call.await;
        };
        let mut call = std::pin::pin!(call);
        if let Ok(answer) = tokio::time::timeout(bound + wait, call.as_mut()).await {
            return answer;
        }
        voice.fault(format!("a call did not answer within {bound:?}"));
        call.await
    }
}
