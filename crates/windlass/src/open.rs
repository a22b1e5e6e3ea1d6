//! Opens a store by its URL.

use std::sync::Arc;

use windlass_core::{Result, Store, SystemClock};
use windlass_store_memory::MemoryStore;
use windlass_worker::{Connections, Outage};

use crate::url::StoreUrl;

/// What to do if a store does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Return an error.
    MustExist,
    /// Create the store.
    CreateIfMissing,
}

/// Opens the store at `url`. A memory store is always new; a reachable Redis server without jobs counts
/// as an existing, empty store. A store behind a server is reached with the first call; its token is
/// read from the environment variable `WINDLASS_HTTP_TOKEN`, or from the file that the URL names.
///
/// ```
/// use windlass::{OpenMode, QueueName, open};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> windlass::Result<()> {
/// let store = open(&"memory:".parse()?, OpenMode::CreateIfMissing).await?;
/// assert!(store.stats(&QueueName::new("mail")?).await?.is_none()); // the queue does not exist yet
/// # Ok(())
/// # }
/// ```
pub async fn open(url: &StoreUrl, mode: OpenMode) -> Result<Arc<dyn Store>> {
    match url {
        StoreUrl::Memory => Ok(Arc::new(MemoryStore::new(Arc::new(SystemClock)))),
        StoreUrl::Sqlite { path } => open_sqlite(path, mode),
        StoreUrl::Redis { url, .. } => open_redis(url).await,
        StoreUrl::Http { url } => open_http(url),
    }
}

/// Opens the store at `url` for a worker: over a network, renewals use a dedicated connection.
pub async fn open_connections(url: &StoreUrl, mode: OpenMode) -> Result<Connections> {
    let store = open(url, mode).await?;
    Ok(connections(Some(url), store))
}

/// Returns the connections for a worker: a store in the network is opened a second time, since its
/// connections are tied to a Tokio runtime.
pub(crate) fn connections(url: Option<&StoreUrl>, store: Arc<dyn Store>) -> Connections {
    let Some(url) = url else {
        return Connections::shared(store);
    };
    let connections = match url.clone() {
        url @ (StoreUrl::Redis { .. } | StoreUrl::Http { .. }) => {
            Connections::with_reopen(store, move || {
                let url = url.clone();
                async move { open(&url, OpenMode::MustExist).await }
            })
        }
        _ => Connections::shared(store),
    };
    connections.with_outage(Outage::new(url.to_string()))
}

#[cfg(feature = "sqlite")]
fn open_sqlite(path: &std::path::Path, mode: OpenMode) -> Result<Arc<dyn Store>> {
    use windlass_store_sqlite::{Options, SqliteStore};

    let options = Options {
        create: mode == OpenMode::CreateIfMissing,
        ..Options::default()
    };
    Ok(Arc::new(SqliteStore::open(path, options)?))
}

#[cfg(not(feature = "sqlite"))]
fn open_sqlite(_path: &std::path::Path, _existing: OpenMode) -> Result<Arc<dyn Store>> {
    Err(not_compiled_in(
        "SQLite",
        "build Windlass with the feature sqlite",
    ))
}

#[cfg(feature = "redis")]
async fn open_redis(url: &str) -> Result<Arc<dyn Store>> {
    use windlass_store_redis::{Options, RedisStore};

    Ok(Arc::new(RedisStore::open(url, Options::default()).await?))
}

#[cfg(not(feature = "redis"))]
#[expect(clippy::unused_async, reason = "async with the feature redis")]
async fn open_redis(_url: &str) -> Result<Arc<dyn Store>> {
    Err(not_compiled_in(
        "Redis",
        "build Windlass with the feature redis",
    ))
}

#[cfg(feature = "http")]
fn open_http(url: &str) -> Result<Arc<dyn Store>> {
    Ok(Arc::new(windlass_store_http::RemoteStore::open(url)?))
}

#[cfg(not(feature = "http"))]
fn open_http(_url: &str) -> Result<Arc<dyn Store>> {
    Err(not_compiled_in(
        "HTTP",
        "build Windlass with the feature http",
    ))
}

#[cfg(not(all(feature = "sqlite", feature = "redis", feature = "http")))]
fn not_compiled_in(store: &str, help: &'static str) -> windlass_core::Error {
    let what = format!("this build does not include the {store} store");
    windlass_core::Error::new(windlass_core::ErrorKind::Invalid, what, help)
}
