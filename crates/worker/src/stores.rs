//! The store of a worker, and the way to a second connection for its renewals.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use windlass_core::{Result, Store};

type Opening = Pin<Box<dyn Future<Output = Result<Arc<dyn Store>>> + Send>>;
type Open = Arc<dyn Fn() -> Opening + Send + Sync>;

/// The store of a worker. Renewals go over a connection of their own where the store has
/// connections: a handler that blocks every thread must not stop them.
#[derive(Clone)]
pub struct Stores {
    pub(crate) store: Arc<dyn Store>,
    open: Option<Open>,
}

impl Stores {
    /// A store that answers on any thread, whatever the handlers do: memory and SQLite.
    pub fn shared(store: Arc<dyn Store>) -> Self {
        Self { store, open: None }
    }

    /// A store whose answers need the runtime it was opened in: `open` opens it once more, in
    /// another.
    pub fn reopened<F, O>(store: Arc<dyn Store>, open: F) -> Self
    where
        F: Fn() -> O + Send + Sync + 'static,
        O: Future<Output = Result<Arc<dyn Store>>> + Send + 'static,
    {
        let open: Open = Arc::new(move || Box::pin(open()));
        Self {
            store,
            open: Some(open),
        }
    }

    /// The store itself.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The store for renewals, opened in the runtime that calls.
    pub(crate) async fn second(&self) -> Result<Arc<dyn Store>> {
        match &self.open {
            Some(open) => open().await,
            None => Ok(Arc::clone(&self.store)),
        }
    }
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stores")
            .field("store", &self.store)
            .field("is_reopened", &self.open.is_some())
            .finish()
    }
}
