//! The embedded store: one SQLite file, shared by many processes on one machine.
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
//! `file` finds and identifies the file, `owner` refuses files of other users; [`open`] opens it, and
//! `schema.sql`, `schedule.sql`, `group.sql`, `history.sql`, `error_group.sql` and `holder.sql` define its tables, which `schema` creates and compares; `space` keeps a reserve of the disk free, and
//! gives space back; `backup` copies the store.
//! `writer` is the only thread that writes: it batches calls, takes the `write_lock` and commits
//! them together; `reader` reads; both have a `time_limit`. `wakeup` notifies other processes through
//! sockets in a `socket_folder`. `transaction` gives a verb its view of one queue with its `stats`, and
//! `sql` runs a statement, `row` maps a stored job, `lane` orders ready jobs (tests limit the statements: `plans`, `steps`). Each verb has a file:
//! `enqueue` (and `amend`, `tombstone`), `claim` (and `pick`), `renew`, `outcome` (and `lease`), `change`, `schedule`, `history`; `group` and `limit` decide
//! what a claim may start; `reap`, `finish`,
//! `maintenance` and `audit` run without a request for a particular job. `read` and `explain` serve readers,
//! `workers` is the registry, `actions` the log of operator actions, `store` implements the contract by running each `verb` in a transaction, `error` maps errors of SQLite.

mod actions;
mod amend;
mod audit;
mod backup;
mod change;
mod claim;
#[cfg(feature = "dump")]
mod dump;
mod enqueue;
mod error;
mod errors;
mod explain;
mod file;
mod finish;
mod group;
mod history;
mod lane;
mod lease;
mod limit;
mod maintenance;
mod mount;
pub mod open;
mod outcome;
mod owner;
mod pick;
#[cfg(test)]
mod plans;
mod progress;
mod read;
mod reader;
mod reap;
mod renew;
mod row;
mod schedule;
mod schema;
mod socket_folder;
mod space;
mod sql;
mod stats;
#[cfg(test)]
mod steps;
mod store;
mod time_limit;
mod tombstone;
mod transaction;
mod verb;
mod wakeup;
mod workers;
mod write_lock;
mod writer;

pub use open::{Info, Options, SqliteStore, Synchronous};
pub use owner::{StoreFile, files};
pub use space::Compacted;
