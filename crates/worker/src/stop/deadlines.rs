//! Timed actions on running attempts: ask one to stop, or end it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use crate::lock::lock;
use crate::queue_state::QueueState;
use crate::run::attempt::Attempt;

/// What to do when a deadline is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeadlineAction {
    /// The attempt timed out: ask it to stop.
    TimeOut,
    /// The attempt was asked to stop and had its time: end it.
    Force,
}

/// The key of a deadline: its time and a sequence number.
pub(crate) type DeadlineKey = (Instant, u64);

#[derive(Debug)]
pub(crate) struct Deadline {
    pub(crate) action: DeadlineAction,
    pub(crate) queue: Arc<QueueState>,
    pub(crate) attempt: Weak<Attempt>,
}

/// All deadlines, earliest first.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    entries: Mutex<Entries>,
    count: AtomicU64,
    earlier: Notify,
}

#[derive(Debug, Default)]
struct Entries {
    by_time: BTreeMap<DeadlineKey, Deadline>,
    /// When [`Deadlines::next`] wakes up by itself, even if the deadline that it waits for is removed.
    wakes_at: Option<Instant>,
}

impl Deadlines {
    pub(crate) fn add(
        &self,
        at: Instant,
        action: DeadlineAction,
        queue: &Arc<QueueState>,
        attempt: &Arc<Attempt>,
    ) -> DeadlineKey {
        let key = (at, self.count.fetch_add(1, Ordering::Relaxed));
        let entry = Deadline {
            action,
            queue: Arc::clone(queue),
            attempt: Arc::downgrade(attempt),
        };
        let mut entries = lock(&self.entries);
        let is_earlier = entries.wakes_at.is_none_or(|wakes_at| at < wakes_at);
        entries.by_time.insert(key, entry);
        drop(entries);
        if is_earlier {
            self.earlier.notify_one();
        }
        key
    }

    pub(crate) fn remove(&self, key: DeadlineKey) {
        lock(&self.entries).by_time.remove(&key);
    }

    /// Waits for the next deadline.
    pub(crate) async fn next(&self) -> Deadline {
        loop {
            let wait = {
                let mut entries = lock(&self.entries);
                let now = Instant::now();
                let first = entries.by_time.first_entry();
                let at = first.as_ref().map(|first| first.key().0);
                if let Some(first) = first.filter(|first| first.key().0 <= now) {
                    return first.remove();
                }
                entries.wakes_at = at;
                at.map_or(Duration::MAX, |at| at - now)
            };
            let _ = timeout(wait, self.earlier.notified()).await;
        }
    }
}
