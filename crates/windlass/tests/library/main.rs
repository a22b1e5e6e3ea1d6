//! The promises of the library, on the memory store, mostly with a manual clock.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails at that line"
)]

mod client;
mod handlers;
mod jobs;
mod middleware;
mod once;
mod stores;
mod testing;
mod worker;
