//! Waits for the result of a job.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use windlass_core::store::Reason;
use windlass_core::wait::{JobEnd, wait_for_end};
use windlass_core::{Bytes, Error, JobId, JobState, QueueName};

use super::{Client, JobHandle};
use crate::typed::TypedJob;

/// Why waiting for a job returned no result.
///
/// ```
/// use std::time::Duration;
/// use windlass::{Client, WaitError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect("memory:").await?;
/// client.enqueue_raw("mail", "dear Ann").id("letter-1").await?;
/// let limit = Some(Duration::from_millis(1));
/// match client.wait_raw("mail", "letter-1", limit).await {
///     Err(WaitError::TimedOut) => {} // no worker is running
///     other => panic!("{other:?}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum WaitError {
    /// The job failed permanently.
    #[non_exhaustive]
    Dead {
        /// Why; `None` if the job was not kept.
        reason: Option<Reason>,
        /// The error of its last attempt; `None` if the job was not kept.
        error: Option<String>,
    },
    /// The job was cancelled.
    Cancelled,
    /// The job does not exist, or it ended and was not kept. Enqueue it with
    /// [`keep_outcome`](crate::client::EnqueueBuilder::keep_outcome) to wait for it.
    NotFound,
    /// The job has not ended within the limit. It continues.
    TimedOut,
    /// The store returned an error.
    Store(Error),
    /// The result cannot be deserialized as the job's output type.
    Output(Box<dyn StdError + Send + Sync>),
}

impl Client {
    /// Waits until a job ends and returns its output.
    ///
    /// A job without a result is not kept unless it was enqueued with
    /// [`keep_outcome`](crate::client::EnqueueBuilder::keep_outcome): if it ended before this call, the error is
    /// [`WaitError::NotFound`].
    pub async fn wait<J: TypedJob>(&self, handle: &JobHandle<J>) -> Result<J::Output, WaitError> {
        self.output(handle, None).await
    }

    /// Like [`wait`](Self::wait), for at most `limit`.
    pub async fn wait_for<J: TypedJob>(
        &self,
        handle: &JobHandle<J>,
        limit: Duration,
    ) -> Result<J::Output, WaitError> {
        self.output(handle, Some(limit)).await
    }

    /// Waits until any job ends, for at most `limit` if set, and returns its result as bytes.
    pub async fn wait_raw(
        &self,
        queue: &str,
        id: &str,
        limit: Option<Duration>,
    ) -> Result<Option<Bytes>, WaitError> {
        self.result(&QueueName::new(queue)?, &JobId::new(id)?, limit)
            .await
    }

    /// Enqueues a job, keeps its outcome, and waits for its output.
    pub async fn run<J: TypedJob>(&self, job: J) -> Result<J::Output, WaitError> {
        let handle = self.enqueue(job).keep_outcome().await?;
        self.wait(&handle).await
    }

    /// A missing result is JSON `null`, which becomes `()` or `None`.
    async fn output<J: TypedJob>(
        &self,
        handle: &JobHandle<J>,
        limit: Option<Duration>,
    ) -> Result<J::Output, WaitError> {
        let result = self.result(handle.queue(), handle.id(), limit).await?;
        let bytes = result.as_deref().unwrap_or(b"null");
        serde_json::from_slice(bytes).map_err(|error| WaitError::Output(error.into()))
    }

    async fn result(
        &self,
        queue: &QueueName,
        id: &JobId,
        limit: Option<Duration>,
    ) -> Result<Option<Bytes>, WaitError> {
        let (state, result, reason, error) =
            match wait_for_end(self.store().as_ref(), queue, id, limit).await? {
                JobEnd::Ended(job) => (job.state, job.result, job.reason, job.error),
                // A job with a result is always kept, so this one had none.
                JobEnd::EndedNotKept(state) => (state, None, None, None),
                JobEnd::Gone | JobEnd::NotFound => return Err(WaitError::NotFound),
                JobEnd::TimedOut(_) => return Err(WaitError::TimedOut),
            };
        match state {
            JobState::Succeeded => Ok(result),
            JobState::Cancelled => Err(WaitError::Cancelled),
            _ => Err(WaitError::Dead { reason, error }),
        }
    }
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dead { reason, error } => {
                let reason = reason.map_or("permanently", Reason::as_str);
                let error = error.as_deref().unwrap_or("the error was not kept");
                write!(f, "the job failed ({reason}): {error}")
            }
            Self::Cancelled => f.write_str("the job was cancelled"),
            Self::NotFound => {
                f.write_str("job not found: it never existed, or it ended and was not kept; enqueue it with keep_outcome()")
            }
            Self::TimedOut => f.write_str("timed out while waiting for the job; it continues"),
            Self::Store(_) => f.write_str("cannot read from the store how the job ended"),
            Self::Output(_) => f.write_str("the result does not match the job's output type"),
        }
    }
}

impl StdError for WaitError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::Output(error) => Some(error.as_ref()),
            _ => None,
        }
    }
}

impl From<Error> for WaitError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}
