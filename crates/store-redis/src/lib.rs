//! A store for several machines on Redis or Valkey: one atomic script per verb, no server of its own.
//!
//! ```no_run
//! use windlass_core::{ClaimRequest, NewJob, QueueName, Store};
//! use windlass_store_redis::{Options, RedisStore};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> windlass_core::Result<()> {
//! let store = RedisStore::open("redis://127.0.0.1:6379/0", Options::default()).await?;
//! let mail = QueueName::new("mail")?;
//! store.enqueue(&mail, vec![NewJob::new("hello")]).await?;
//! let claim = store.claim(&mail, ClaimRequest::single(1)).await?.expect("a job is ready");
//! assert_eq!(claim.jobs[0].payload.as_ref(), b"hello");
//! # Ok(()) }
//! ```
//!
//! # Map
//!
//! `docs/redis-layout.md` describes the stored data: `keys` names the keys, `codec` decodes the
//! values, and the Lua files change them; `script` builds each script from its file and the files
//! it uses. [`windlass_redis_link`] sends the calls, `batcher` merges them, `call_slots` numbers them,
//! `fast_path` chooses the script.
//! `partition` is one partition of a queue, with a file per group of verbs: `enqueue`, `claim`,
//! `claim_wait`, `outcome`, `change`, `read`, `explain`, `maintenance`, `audit`; `queue` is all partitions of a
//! queue. [`open`] opens the store, `schema` checks its version, `migrate` converts an older one, `store` implements [`Store`](windlass_core::Store), `watch` has the
//! notifications, `workers` the registry, `actions` the log of operator actions; [`admin`] is for operators, `fuzz` for the fuzz targets.

mod actions;
pub mod admin;
mod audit;
mod batcher;
mod call_slots;
mod change;
mod claim;
mod claim_wait;
#[cfg_attr(
    not(feature = "dump"),
    expect(dead_code, reason = "only a dump reads some of the stored forms")
)]
mod codec;
#[cfg(feature = "dump")]
mod dump;
mod enqueue;
mod errors;
mod explain;
mod fast_path;
#[cfg(feature = "dump")]
#[doc(hidden)]
pub mod fuzz;
mod group;
mod keys;
mod maintenance;
mod migrate;
pub mod open;
mod outcome;
mod partition;
mod queue;
mod read;
mod schedule;
mod schema;
mod script;
mod store;
mod watch;
mod workers;

pub use admin::{RedisInfo, check_url};
pub use migrate::MigratedPage;
pub use open::{Options, RedisStore};
pub use windlass_redis_link::ServerInfo;
