//! Runs any program as a handler: one process per job, or resident processes that speak JSON lines.
//!
//! The runtime of `windlass-worker` claims, renews, retries and stops; this crate only runs the jobs.
//! Values of a job never become code: they are passed as single arguments, variables and stdin.
//!
//! # Map
//!
//! [`exec`] starts a process per job. [`template`] substitutes a job's values into the command, and
//! [`exits`] maps exit statuses to outcomes. [`resident`] keeps processes that run job after job; its
//! messages are in `resident/protocol.rs`. [`run`] runs a program outside of a job. [`program`] finds a program
//! at start. All processes are started by a [`Starter`], through [`parent_death`], with the variables of
//! [`environment`]; `process.rs` ends them together with their children. `pipes.rs`, `output.rs`, `log.rs` and `progress.rs`
//! read their output with bounded memory; log lines go to a [`LogSink`].

pub mod environment;
pub mod exec;
pub mod exits;
mod job;
mod log;
mod output;
pub mod parent_death;
mod pipes;
mod process;
pub mod program;
mod progress;
pub mod resident;
pub mod run;
#[cfg(test)]
mod sample;
mod spawn;
pub mod template;

pub use environment::{Environment, EnvironmentArgs};
pub use exec::{Exec, ExecOptions, KeepOutput, Stdin};
pub use exits::ExitMap;
pub use log::LogSink;
pub use parent_death::Launch;
pub use resident::{Resident, ResidentOptions};
pub use run::{ProgramExit, RunningProgram, Starter};
pub use template::Template;
