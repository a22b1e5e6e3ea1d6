//! Opens the store that a URL names.

use std::sync::Arc;

use windlass_core::{Error, ErrorKind, Result, Store, SystemClock};
use windlass_store_memory::MemoryStore;

use crate::url::StoreUrl;

/// Whether a store has to be there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// A store that is not there is an error; nothing is created.
    Required,
    /// A store that is not there is made.
    OrCreate,
}

/// Opens the store that `url` names. A memory store is always a fresh one.
pub async fn open(url: &StoreUrl, existing: Existing) -> Result<Arc<dyn Store>> {
    match url {
        StoreUrl::Memory => Ok(Arc::new(MemoryStore::new(Arc::new(SystemClock)))),
        StoreUrl::Sqlite { path } => open_sqlite(path, existing),
        StoreUrl::Redis { .. } => Err(Error::new(
            ErrorKind::Invalid,
            "this build has no Redis store",
            "use sqlite:PATH, or a build of Windlass with the Redis store",
        )),
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
    Err(Error::new(
        ErrorKind::Invalid,
        "this build has no SQLite store",
        "build Windlass with the feature sqlite",
    ))
}
