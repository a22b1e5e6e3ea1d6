//! Computes the instants of schedules and refills stores with them. The only crate that depends on a cron
//! parser and on time zone data: stores know instants, never patterns.
//!
//! ```
//! use std::sync::Arc;
//! use windlass_core::store::Rule;
//! use windlass_core::{NewJob, QueueName, Schedule, ScheduleName, Store, SystemClock};
//! # use windlass_store_memory::MemoryStore;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> windlass_core::Result<()> {
//! # let store = MemoryStore::new(Arc::new(SystemClock));
//! let (reports, nightly) = (QueueName::new("reports")?, ScheduleName::new("nightly")?);
//! let rule = Rule::cron("30 2 * * *", "Europe/Berlin")?;
//! let schedule = Schedule::new(nightly.clone(), rule, NewJob::new("report"));
//! windlass_schedule::put(&store, &reports, schedule, None).await?;
//!
//! let record = store.schedule(&reports, &nightly).await?.expect("it was put");
//! assert!(record.instants.len() > 25); // of the next 32 days
//! # Ok(()) }
//! ```

mod instants;
mod local;
mod parse;
mod plan;
mod refill;

pub use instants::Instants;
pub use local::{ClockNote, LocalInstant};
pub use parse::CronPattern;
pub use plan::Plan;
pub use refill::{compute, maintain, put};
