//! Any program as a worker: one process per job, or a resident one that speaks JSON lines.
//!
//! The runtime of `windlass-worker` claims, renews, retries and stops; here is only what runs a job.
//! A job's values never become code: they are single arguments, variables and standard input.
//!
//! # Map
//!
//! [`exec`] runs a process per job. [`template`] fills a job's values into its command, [`exits`]
//! says what its end means. [`resident`] keeps processes that take job after job; its lines are in
//! `resident/protocol.rs`. [`run`] runs a program for something that is no job. All start their
//! processes by [`guard`], with the variables of [`environment`]; `process.rs` ends them with all
//! that they started. `service.rs`, `output.rs`, `lines.rs`, `log.rs`, `tail.rs` and `progress.rs`
//! read what they write, with bounds; remarks go to [`talk`].

pub mod environment;
pub mod exec;
pub mod exits;
pub mod guard;
mod job;
mod lines;
mod log;
mod output;
mod process;
mod progress;
pub mod resident;
pub mod run;
#[cfg(test)]
mod sample;
mod service;
mod spawn;
mod tail;
pub mod talk;
pub mod template;

pub use environment::Environment;
pub use exec::{Exec, ExecOptions, Keep, Stdin};
pub use exits::ExitMap;
pub use guard::Launch;
pub use resident::{Resident, ResidentOptions};
pub use run::{Ended, Run, Starter};
pub use talk::Talk;
pub use template::Template;
