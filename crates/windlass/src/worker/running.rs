//! A worker that runs beside other code.

use tokio::task::JoinHandle;
use windlass_core::{BootId, Error, ErrorKind, Result};
use windlass_worker::{Runtime, Stopper, Summary};

/// A worker that runs beside other code of the program. When it is dropped it is asked to stop, and
/// does so without anybody waiting for it.
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
#[must_use = "when it is dropped the worker is asked to stop"]
pub struct Running {
    boot: BootId,
    stopper: Stopper,
    work: JoinHandle<Result<Summary>>,
}

impl Running {
    pub(super) fn start(runtime: Runtime) -> Self {
        Self {
            boot: runtime.boot(),
            stopper: runtime.stopper(),
            work: tokio::spawn(runtime.run()),
        }
    }

    /// The id of this life of the worker.
    pub fn boot(&self) -> &BootId {
        &self.boot
    }

    /// What stops it, to be kept elsewhere.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Claims no more, lets jobs run for the grace, gives the rest back, and says what was done.
    pub async fn stop(self) -> Result<Summary> {
        self.stopper.stop();
        self.join().await
    }

    /// Waits until it ends: it was stopped from elsewhere, or its queues are drained in a burst.
    pub async fn join(mut self) -> Result<Summary> {
        (&mut self.work).await.unwrap_or_else(|error| {
            let what = "the worker ended in the middle of its work";
            let help = "its jobs come back when their lease ends; start it again";
            Err(Error::new(ErrorKind::Internal, what, help).caused_by(error))
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}
