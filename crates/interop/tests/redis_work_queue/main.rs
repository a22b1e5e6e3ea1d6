//! redis-work-queue: Windlass's guarantees, alone and with the real clients.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

mod clean;
mod cleaners;
mod cuts;
mod exchange;
mod fixture;
mod fleet;
mod lease;
mod peer;
mod queue;
