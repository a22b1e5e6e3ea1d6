//! What the library promises, on the store in memory: most of it on a clock that moves when told.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod client;
mod handlers;
mod hooks;
mod jobs;
mod kit;
mod once;
mod stores;
mod worker;
