//! An open store under test.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use windlass_core::Store;
use windlass_core::dump::Dump;

/// An open store with its dump, and a guard that keeps its resources alive.
pub struct StoreUnderTest {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The same store, for dumps.
    pub dump: Arc<dyn Dump + Send + Sync>,
    /// The cases whose promise does not apply to this store. They pass without running.
    pub except: &'static [&'static str],
    /// Dropped last, such as a temporary folder or a server.
    guard: Box<dyn Any + Send + Sync>,
}

impl StoreUnderTest {
    /// Wraps a store without a guard.
    pub fn new<S: Store + Dump + 'static>(store: S) -> Self {
        Self::guarded(store, ())
    }

    /// Wraps a store that needs `guard` to stay alive.
    pub fn guarded<S, G>(store: S, guard: G) -> Self
    where
        S: Store + Dump + 'static,
        G: Any + Send + Sync,
    {
        let store = Arc::new(store);
        Self {
            store: Arc::clone(&store) as Arc<dyn Store>,
            dump: store,
            except: &[],
            guard: Box::new(guard),
        }
    }

    /// Wraps a store in front of another, which is dumped.
    pub fn dumped_by<S, D, G>(store: S, behind: Arc<D>, guard: G) -> Self
    where
        S: Store + 'static,
        D: Dump + Send + Sync + 'static,
        G: Any + Send + Sync,
    {
        Self {
            store: Arc::new(store),
            dump: behind,
            except: &[],
            guard: Box::new(guard),
        }
    }
}

impl fmt::Debug for StoreUnderTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreUnderTest")
            .field("store", &self.store)
            .field("guard", &(*self.guard).type_id())
            .finish_non_exhaustive()
    }
}
