//! Waiting for what a job returns.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use windlass_core::wait::{JobEnd, wait_for_end};
use windlass_core::{Bytes, Error, Job, JobId, JobState, QueueName, Reason};

use super::{Client, JobHandle};
use crate::typed::TypedJob;

/// Why there is nothing to hand over.
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
///     Err(WaitError::TimedOut) => {} // nobody works here: it waits on
///     other => panic!("{other:?}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum WaitError {
    /// The job failed for good.
    #[non_exhaustive]
    Dead {
        /// Why; unknown where the job was not kept.
        reason: Option<Reason>,
        /// What its last attempt said; unknown where the job was not kept.
        error: Option<String>,
    },
    /// Somebody cancelled it.
    Cancelled,
    /// It is not there: it never was, or it ended and was not kept. Enqueue with
    /// [`keep_outcome`](crate::Enqueue::keep_outcome) what somebody will wait for.
    NotFound,
    /// It has not ended in the time given; it goes on.
    TimedOut,
    /// The store could not answer.
    Store(Error),
    /// Its result is not of the type that the job promises.
    Output(Box<dyn StdError + Send + Sync>),
}

impl Client {
    /// Waits for a job's end, and hands over what it returned.
    ///
    /// A job that leaves no result is not kept unless it was enqueued with
    /// [`keep_outcome`](crate::Enqueue::keep_outcome): one that has ended before this is called is
    /// then not found.
    pub async fn wait<J: TypedJob>(&self, handle: &JobHandle<J>) -> Result<J::Output, WaitError> {
        let left = self.ended(handle.queue(), handle.id(), None).await?;
        output::<J>(left.as_ref())
    }

    /// Waits as [`wait`](Self::wait) does, at most for `limit`.
    pub async fn wait_for<J: TypedJob>(
        &self,
        handle: &JobHandle<J>,
        limit: Duration,
    ) -> Result<J::Output, WaitError> {
        let left = self.ended(handle.queue(), handle.id(), Some(limit)).await?;
        output::<J>(left.as_ref())
    }

    /// Waits for the end of any job, at most for `limit` where there is one, and hands over the bytes
    /// it left.
    pub async fn wait_raw(
        &self,
        queue: &str,
        id: &str,
        limit: Option<Duration>,
    ) -> Result<Option<Bytes>, WaitError> {
        self.ended(&QueueName::new(queue)?, &JobId::new(id)?, limit)
            .await
    }

    /// Enqueues a job, keeps its outcome, and waits for what it returns.
    pub async fn run<J: TypedJob>(&self, job: J) -> Result<J::Output, WaitError> {
        let handle = self.enqueue(job).keep_outcome().await?;
        self.wait(&handle).await
    }

    async fn ended(
        &self,
        queue: &QueueName,
        id: &JobId,
        limit: Option<Duration>,
    ) -> Result<Option<Bytes>, WaitError> {
        match wait_for_end(self.store().as_ref(), queue, id, limit).await? {
            JobEnd::Ended(job) => left(*job),
            // A job with a result is kept, so there was none.
            JobEnd::EndedNotKept(JobState::Succeeded) => Ok(None),
            JobEnd::EndedNotKept(JobState::Cancelled) => Err(WaitError::Cancelled),
            JobEnd::EndedNotKept(_) => Err(WaitError::Dead {
                reason: None,
                error: None,
            }),
            JobEnd::Gone | JobEnd::NotFound => Err(WaitError::NotFound),
            JobEnd::TimedOut(_) => Err(WaitError::TimedOut),
        }
    }
}

fn left(job: Job) -> Result<Option<Bytes>, WaitError> {
    match job.state {
        JobState::Succeeded => Ok(job.result),
        JobState::Cancelled => Err(WaitError::Cancelled),
        _ => Err(WaitError::Dead {
            reason: job.reason,
            error: job.error,
        }),
    }
}

/// What a job that left nothing returned is JSON's null: `()`, or `None`.
fn output<J: TypedJob>(left: Option<&Bytes>) -> Result<J::Output, WaitError> {
    let bytes = left.map_or(&b"null"[..], |left| left);
    serde_json::from_slice(bytes).map_err(|error| WaitError::Output(error.into()))
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dead { reason, error } => {
                let reason = reason.map_or("for good", Reason::as_str);
                let error = error.as_deref().unwrap_or("its error was not kept");
                write!(f, "the job failed ({reason}): {error}")
            }
            Self::Cancelled => f.write_str("the job was cancelled"),
            Self::NotFound => {
                f.write_str("there is no such job: it ended and was not kept, or never was")
            }
            Self::TimedOut => f.write_str("the job has not ended in the time given; it goes on"),
            Self::Store(_) => f.write_str("the store could not say how the job ended"),
            Self::Output(_) => f.write_str("the result is not of the type that the job promises"),
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
