//! The HTTP door of the real program, on a file and on Redis: one file per subject.

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

mod server;
mod due;
mod secrets;
mod serving;
mod submit;
mod verbs;
