//! Any program as a worker, held by running real processes: one file per subject.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

#[path = "../cli/sandbox.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod sandbox;

mod arguments;
mod crashes;
mod environment;
mod exits;
mod output;
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod place;
mod progress;
mod protocol;
mod redis;
mod resident_stop;
mod running;
mod sizes;
mod stop;
mod tree;
mod usage;
