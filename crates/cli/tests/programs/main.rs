//! `exec` and `worker` with real processes: one file per subject.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "../cli/sandbox.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod sandbox;

mod arguments;
mod crashes;
mod environment;
mod exits;
mod log;
mod output;
mod progress;
mod protocol;
mod redis;
mod resident_stop;
mod running;
mod sizes;
mod start;
mod stop;
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod test_store;
mod tree;
mod usage;
