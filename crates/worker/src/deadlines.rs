//! What has to happen to a running job at a given time: it is asked to stop, or made to.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use tokio::sync::Notify;

use crate::lane::Lane;
use crate::run::Run;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The attempt has taken too long: ask it to stop.
    TimeOut,
    /// It was asked and had its time: end it.
    Force,
}

/// The name of an entry.
pub(crate) type Key = (Instant, u64);

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) step: Step,
    pub(crate) lane: Arc<Lane>,
    pub(crate) run: Weak<Run>,
}

/// All that is to be done, the earliest first.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    entries: Mutex<BTreeMap<Key, Entry>>,
    count: AtomicU64,
    sooner: Notify,
}

impl Deadlines {
    pub(crate) fn add(&self, at: Instant, step: Step, lane: &Arc<Lane>, run: &Arc<Run>) -> Key {
        let key = (at, self.count.fetch_add(1, Ordering::Relaxed));
        let entry = Entry {
            step,
            lane: Arc::clone(lane),
            run: Arc::downgrade(run),
        };
        let mut entries = self.lock();
        let is_first = entries
            .first_key_value()
            .is_none_or(|(first, _)| key < *first);
        entries.insert(key, entry);
        drop(entries);
        if is_first {
            self.sooner.notify_one();
        }
        key
    }

    pub(crate) fn remove(&self, key: Key) {
        self.lock().remove(&key);
    }

    /// Waits for the next entry that is due.
    pub(crate) async fn next(&self) -> Entry {
        loop {
            let wait = {
                let mut entries = self.lock();
                let now = Instant::now();
                match entries.first_entry() {
                    Some(first) if first.key().0 <= now => return first.remove(),
                    first => first.map(|first| first.key().0 - now),
                }
            };
            let nap = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = nap => {}
                () = self.sooner.notified() => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
