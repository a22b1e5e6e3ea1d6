//! Opens the store: parses the address, connects and checks the schema.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::store::Limits;
use windlass_core::{Clock, Error, ErrorKind, QueueName, Result};
use windlass_redis_link::LinkAddress;
use windlass_redis_link::{Link, LinkMode};

pub use crate::fast_path::ScriptChoice;
use crate::keys::Keys;
use crate::partition::Shared;
use crate::queue::Queue;
use crate::script::{ClockSource, Script, Scripts};

/// The schema version that this build reads and writes.
const SCHEMA: u64 = 2;

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
        let address = LinkAddress::parse(url)?;
        // Boxed: the nested future is too deep for the compiler in some callers.
        let link = Box::pin(Link::open(&address, LinkMode::Store)).await?;
        let source = match options.clock {
            None => ClockSource::Redis,
            Some(_) => ClockSource::Argument,
        };
        let registry = Keys::of_registry(&address.prefix);
        Box::pin(check_schema(&link, &registry)).await?;
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

/// Writes the schema version to an empty store; rejects a store of a newer Windlass.
async fn check_schema(link: &Link, registry: &Keys) -> Result<()> {
    let key = registry.one("schema");
    let mut get = redis::cmd("GET");
    get.arg(&key[..]);
    let mut set = redis::cmd("SET");
    set.arg(&key[..]).arg(SCHEMA).arg("NX").arg("GET");
    // Read first: a server without free memory rejects writes, but its jobs must still be able to end.
    let mut found = link.ask(&key, &get).await?;
    if found == redis::Value::Nil {
        found = link.ask(&key, &set).await?;
    }
    if found == redis::Value::Nil {
        return Ok(());
    }
    let found = windlass_redis_link::reply::text(found)?;
    match found.parse::<u64>() {
        Ok(schema) if schema <= SCHEMA => Ok(()),
        Ok(schema) => Err(Error::new(
            ErrorKind::StoreNewer,
            format!("the store has schema {schema}, this Windlass supports up to {SCHEMA}"),
            "use the newer Windlass that wrote it, or a separate prefix: ?prefix=NAME",
        )),
        Err(_) => Err(Error::new(
            ErrorKind::StoreForeign,
            format!(
                "the key {} was not written by Windlass",
                String::from_utf8_lossy(&key)
            ),
            "use a separate prefix: ?prefix=NAME, or delete the key if nothing needs it",
        )),
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisStore({:?})", self.inner.shared.link)
    }
}
