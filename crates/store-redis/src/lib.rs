//! The store for many machines: Redis or Valkey, one atomic script per verb, no server of ours.
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
//! What stands in Redis is written down in `docs/redis-layout.md`: `keys` names the keys, `codec`
//! reads the values, and the Lua files change them, one script per verb; `script` puts a script
//! together from its file and the parts it uses. `address` reads a URL, `link` leads to the
//! servers it names, `fault` is the words for what they say, `gather` brings calls together.
//! `part` is one slot's share of a queue with a file for each family of verbs: `enqueue`, `claim`,
//! `settle`, `change`, `look`, `upkeep`, `audit`, `sleep`; `queue` is all parts of a queue. [`open`]
//! opens the store, `store` has the contract's methods, `watch` the hints, `workers` the registry;
//! [`admin`] is for operators, [`guest`] for the keys of other systems.

mod address;
pub mod admin;
mod audit;
mod batcher;
mod change;
mod claim;
mod claim_wait;
mod codec;
mod dump;
mod enqueue;
mod fault;
pub mod guest;
mod keys;
mod link;
mod maintenance;
pub mod open;
mod outcome;
mod partition;
mod queue;
mod read;
mod reply;
mod script;
mod store;
mod watch;
mod workers;

pub use admin::{Facts, check_url};
pub use link::ServerFacts;
pub use open::{Options, RedisStore};
