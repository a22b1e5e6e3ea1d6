//! The handle of an enqueued job.

use std::fmt;
use std::marker::PhantomData;

use windlass_core::store::DurabilityLevel;
use windlass_core::{Enqueued, JobId, JobState, QueueName};

/// The type parameter for jobs of raw bytes, in place of a typed job.
#[derive(Debug)]
pub enum Raw {}

/// An enqueued job. Pass it to [`Client::wait`](crate::Client::wait) to get its output.
///
/// ```
/// use windlass::store::DurabilityLevel;
/// use windlass::Client;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect("memory:").await?;
/// let first = client.enqueue_raw("mail", "dear Ann").id("letter-1").await?;
/// let again = client.enqueue_raw("mail", "dear Ann").id("letter-1").await?;
/// assert!(again.is_duplicate() && again.id() == first.id());
/// assert_eq!(first.level(), DurabilityLevel::Memory); // on disk with sqlite:
/// # Ok(())
/// # }
/// ```
pub struct JobHandle<J> {
    queue: QueueName,
    enqueued: Enqueued,
    job: PhantomData<fn() -> J>,
}

impl<J> JobHandle<J> {
    pub(super) fn new(queue: QueueName, enqueued: Enqueued) -> Self {
        Self {
            queue,
            enqueued,
            job: PhantomData,
        }
    }

    /// Returns the id of the job, or of the existing job if this one is not new.
    pub fn id(&self) -> &JobId {
        self.enqueued.id()
    }

    /// Returns the queue of the job.
    pub fn queue(&self) -> &QueueName {
        &self.queue
    }

    /// Returns the state of the job when the store replied.
    pub fn state(&self) -> JobState {
        self.enqueued.state()
    }

    /// Returns whether a job with this id or unique key already existed, and was not changed.
    pub fn is_duplicate(&self) -> bool {
        self.enqueued.is_duplicate()
    }

    /// Returns whether this job replaced the content of the existing one.
    pub fn is_replaced(&self) -> bool {
        self.enqueued.is_replaced()
    }

    /// Returns whether this job moved the due time of the existing one, and nothing else.
    pub fn is_postponed(&self) -> bool {
        self.enqueued.is_postponed()
    }

    /// Returns the durability of the job when the store replied.
    pub fn level(&self) -> DurabilityLevel {
        self.enqueued.level()
    }
}

// Not derived, which would require `J: Clone + Debug`.
impl<J> Clone for JobHandle<J> {
    fn clone(&self) -> Self {
        Self::new(self.queue.clone(), self.enqueued.clone())
    }
}

impl<J> fmt::Debug for JobHandle<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobHandle")
            .field("queue", &self.queue)
            .field("enqueued", &self.enqueued)
            .finish_non_exhaustive()
    }
}
