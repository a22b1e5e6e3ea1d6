//! The way in: enqueues jobs, waits for what they return, looks them up.

mod enqueue;
mod handle;
mod many;
mod operate;
mod wait;

use std::fmt;
use std::sync::Arc;

use windlass_core::{Bytes, Headers, Result, Store};
use windlass_worker::Connections;

pub use enqueue::Enqueue;
pub use handle::{JobHandle, Raw};
pub use wait::WaitError;

use crate::open::{Existing, open, stores};
use crate::typed::TypedJob;
use crate::url::StoreUrl;

type Stamp = Arc<dyn Fn(&mut Headers) + Send + Sync>;

/// A client of a store. Cheap to clone: all clones use one connection.
///
/// ```
/// use windlass::{Changed, Client, Filter, JobState};
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
/// let job = client.get("mail", "letter-1").await?.ok_or("it is kept for an hour")?;
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
    stamps: Vec<Stamp>,
}

impl Client {
    /// Opens the store that a URL names: `memory:`, `sqlite:jobs.db`, `redis://…`. A file that is
    /// not there is made.
    pub async fn connect(url: &str) -> Result<Self> {
        let url: StoreUrl = url.parse()?;
        let store = open(&url, Existing::OrCreate).await?;
        Ok(Self::over(store, Some(url)))
    }

    /// A client of a store at hand. For Redis prefer [`connect`](Self::connect): a worker then
    /// renews its leases over a connection of its own, whatever its handlers do.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::over(store, None)
    }

    fn over(store: Arc<dyn Store>, url: Option<StoreUrl>) -> Self {
        let stamps = Vec::new();
        Self(Arc::new(Inner { store, url, stamps }))
    }

    /// The store, for what has no method here.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Lets `stamp` set headers of every job that is enqueued from now on through this client and
    /// its clones. What a job says of itself counts more.
    ///
    /// This is how a trace goes along: write the current trace as `traceparent` (W3C Trace Context).
    /// Jobs that a handler enqueues through its [`Context`](crate::Context) carry the trace of their
    /// job even without a stamp.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> windlass::Result<()> {
    /// # fn current_trace() -> String { "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into() }
    /// let client = windlass::Client::connect("memory:").await?.stamp(|headers| {
    ///     // A value that is no header is left out: a trace is not worth a lost job.
    ///     let _ = headers.set("traceparent", &current_trace());
    /// });
    /// let letter = client.enqueue_raw("mail", "dear Ann").await?;
    /// let job = client.get("mail", letter.id().as_str()).await?.unwrap();
    /// assert!(job.headers.get("traceparent").is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn stamp(self, stamp: impl Fn(&mut Headers) + Send + Sync + 'static) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.0);
        inner.stamps.push(Arc::new(stamp));
        Self(Arc::new(inner))
    }

    /// Enqueues a job: await it, or say more first.
    #[expect(clippy::needless_pass_by_value, reason = "a job is given away")]
    pub fn enqueue<J: TypedJob>(&self, job: J) -> Enqueue<J> {
        Enqueue::typed(self.clone(), &job)
    }

    /// Enqueues bytes: await it, or say more first.
    pub fn enqueue_raw(&self, queue: &str, payload: impl Into<Bytes>) -> Enqueue<Raw> {
        Enqueue::raw(self.clone(), queue, payload.into())
    }

    /// The headers a job begins with: what it inherits, then what stamps say.
    fn stamped(&self, mut inherited: Headers) -> Headers {
        for stamp in &self.0.stamps {
            stamp(&mut inherited);
        }
        inherited
    }

    /// The store as a worker needs it.
    pub(crate) fn stores(&self) -> Connections {
        stores(self.0.url.as_ref(), Arc::clone(self.store()))
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
    fn only_redis_is_opened_once_more_for_renewals() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let stores = |url: Option<&str>| {
            let url = url.map(|url| url.parse().unwrap());
            format!("{:?}", Client::over(Arc::clone(&store), url).stores())
        };
        assert!(stores(Some("redis://host")).contains("is_reopened: true"));
        for shared in [Some("memory:"), Some("sqlite:jobs.db"), None] {
            assert!(stores(shared).contains("is_reopened: false"), "{shared:?}");
        }
    }
}
