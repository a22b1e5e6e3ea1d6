//! What one gets for a job that was enqueued.

use std::fmt;
use std::marker::PhantomData;

use windlass_core::{DurabilityLevel, Enqueued, JobId, JobState, QueueName};

/// Stands where a typed job would, for jobs of raw bytes.
#[derive(Debug)]
pub enum Raw {}

/// A job that was enqueued: hand it to [`Client::wait`](crate::Client::wait) for what it returns.
///
/// ```
/// use windlass::{Client, DurabilityLevel};
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

    /// The id of the job; of the first job where this one is a duplicate.
    pub fn id(&self) -> &JobId {
        self.enqueued.id()
    }

    /// The queue it is in.
    pub fn queue(&self) -> &QueueName {
        &self.queue
    }

    /// The state it was in when the store answered.
    pub fn state(&self) -> JobState {
        self.enqueued.state()
    }

    /// Whether another job with its id or unique key was there first.
    pub fn is_duplicate(&self) -> bool {
        self.enqueued.is_duplicate()
    }

    /// How safe it was when the store answered.
    pub fn level(&self) -> DurabilityLevel {
        self.enqueued.level()
    }
}

// By hand: a derive would ask the job itself to be `Clone` and `Debug`.
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
