//! Single-flight lookups: concurrent callers share the result of one run.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::BoxFuture;
use crate::error::CallError;

/// Runs a lookup at most once at a time, and remembers whether its result is stale.
#[derive(Default)]
pub(crate) struct SingleFlight {
    latest: Mutex<Option<(Instant, Result<(), CallError>)>>,
    is_stale: AtomicBool,
}

impl SingleFlight {
    /// Runs the lookup, or returns the result of a run that finished while this call waited. If a
    /// caller is cancelled, the next one runs it. After a failure the result is stale.
    pub(crate) async fn run(
        &self,
        lookup: impl Future<Output = Result<(), CallError>>,
    ) -> Result<(), CallError> {
        let called_at = Instant::now();
        let mut latest = self.latest.lock().await;
        if let Some((at, outcome)) = &*latest
            && *at > called_at
        {
            return outcome.clone();
        }
        self.is_stale.store(false, Ordering::Release);
        let outcome = lookup.await;
        if outcome.is_err() {
            self.mark_stale();
        }
        *latest = Some((Instant::now(), outcome.clone()));
        outcome
    }

    /// Like [`Self::run`], until a deadline. `what` is what the lookup does, for the error.
    pub(crate) fn run_until<'a>(
        &'a self,
        until: Instant,
        what: &'a str,
        lookup: impl Future<Output = Result<(), CallError>> + Send + 'a,
    ) -> BoxFuture<'a, Result<(), CallError>> {
        Box::pin(async move {
            timeout_at(until, self.run(lookup))
                .await
                .unwrap_or_else(|_| Err(CallError::no_server(format!("timed out while {what}"))))
        })
    }

    pub(crate) fn mark_stale(&self) {
        self.is_stale.store(true, Ordering::Release);
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Acquire)
    }
}
