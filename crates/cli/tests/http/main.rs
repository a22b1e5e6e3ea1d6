//! The HTTP API of the real program, on SQLite and on Redis, one file per topic.

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

mod due;
mod log;
mod moving;
mod pull_worker;
mod secrets;
mod server;
mod serving;
mod submit;
mod verbs;
mod watch;
