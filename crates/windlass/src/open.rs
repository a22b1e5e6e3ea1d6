//! Opens the store that a URL names.

use std::sync::Arc;

use windlass_core::{Result, Store, SystemClock};
use windlass_store_memory::MemoryStore;
use windlass_worker::Connections;

use crate::url::StoreUrl;

/// Whether a store has to be there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// A store that is not there is an error; nothing is created.
    Required,
    /// A store that is not there is made.
    OrCreate,
}

/// Opens the store that `url` names. A memory store is always a fresh one; a Redis server that
/// answers and holds no jobs is an empty store, and there already.
///
/// ```
/// use windlass::{Existing, QueueName, open};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> windlass::Result<()> {
/// let store = open(&"memory:".parse()?, Existing::OrCreate).await?;
/// assert!(store.stats(&QueueName::new("mail")?).await?.is_none()); // there is no such queue yet
/// # Ok(())
/// # }
/// ```
pub async fn open(url: &StoreUrl, existing: Existing) -> Result<Arc<dyn Store>> {
    match url {
        StoreUrl::Memory => Ok(Arc::new(MemoryStore::new(Arc::new(SystemClock)))),
        StoreUrl::Sqlite { path } => open_sqlite(path, existing),
        StoreUrl::Redis { url, .. } => open_redis(url).await,
    }
}

/// Opens the store that `url` names for a worker: on Redis its renewals get a connection of their
/// own.
pub async fn open_stores(url: &StoreUrl, existing: Existing) -> Result<Connections> {
    let store = open(url, existing).await?;
    Ok(stores(Some(url), store))
}

/// The store as a worker needs it: what answers only in its own runtime is opened once more.
pub(crate) fn stores(url: Option<&StoreUrl>, store: Arc<dyn Store>) -> Connections {
    match url {
        Some(url @ StoreUrl::Redis { .. }) => {
            let url = url.clone();
            Connections::with_reopen(store, move || {
                let url = url.clone();
                async move { open(&url, Existing::Required).await }
            })
        }
        _ => Connections::shared(store),
    }
}

#[cfg(feature = "sqlite")]
fn open_sqlite(path: &std::path::Path, existing: Existing) -> Result<Arc<dyn Store>> {
    use windlass_store_sqlite::{Options, SqliteStore};

    let options = Options {
        create: existing == Existing::OrCreate,
        ..Options::default()
    };
    Ok(Arc::new(SqliteStore::open(path, options)?))
}

#[cfg(not(feature = "sqlite"))]
fn open_sqlite(_path: &std::path::Path, _existing: Existing) -> Result<Arc<dyn Store>> {
    Err(absent("SQLite", "build Windlass with the feature sqlite"))
}

#[cfg(feature = "redis")]
async fn open_redis(url: &str) -> Result<Arc<dyn Store>> {
    use windlass_store_redis::{Options, RedisStore};

    Ok(Arc::new(RedisStore::open(url, Options::default()).await?))
}

#[cfg(not(feature = "redis"))]
#[expect(
    clippy::unused_async,
    reason = "with the store there is something to wait for"
)]
async fn open_redis(_url: &str) -> Result<Arc<dyn Store>> {
    Err(absent("Redis", "build Windlass with the feature redis"))
}

#[cfg(not(all(feature = "sqlite", feature = "redis")))]
fn absent(store: &str, help: &'static str) -> windlass_core::Error {
    let what = format!("this build has no {store} store");
    windlass_core::Error::new(windlass_core::ErrorKind::Invalid, what, help)
}
