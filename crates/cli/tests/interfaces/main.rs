//! `windlass stdio` and `windlass processor`, tested by running the real program.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

#[path = "../cli/sandbox.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod sandbox;

#[path = "../programs/test_store.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod test_store;

mod hostile;
mod hostile_lines;
mod pipes;
mod processor;
mod simulated_workers;
mod stdio;
