//! redis-work-queue: what ours promises, and that it gets on with the real clients.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod bench;
mod clean;
mod cleaners;
mod cuts;
mod exchange;
mod fleet;
mod lease;
mod peer;
mod queue;
