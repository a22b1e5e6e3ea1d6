//! `windlass bench` with the real program: small runs with plausible results. No speed is asserted.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "../cli/sandbox.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod sandbox;

#[path = "../programs/test_store.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod test_store;

mod cleanup;
mod contract;
mod refusals;
