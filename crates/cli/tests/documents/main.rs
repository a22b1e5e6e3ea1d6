//! Runs the commands that the documents show, as they are written, and compares what they print.

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

#[path = "../http/server.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod server;

#[path = "../cli/output/mask.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod mask;

mod blocks;
mod deploy;
mod duplicates;
mod first_commands;
mod http;
mod interop;
mod limits;
mod operate;
mod page;
mod programs;
mod readme;
mod redis;
mod schedules;
mod shell;
