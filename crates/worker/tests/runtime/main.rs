//! The promises of the runtime, with real handlers on the memory store.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails at that line"
)]

mod claims;
mod faulty_store;
mod fixture;
mod outcomes;
mod queues;
mod stopping;
mod store_errors;
#[path = "../shared/tapped_store.rs"]
mod tapped_store;
