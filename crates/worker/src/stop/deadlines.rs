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
    entries: Mutex<BTreeMap<DeadlineKey, Deadline>>,
    count: AtomicU64,
    earlier: Notify,
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
        let is_first = entries
            .first_key_value()
            .is_none_or(|(first, _)| key < *first);
        entries.insert(key, entry);
        drop(entries);
        if is_first {
            self.earlier.notify_one();
        }
        key
    }

    pub(crate) fn remove(&self, key: DeadlineKey) {
        lock(&self.entries).remove(&key);
    }

    /// Waits for the next deadline.
    pub(crate) async fn next(&self) -> Deadline {
        loop {
            let wait = {
                let mut entries = lock(&self.entries);
                let now = Instant::now();
                match entries.first_entry() {
                    Some(first) if first.key().0 <= now => return first.remove(),
                    first => first.map_or(Duration::MAX, |first| first.key().0 - now),
                }
            };
            let _ = timeout(wait, self.earlier.notified()).await;
        }
    }
}
