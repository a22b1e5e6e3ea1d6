//! The client: enqueues jobs, waits for their results, looks them up.

mod enqueue;
mod handle;
mod many;
mod operate;
mod schedules;
mod wait;

use std::fmt;
use std::sync::Arc;

use windlass_core::store::Headers;
use windlass_core::{Bytes, Result, Store};
use windlass_worker::Connections;

pub use enqueue::EnqueueBuilder;
pub use handle::{JobHandle, Raw};
pub use schedules::QueueSchedules;
pub use wait::WaitError;

use enqueue::Draft;
pub(crate) use enqueue::job_of;

use crate::open::{OpenMode, connections, open};
use crate::typed::TypedJob;
use crate::url::StoreUrl;

type HeaderFn = Arc<dyn Fn(&mut Headers) + Send + Sync>;

/// A client of a store. Cheap to clone: all clones share one connection.
///
/// ```
/// use windlass::store::{Changed, Filter};
/// use windlass::{Client, JobState};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect("memory:").await?;
/// let letter = client.enqueue_raw("mail", "dear Ann").id("letter-1").await?;
/// assert_eq!(letter.state(), JobState::Ready);
///
/// let page = client.list("mail", &Filter::default(), None, 100).await?;
/// assert_eq!(page.items[0].id.as_str(), "letter-1");
/// assert_eq!(client.cancel("mail", "letter-1").await?, Changed::Done);
/// let job = client.get("mail", "letter-1").await?.ok_or("job not found")?;
/// assert_eq!(job.state, JobState::Cancelled);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    store: Arc<dyn Store>,
    url: Option<StoreUrl>,
    header_fns: Vec<HeaderFn>,
}

impl Client {
    /// Opens the store at a URL: `memory:`, `sqlite:jobs.db` or `redis://…`. Creates the file if it
    /// does not exist.
    pub async fn connect(url: &str) -> Result<Self> {
        let url: StoreUrl = url.parse()?;
        let store = open(&url, OpenMode::CreateIfMissing).await?;
        Ok(Self::over(store, Some(url)))
    }

    /// Creates a client of an open store. For Redis prefer [`connect`](Self::connect): a worker then
    /// renews its leases over a dedicated connection, even while handlers block.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::over(store, None)
    }

    fn over(store: Arc<dyn Store>, url: Option<StoreUrl>) -> Self {
        let header_fns = Vec::new();
        Self(Arc::new(Inner {
            store,
            url,
            header_fns,
        }))
    }

    /// Returns the store, for operations that the client has no method for.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Adds a function that sets headers on every job enqueued through the returned client and its
    /// clones. Headers set on a job itself take precedence.
    ///
    /// Use it to propagate traces: set the current trace as `traceparent` (W3C Trace Context). Jobs that
    /// a handler enqueues through its [`Context`](crate::Context) inherit the trace of their job even
    /// without it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> windlass::Result<()> {
    /// # fn current_trace() -> String { "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into() }
    /// let client = windlass::Client::connect("memory:").await?.with_headers(|headers| {
    ///     // Ignore an invalid value: a missing trace must not prevent the job.
    ///     let _ = headers.set("traceparent", &current_trace());
    /// });
    /// let letter = client.enqueue_raw("mail", "dear Ann").await?;
    /// let job = client.get("mail", letter.id().as_str()).await?.unwrap();
    /// assert!(job.headers.get("traceparent").is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_headers(self, header_fn: impl Fn(&mut Headers) + Send + Sync + 'static) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.0);
        inner.header_fns.push(Arc::new(header_fn));
        Self(Arc::new(inner))
    }

    /// Enqueues a job. Set options on the returned builder, then await it.
    #[expect(clippy::needless_pass_by_value, reason = "callers give the job away")]
    pub fn enqueue<J: TypedJob>(&self, job: J) -> EnqueueBuilder<J> {
        EnqueueBuilder::new(self.clone(), Draft::typed(&job))
    }

    /// Enqueues raw bytes. Set options on the returned builder, then await it.
    pub fn enqueue_raw(&self, queue: &str, payload: impl Into<Bytes>) -> EnqueueBuilder<Raw> {
        EnqueueBuilder::new(self.clone(), Draft::raw(queue, payload.into()))
    }

    /// Returns the default headers of a job: the inherited ones, changed by the header functions.
    fn default_headers(&self, mut inherited: Headers) -> Headers {
        for header_fn in &self.0.header_fns {
            header_fn(&mut inherited);
        }
        inherited
    }

    /// Returns the connections for a worker.
    pub(crate) fn connections(&self) -> Connections {
        connections(self.0.url.as_ref(), Arc::clone(self.store()))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("store", &self.0.store)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::SystemClock;
    use windlass_store_memory::MemoryStore;

    use super::*;

    #[test]
    fn only_redis_is_opened_a_second_time_for_renewals() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let connections = |url: Option<&str>| {
            let url = url.map(|url| url.parse().unwrap());
            format!("{:?}", Client::over(Arc::clone(&store), url).connections())
        };
        assert!(connections(Some("redis://host")).contains("is_reopened: true"));
        for shared in [Some("memory:"), Some("sqlite:jobs.db"), None] {
            assert!(
                connections(shared).contains("is_reopened: false"),
                "{shared:?}"
            );
        }
    }
}
