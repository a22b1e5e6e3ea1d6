//! Load through the real client and worker, beside the bare engine in the same run.
//!
//! `windlass bench` is the only door; this is what it does.
//!
//! # Map
//!
//! In reading order: a [`Plan`] says how much load, a [`Place`] is a store of one's own, and a
//! [`Bench`] runs a [`Scenario`] on one or more places and answers a [`Report`] for each. Without a
//! scenario it answers a [`Quick`] look. [`worker`] is what a worker process does; a [`Crew`] are
//! several of them. Among [`ended_jobs`] every job that was accepted is looked for.
//!
//! Within: `scenario` has one file per scenario, `load` is what we do by the doors that users have,
//! `bare` is the same work where nothing is promised, `probe` reads what it cost, `measure` makes
//! figures of it. A `stage` is what a scenario has at hand.

mod aof;
mod bare;
mod bench;
mod connection;
mod crew;
mod ended;
mod fault;
mod load;
mod measure;
mod place;
mod plan;
mod probe;
mod progress;
mod quick;
mod report;
mod scenario;
mod stage;
mod tasks;
pub mod worker;

pub use aof::Aof;
pub use bench::Bench;
pub use crew::Crew;
pub use ended::{ended_jobs, keep_ended};
pub use measure::{Figure, Spread};
pub use place::Place;
pub use plan::Plan;
pub use progress::{Progress, Silent};
pub use quick::{Limit, Quick, Ratio, Waits};
pub use report::Report;
pub use scenario::Scenario;
