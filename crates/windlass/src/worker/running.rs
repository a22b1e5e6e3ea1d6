//! A worker running in the background.

use tokio::task::JoinHandle;
use windlass_core::{BootId, Error, ErrorKind, Result};
use windlass_worker::{Runtime, Stopper, Summary};

/// A worker running in the background. Dropping it asks the worker to stop, without waiting.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// use windlass::{Client, JobError, TypedJob, Worker};
///
/// # #[derive(Serialize, Deserialize, TypedJob)]
/// # #[job(kind = "sum.add", output = u32)]
/// # struct Add(u32, u32);
/// async fn add(Add(a, b): Add) -> Result<u32, JobError> {
///     Ok(a + b)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect("memory:").await?;
/// let worker = Worker::new(client.clone()).handle(add).start()?;
/// assert_eq!(client.run(Add(1, 2)).await?, 3);
/// assert_eq!(worker.stop().await?.succeeded, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "dropping it stops the worker"]
pub struct RunningWorker {
    boot: BootId,
    stopper: Stopper,
    work: JoinHandle<Result<Summary>>,
}

impl RunningWorker {
    pub(super) fn start(runtime: Runtime) -> Self {
        Self {
            boot: runtime.boot(),
            stopper: runtime.stopper(),
            work: tokio::spawn(runtime.run()),
        }
    }

    /// Returns the worker's boot id, which is unique per start.
    pub fn boot(&self) -> &BootId {
        &self.boot
    }

    /// Returns a handle that stops the worker.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Stops claiming, lets jobs finish within the grace period, releases the rest, and returns a summary.
    pub async fn stop(self) -> Result<Summary> {
        self.stopper.stop();
        self.join().await
    }

    /// Waits until the worker ends: it was stopped by other code, or a burst has drained its queues.
    pub async fn join(mut self) -> Result<Summary> {
        (&mut self.work).await.unwrap_or_else(|error| {
            let what = "the worker task panicked or was aborted";
            let help = "start it again; its jobs return to their queues when their leases expire";
            Err(Error::new(ErrorKind::Internal, what, help).caused_by(error))
        })
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}
