//! `windlass interop`: runs the real program on the keys of the older systems.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

#[path = "../cli/sandbox.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod sandbox;

#[path = "../programs/test_store.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod test_store;

mod blueque;
mod bridge;
mod delayed_queue;
mod redis_work_queue;
mod worqr;
