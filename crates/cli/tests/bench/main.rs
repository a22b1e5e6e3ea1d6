//! `windlass bench` by the real program: small runs that end, with figures that can be true. No
//! speed is asserted.

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

mod clearing;
mod contract;
mod refusals;
mod scenarios;
