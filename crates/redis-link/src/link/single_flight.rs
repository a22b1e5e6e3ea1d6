//! Single-flight: concurrent callers share the result of one run.

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::error::CallError;

/// Runs a piece of work at most once at a time.
#[derive(Default)]
pub(crate) struct SingleFlight {
    latest: Mutex<Option<(Instant, Result<(), CallError>)>>,
}

impl SingleFlight {
    /// Runs the work, or returns the result of a run that finished while this call waited. If a
    /// caller is cancelled, the next one runs the work.
    pub(crate) async fn run(
        &self,
        work: impl Future<Output = Result<(), CallError>>,
    ) -> Result<(), CallError> {
        let called_at = Instant::now();
        let mut latest = self.latest.lock().await;
        if let Some((at, outcome)) = &*latest
            && *at > called_at
        {
            return outcome.clone();
        }
        let outcome = work.await;
        *latest = Some((Instant::now(), outcome.clone()));
        outcome
    }
}
