//! Values that are expensive to read: kept for a while, and read again in the background while somebody asks for
//! them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::{Duration, Instant, timeout};

/// How long a page waits for a value that was never read; live pages get it with the next rendering.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// The most values. When there are more, all are read again.
const VALUES_MAX: usize = 256;

/// Values by key.
pub(crate) struct Cached<T>(Mutex<HashMap<String, Entry<T>>>);

struct Entry<T> {
    value: Option<Arc<T>>,
    /// When the latest read started.
    started: Instant,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> fmt::Debug for Cached<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cached").finish_non_exhaustive()
    }
}

impl<T: Send + Sync + 'static> Cached<T> {
    /// Returns a value, or `None` while it is read for the first time. One older than `valid_for` is read again.
    pub(super) async fn get(
        self: &Arc<Self>,
        key: String,
        valid_for: Duration,
        read: impl Future<Output = T> + Send + 'static,
    ) -> Option<Arc<T>> {
        let (known, is_due) = self.find(&key, valid_for);
        if !is_due {
            return known;
        }
        let all = Arc::clone(self);
        let reading = tokio::spawn(async move {
            let value = Arc::new(read.await);
            let mut entries = all.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(entry) = entries.get_mut(&key) {
                entry.value = Some(Arc::clone(&value));
            }
            value
        });
        match known {
            Some(known) => Some(known),
            None => timeout(FIRST_WAIT, reading).await.ok()?.ok(),
        }
    }

    /// Returns what is known, and whether the caller has to read it again.
    fn find(&self, key: &str, valid_for: Duration) -> (Option<Arc<T>>, bool) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(entry) = entries.get_mut(key) {
            let is_due = now >= entry.started + valid_for;
            if is_due {
                entry.started = now;
            }
            return (entry.value.clone(), is_due);
        }
        if entries.len() >= VALUES_MAX {
            entries.clear();
        }
        let entry = Entry {
            value: None,
            started: now,
        };
        entries.insert(key.to_owned(), entry);
        (None, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_value_is_read_once_and_again_when_it_is_old() {
        let cached: Arc<Cached<u32>> = Arc::default();
        let valid_for = Duration::from_secs(10);
        let get = async |value: u32| {
            let found = cached
                .get("k".to_owned(), valid_for, async move { value })
                .await;
            found.as_deref().copied()
        };
        assert_eq!(get(1).await, Some(1));
        assert_eq!(get(2).await, Some(1), "it is kept");
        tokio::time::advance(valid_for).await;
        assert_eq!(
            get(3).await,
            Some(1),
            "the next one is read in the background"
        );
        tokio::task::yield_now().await;
        assert_eq!(get(4).await, Some(3));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_long_for_the_first_value() {
        let cached: Arc<Cached<u32>> = Arc::default();
        let slow = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            7
        };
        let valid_for = Duration::from_secs(60);
        assert_eq!(cached.get("k".to_owned(), valid_for, slow).await, None);
        tokio::time::sleep(Duration::from_secs(6)).await;
        let known = cached.get("k".to_owned(), valid_for, async { 8 }).await;
        assert_eq!(known.as_deref(), Some(&7));
    }
}
