//! Outages of a store: the first caller that fails begins one, the last that recovers ends it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use windlass_core::{Error, Result};

use crate::events;
use crate::lock::lock;
use crate::metrics::count_store_error;

/// Logs when the store of a process cannot be used any more, and when it can be used again: once each,
/// however many callers notice it and however often they retry.
#[derive(Debug, Default)]
pub struct Outage {
    store: Option<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many callers failed at their latest call.
    failing: usize,
    since: Option<Instant>,
}

impl Outage {
    /// Creates the state of a store, which is named in log lines: its URL without secrets.
    pub fn new(store: impl Into<String>) -> Arc<Self> {
        Arc::new(Self {
            store: Some(store.into()),
            state: Mutex::default(),
        })
    }

    /// Returns the name of the store, if it has one.
    pub fn store(&self) -> Option<&str> {
        self.store.as_deref()
    }

    /// Adds a caller of the store.
    pub fn caller(self: &Arc<Self>) -> StoreCaller {
        StoreCaller {
            outage: Arc::clone(self),
            is_failing: false,
        }
    }
}

/// One caller of a store, such as a loop that retries. Costs nothing while its calls succeed.
#[derive(Debug)]
pub struct StoreCaller {
    outage: Arc<Outage>,
    is_failing: bool,
}

impl StoreCaller {
    /// Returns whether the latest call failed.
    pub fn is_failing(&self) -> bool {
        self.is_failing
    }

    /// Records the result of a call.
    pub fn record<T>(&mut self, result: &Result<T>) {
        match result {
            Ok(_) => self.succeeded(),
            Err(error) => self.failed(error),
        }
    }

    /// Records that a call failed and will be retried.
    pub fn failed(&mut self, error: &Error) {
        count_store_error(error);
        if std::mem::replace(&mut self.is_failing, true) {
            return;
        }
        let mut state = lock(&self.outage.state);
        state.failing += 1;
        if state.since.is_none() {
            state.since = Some(Instant::now());
            // Logged under the lock, so that the end cannot be logged first.
            events::store_lost(self.outage.store(), error);
        }
    }

    /// Records that a call succeeded.
    pub fn succeeded(&mut self) {
        if let Some(away) = self.recovered() {
            events::store_back(self.outage.store(), away);
        }
    }

    /// Records that a failed call is not retried. Whether the store is back is not known.
    pub fn give_up(&mut self) {
        self.recovered();
    }

    /// Returns how long the outage took if this was the last failing caller.
    fn recovered(&mut self) -> Option<Duration> {
        if !std::mem::take(&mut self.is_failing) {
            return None;
        }
        let mut state = lock(&self.outage.state);
        state.failing -= 1;
        let since = if state.failing == 0 {
            state.since.take()
        } else {
            None
        };
        since.map(|since| since.elapsed())
    }
}

impl Drop for StoreCaller {
    fn drop(&mut self) {
        self.give_up();
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use windlass_core::ErrorKind;

    use super::*;

    /// Collects what a subscriber writes.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            lock(&self.0).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the log of `work`.
    fn logged(work: impl FnOnce(&Arc<Outage>)) -> Vec<String> {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .without_time()
            .finish();
        tracing::subscriber::with_default(subscriber, || work(&Outage::new("redis://box")));
        let text = String::from_utf8_lossy(&lock(&written.0)).into_owned();
        text.lines().map(|line| line.trim().to_owned()).collect()
    }

    fn error() -> Error {
        Error::new(
            ErrorKind::StoreUnreachable,
            "no server is listening",
            "start it",
        )
    }

    #[test]
    fn an_outage_is_logged_once_however_many_callers_retry() {
        let lines = logged(|outage| {
            let (mut claims, mut heartbeats) = (outage.caller(), outage.caller());
            claims.succeeded();
            for _ in 0..3 {
                claims.failed(&error());
                heartbeats.failed(&error());
            }
            claims.succeeded();
            // The part of the store that heartbeats use is still away.
            claims.failed(&error());
            claims.succeeded();
            heartbeats.succeeded();
            claims.succeeded();
        });

        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(
            lines[0],
            "WARN windlass: cannot reach the store, retrying store=\"redis://box\" \
             code=\"store_unreachable\" help=\"start it\" error=no server is listening"
        );
        let back = "INFO windlass: the store is back store=\"redis://box\" away_ms=";
        assert!(lines[1].starts_with(back), "{lines:?}");
    }

    #[test]
    fn the_next_outage_is_logged_too() {
        let lines = logged(|outage| {
            let mut caller = outage.caller();
            for _ in 0..3 {
                caller.record(&Err::<(), _>(error()));
                caller.record(&Ok(()));
            }
        });

        assert_eq!(lines.len(), 6, "{lines:?}");
    }

    #[test]
    fn a_caller_that_gives_up_does_not_keep_an_outage_open() {
        let lines = logged(|outage| {
            let (mut claims, mut outcome) = (outage.caller(), outage.caller());
            claims.failed(&error());
            outcome.failed(&error());
            drop(outcome);
            claims.succeeded();
        });

        assert_eq!(lines.len(), 2, "{lines:?}");
    }
}
