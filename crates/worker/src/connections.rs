//! The store of a worker, and how to open a second connection for its renewals.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use windlass_core::{Result, Store};

use crate::outage::Outage;

type Opening = Pin<Box<dyn Future<Output = Result<Arc<dyn Store>>> + Send>>;
type Open = Arc<dyn Fn() -> Opening + Send + Sync>;

/// The store of a worker. Stores with network connections get a second one for renewals, so that a
/// handler that blocks all threads does not stop them.
#[derive(Clone)]
pub struct Connections {
    pub(crate) store: Arc<dyn Store>,
    open: Option<Open>,
    outage: Arc<Outage>,
}

impl Connections {
    /// Uses one store for everything, for stores that are not tied to a Tokio runtime: memory and
    /// SQLite.
    pub fn shared(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            open: None,
            outage: Arc::default(),
        }
    }

    /// Uses `store`, and opens it a second time with `open` on the lease thread, for stores whose
    /// connections are tied to the runtime they were opened in: Redis.
    pub fn with_reopen<F, O>(store: Arc<dyn Store>, open: F) -> Self
    where
        F: Fn() -> O + Send + Sync + 'static,
        O: Future<Output = Result<Arc<dyn Store>>> + Send + 'static,
    {
        let open: Open = Arc::new(move || Box::pin(open()));
        Self {
            open: Some(open),
            ..Self::shared(store)
        }
    }

    /// Sets the name of the store in log lines, and shares its outages with other callers.
    #[must_use]
    pub fn with_outage(mut self, outage: Arc<Outage>) -> Self {
        self.outage = outage;
        self
    }

    /// Returns the outages of the store, for other callers in this process.
    pub fn outage(&self) -> &Arc<Outage> {
        &self.outage
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the store for renewals, opened in the calling runtime.
    pub(crate) async fn for_lease_thread(&self) -> Result<Arc<dyn Store>> {
        match &self.open {
            Some(open) => open().await,
            None => Ok(Arc::clone(&self.store)),
        }
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("store", &self.store)
            .field("is_reopened", &self.open.is_some())
            .finish_non_exhaustive()
    }
}
