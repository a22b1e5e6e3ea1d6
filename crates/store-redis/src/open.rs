//! Opens the store: parses the address, connects and checks the schema.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::store::Limits;
use windlass_core::{Clock, QueueName, Result};
use windlass_redis_link::LinkAddress;
use windlass_redis_link::{Link, LinkMode};

pub use crate::fast_path::ScriptChoice;
use crate::keys::Keys;
use crate::partition::Shared;
use crate::queue::Queue;
use crate::schema;
use crate::script::{ClockSource, Script, Scripts};

/// Options of [`RedisStore::open`].
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The clock (default: the clock of the Redis server). Tests set their own.
    pub clock: Option<Arc<dyn Clock>>,
    /// Size limits of jobs.
    pub limits: Limits,
    /// Which scripts to use. Tests set it.
    #[doc(hidden)]
    pub scripts: ScriptChoice,
}

/// A store on Redis or Valkey: one server, Sentinel or Cluster. Cheap to clone.
#[derive(Clone)]
pub struct RedisStore {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) limits: Limits,
    pub(crate) registry: Keys,
    queues: Mutex<HashMap<QueueName, Arc<Queue>>>,
}

impl RedisStore {
    /// Opens the store at `url`: `redis://…`, `rediss://…`, `redis+unix://…`, `redis-sentinel://…`
    /// or `redis-cluster://…`.
    pub async fn open(url: &str, options: Options) -> Result<Self> {
        let store = Self::connect(url, options).await?;
        Box::pin(schema::check(store.link(), &store.inner.registry)).await?;
        Ok(store)
    }

    /// Connects to the store, whatever schema it has.
    pub(crate) async fn connect(url: &str, options: Options) -> Result<Self> {
        let address = LinkAddress::parse(url)?;
        // Boxed: the nested future is too deep for the compiler in some callers.
        let link = Box::pin(Link::open(&address, LinkMode::Store)).await?;
        let source = match options.clock {
            None => ClockSource::Redis,
            Some(_) => ClockSource::Argument,
        };
        let registry = Keys::of_registry(&address.prefix);
        let shared = Shared {
            link,
            scripts: Scripts::of(source),
            clock: options.clock,
            choice: options.scripts,
        };
        Ok(Self {
            inner: Arc::new(Inner {
                shared: Arc::new(shared),
                limits: options.limits,
                registry,
                queues: Mutex::default(),
            }),
        })
    }

    /// Returns the in-process state of a queue.
    pub(crate) fn queue(&self, name: &QueueName) -> Arc<Queue> {
        let mut queues = self
            .inner
            .queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(name) {
            return Arc::clone(queue);
        }
        let queue = Queue::new(Arc::clone(&self.inner.shared), name.clone());
        queues.insert(name.clone(), Arc::clone(&queue));
        queue
    }

    pub(crate) fn link(&self) -> &Link {
        &self.inner.shared.link
    }

    /// Runs a script on the registry's keys.
    pub(crate) async fn registry(
        &self,
        script: &'static Script,
        args: Vec<bytes::Bytes>,
    ) -> Result<redis::Value> {
        let call = self.inner.shared.call(&self.inner.registry, script, args);
        self.link().run_idempotent(&call).await
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisStore({:?})", self.inner.shared.link)
    }
}
