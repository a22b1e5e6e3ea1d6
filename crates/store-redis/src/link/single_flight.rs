//! Work that one caller does for all: who waited for it shares its outcome.

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::error::Fault;

/// A piece of work that is done by one at a time.
#[derive(Default)]
pub(crate) struct Turn {
    latest: Mutex<Option<(Instant, Result<(), Fault>)>>,
}

impl Turn {
    /// Does the work, or tells how it ended when somebody did it while we waited. A caller that
    /// gives up leaves it to the next.
    pub(crate) async fn take(
        &self,
        work: impl Future<Output = Result<(), Fault>>,
    ) -> Result<(), Fault> {
        let asked = Instant::now();
        let mut latest = self.latest.lock().await;
        if let Some((at, outcome)) = &*latest
            && *at > asked
        {
            return again(outcome);
        }
        let outcome = work.await;
        *latest = Some((Instant::now(), again(&outcome)));
        outcome
    }
}

fn again(outcome: &Result<(), Fault>) -> Result<(), Fault> {
    match outcome {
        Ok(()) => Ok(()),
        Err(fault) => Err(fault.again()),
    }
}
