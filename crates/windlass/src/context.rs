//! What a handler knows and can do besides its job.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use windlass_core::{Bytes, Headers};
use windlass_worker::TRACE_HEADERS;

use crate::client::{Client, Enqueue, Raw};
use crate::extract::DataMap;
use crate::once::Once;
use crate::typed::TypedJob;

/// One attempt as its handler sees it: everything of the [runtime's](crate::runtime::Context), and
/// jobs of its own to enqueue. Cheap to clone.
///
/// ```
/// use windlass::{Context, JobError};
///
/// async fn resize(context: Context) -> Result<(), JobError> {
///     for page in 0..4 {
///         if context.stop_reason().is_some() {
///             return Err(JobError::release()); // cancelled, out of time, or the worker leaves
///         }
///         context.progress(f64::from(page) / 4.0, Some("resizing")).await?;
///     }
///     let id = format!("{}/tell", context.job().id); // a repeat is the same follow-up
///     context.enqueue_raw("mail", "it is done").id(&id).await?;
///     Ok(())
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = windlass::Client::connect("memory:").await?;
/// # client.enqueue_raw("pictures", "a.png").id("a").await?;
/// # let worker = windlass::Worker::new(client.clone()).queue("pictures").fallback(resize);
/// # assert_eq!(worker.burst().run().await?.succeeded, 1);
/// # assert!(client.get("mail", "a/tell").await?.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Context {
    attempt: windlass_worker::AttemptContext,
    shared: Arc<Shared>,
}

/// What all attempts of a worker have in common.
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) data: DataMap,
}

impl Context {
    pub(crate) fn new(attempt: windlass_worker::AttemptContext, shared: Arc<Shared>) -> Self {
        Self { attempt, shared }
    }

    /// The client of the worker.
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Enqueues a follow-up job; the trace of this job goes with it. Await it, or say more first.
    ///
    /// An attempt may be made twice: give a follow-up an [id](Enqueue::id) made of this job's, and it
    /// is enqueued once all the same.
    pub fn enqueue<J: TypedJob>(&self, job: J) -> Enqueue<J> {
        self.client().enqueue(job).inherit(self.trace())
    }

    /// Enqueues bytes as a follow-up job, as [`enqueue`](Self::enqueue) does.
    pub fn enqueue_raw(&self, queue: &str, payload: impl Into<Bytes>) -> Enqueue<Raw> {
        self.client()
            .enqueue_raw(queue, payload)
            .inherit(self.trace())
    }

    /// An effect of this job that must happen once, however often the job runs. `name` tells it from
    /// other effects of the same job.
    pub fn once(&self, name: &str) -> Once {
        let key = format!("{}/{}/{name}", self.queue(), self.job().id);
        Once::new(key, self.token())
    }

    pub(crate) fn data(&self) -> &DataMap {
        &self.shared.data
    }

    /// The headers of the job that carry its trace.
    fn trace(&self) -> Headers {
        let mut headers = Headers::default();
        for name in TRACE_HEADERS {
            if let Some(value) = self.job().headers.get(name) {
                // It was a header before, so it is one now.
                let _ = headers.set(name, value);
            }
        }
        headers
    }
}

impl Deref for Context {
    type Target = windlass_worker::AttemptContext;

    fn deref(&self) -> &Self::Target {
        &self.attempt
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.attempt.fmt(f)
    }
}
