//! A list of packed strings, and a script that finishes a batch and fetches the next. No ids, leases,
//! tokens or retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, FromRedisValue};
use windlass::{Result, StoreUrl};

use crate::connection::{connect, prefix};
use crate::error;
use crate::load::{batches, shares};
use crate::measure::real;
use crate::tasks::Tasks;

/// The size of a job id, added to the payload.
const ID_BYTES: usize = 26;

const SCRIPT: &str = "redis.call('DEL', KEYS[2]) \
    local jobs = redis.call('LPOP', KEYS[1], ARGV[1]) \
    if jobs then redis.call('RPUSH', KEYS[2], unpack(jobs)) end return jobs";

/// Maximum number of values for Lua's `unpack`, well below its limit.
const FETCH_MAX: usize = 1_000;

/// The bare queue on Redis.
#[derive(Debug)]
pub(crate) struct BareRedis {
    connection: MultiplexedConnection,
    key: String,
    packed: Arc<[u8]>,
    script: String,
    tasks: Tasks,
}

impl BareRedis {
    pub(super) async fn open(url: &StoreUrl, payload: usize, tasks: Tasks) -> Result<Option<Self>> {
        let Some(connection) = connect(url).await? else {
            return Ok(None);
        };
        let script = query(&connection, redis::cmd("SCRIPT").arg("LOAD").arg(SCRIPT)).await?;
        let mut bare = Self {
            connection,
            // Under the store's prefix, so that it is removed with the store.
            key: format!("{}:{{bare}}:jobs", prefix(url)),
            packed: vec![b'x'; ID_BYTES + payload].into(),
            script,
            tasks,
        };
        bare.clear().await?;
        Ok(Some(bare))
    }

    pub(super) async fn enqueue(&self, jobs: u64, batch: usize, callers: usize) -> Result<f64> {
        let began = Instant::now();
        let callers = shares(jobs, callers).map(|share| {
            let (connection, key, packed) = (
                self.connection.clone(),
                self.key.clone(),
                Arc::clone(&self.packed),
            );
            async move {
                for count in batches(share, batch) {
                    let mut push = redis::cmd("RPUSH");
                    push.arg(&key);
                    for _ in 0..count {
                        push.arg(&packed[..]);
                    }
                    query::<i64>(&connection, &push).await?;
                }
                Ok(())
            }
        });
        self.tasks.all(callers).await?;
        Ok(real(jobs) / began.elapsed().as_secs_f64())
    }

    pub(super) async fn drain(&self, batch: usize, callers: usize) -> Result<f64> {
        let done = Arc::new(AtomicU64::new(0));
        let began = Instant::now();
        let callers = (0..callers).map(|number| {
            let mut fetch = redis::cmd("EVALSHA");
            fetch.arg(&self.script).arg(2).arg(&self.key);
            fetch.arg(format!("{}{number}", self.key));
            fetch.arg(batch.min(FETCH_MAX));
            let (connection, done) = (self.connection.clone(), Arc::clone(&done));
            async move {
                while let Some(fetched) = query::<Option<Vec<Vec<u8>>>>(&connection, &fetch).await?
                {
                    done.fetch_add(fetched.len() as u64, Ordering::Relaxed);
                }
                Ok(())
            }
        });
        self.tasks.all(callers).await?;
        Ok(real(done.load(Ordering::Relaxed)) / began.elapsed().as_secs_f64())
    }

    pub(super) async fn clear(&mut self) -> Result<()> {
        query::<i64>(&self.connection, redis::cmd("DEL").arg(&self.key)).await?;
        Ok(())
    }
}

pub(super) async fn query<T: FromRedisValue>(
    connection: &MultiplexedConnection,
    command: &Cmd,
) -> Result<T> {
    let mut connection = connection.clone();
    let reply = command.query_async(&mut connection).await;
    reply.map_err(error::bare_engine)
}
