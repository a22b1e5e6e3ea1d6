//! What the documents show is what happens: their commands are run as they are written.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

#[path = "../cli/sandbox.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod sandbox;

#[path = "../programs/place.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod place;

#[path = "../http/caller.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod caller;

#[path = "../cli/output/mask.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod mask;

mod blocks;
mod http;
mod interop;
mod page;
mod programs;
mod readme;
mod redis;
mod shell;
