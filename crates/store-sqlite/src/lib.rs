//! The embedded store: one SQLite file, used by many processes of one machine at once.
//!
//! ```
//! use windlass_core::{ClaimRequest, NewJob, QueueName, Store};
//! use windlass_store_sqlite::{Options, SqliteStore};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> windlass_core::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("jobs.db");
//! let store = SqliteStore::open(&path, Options::default())?;
//! let mail = QueueName::new("mail")?;
//! store.enqueue(&mail, vec![NewJob::new("hello")]).await?;
//! let claim = store.claim(&mail, ClaimRequest::single(1)).await?.expect("a job is ready");
//! assert_eq!(claim.jobs[0].payload.as_ref(), b"hello");
//! # Ok(()) }
//! ```
//!
//! # Map
//!
//! `place` finds the file and says whose it is; [`open`] opens it, and `schema.sql` is its shape;
//! `room` keeps a little of the disk free.
//! `writer` is the one thread that writes: it gathers calls, takes the `turnstile` and commits them
//! together; `reader` reads; `bell` wakes other processes. `step` is one verb's view of one queue
//! with its `figures`, and `row` a stored job. The verbs have a file each: `enqueue`, `claim` (and
//! `take`), `renew`, `settle`, `change`; `reap`, `finish`, `upkeep` and `audit` are what happens by
//! itself. `look` is what readers see, `workers` the registry, `store` the contract's methods,
//! `fault` the words for what SQLite says.

mod audit;
mod bell;
mod change;
mod claim;
mod dump;
mod enqueue;
mod fault;
mod figures;
mod finish;
mod hold;
mod look;
mod mount;
pub mod open;
mod place;
#[cfg(test)]
mod plans;
mod reader;
mod reap;
mod renew;
mod room;
mod row;
mod settle;
mod step;
mod store;
mod take;
mod turnstile;
mod upkeep;
mod workers;
mod writer;

pub use open::{Info, Options, SqliteStore, Synchronous};
