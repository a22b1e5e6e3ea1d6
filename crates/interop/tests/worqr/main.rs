//! Worqr's operations, held to the recorded keys and channels of the original and to its promises.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod contract;
mod defects;
mod ear;
mod elimination;
mod handle;
mod killed;
mod mixed;
mod original;
mod place;
mod repeats;
mod stepping;
