//! The context of an attempt.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use windlass_core::Bytes;
use windlass_core::store::Headers;
use windlass_worker::TRACE_HEADERS;

use crate::client::{Client, EnqueueBuilder, Raw};
use crate::extract::DataMap;
use crate::once::Once;
use crate::typed::TypedJob;

/// The attempt that a handler is running: the runtime's [`AttemptContext`](crate::runtime::AttemptContext),
/// plus a client to enqueue follow-up jobs. Cheap to clone.
///
/// ```
/// use windlass::{Context, JobError};
///
/// async fn resize(context: Context) -> Result<(), JobError> {
///     for page in 0..4 {
///         if context.stop_reason().is_some() {
///             return Err(JobError::release()); // cancelled, timed out, or the worker is stopping
///         }
///         context.progress(f64::from(page) / 4.0, Some("resizing")).await?;
///     }
///     let id = format!("{}/notify", context.job().id); // a retry enqueues the same job
///     context.enqueue_raw("mail", "resized").id(&id).await?;
///     Ok(())
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = windlass::Client::connect("memory:").await?;
/// # client.enqueue_raw("pictures", "a.png").id("a").await?;
/// # let worker = windlass::Worker::new(client.clone()).queue("pictures").fallback(resize);
/// # assert_eq!(worker.burst().run().await?.succeeded, 1);
/// # assert!(client.get("mail", "a/notify").await?.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Context {
    attempt: windlass_worker::AttemptContext,
    shared: Arc<Shared>,
}

/// State shared by all attempts of a worker.
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) data: DataMap,
}

impl Context {
    pub(crate) fn new(attempt: windlass_worker::AttemptContext, shared: Arc<Shared>) -> Self {
        Self { attempt, shared }
    }

    /// Returns the client of the worker.
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Enqueues a follow-up job that inherits this job's trace. Set options on the returned builder,
    /// then await it.
    ///
    /// A job may run more than once: derive the follow-up's [id](EnqueueBuilder::id) from this job's id,
    /// so that it is enqueued only once.
    pub fn enqueue<J: TypedJob>(&self, job: J) -> EnqueueBuilder<J> {
        self.client().enqueue(job).inherit(self.trace())
    }

    /// Enqueues raw bytes as a follow-up job, like [`enqueue`](Self::enqueue).
    pub fn enqueue_raw(&self, queue: &str, payload: impl Into<Bytes>) -> EnqueueBuilder<Raw> {
        self.client()
            .enqueue_raw(queue, payload)
            .inherit(self.trace())
    }

    /// Returns the record of an effect of this job that must happen once, however often the job runs.
    /// `name` identifies the effect within the job.
    pub fn once(&self, name: &str) -> Once {
        let key = format!("{}/{}/{name}", self.queue(), self.job().id);
        Once::new(key, self.token())
    }

    pub(crate) fn data(&self) -> &DataMap {
        &self.shared.data
    }

    /// Returns the trace headers of the attempt.
    fn trace(&self) -> Headers {
        let mut headers = Headers::default();
        for name in TRACE_HEADERS {
            if let Some(value) = self.attempt.trace_header(name) {
                // Cannot fail: it was a valid header before.
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
