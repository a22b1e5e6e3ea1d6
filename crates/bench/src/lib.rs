//! Load through the real client and worker, compared with the bare engine in the same run.
//!
//! The library behind `windlass bench` and `windlass demo`, which needs no test helper. The program
//! `windlass-bench` adds private servers, other queues and the page docs/performance.md.
//!
//! # Map
//!
//! In reading order: [`Arguments`] choose scenarios and a [`LoadPlan`], which defines the load; a
//! [`LoadTarget`] is a temporary store, and a [`Bench`] runs a [`Scenario`] on one or more targets and
//! returns a [`Report`] for each, or a [`QuickReport`] without a scenario. [`worker`] is the worker
//! process of the crash scenario; [`WorkerProcesses`] runs several of them. [`ended_jobs`] lists
//! finished jobs, to find lost ones.
//!
//! Internally: `scenario` has one file per scenario, `load` drives the client and the worker, `bare`
//! does the same work on the bare engine, `probe` reads CPU and memory costs, `measure` computes
//! metrics. A `context` is what a scenario works with.

mod aof;
mod bare;
mod bench;
mod connection;
mod context;
mod ended;
mod error;
mod load;
mod measure;
mod plan;
mod probe;
mod processes;
mod progress;
mod quick;
mod report;
mod scenario;
mod target;
mod tasks;
pub mod worker;

pub use aof::Aof;
pub use bench::Bench;
pub use ended::{ended_jobs, keep_ended};
pub use measure::{Metric, Spread};
pub use plan::{Arguments, LoadPlan};
pub use processes::WorkerProcesses;
pub use progress::ProgressReport;
pub use quick::{Limit, QuickReport, Ratio, WaitTimes};
pub use report::{Measured, Report};
pub use scenario::Scenario;
pub use target::LoadTarget;
