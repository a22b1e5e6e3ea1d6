//! What the runtime promises, with real handlers on the memory store.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod claims;
mod ends;
mod faults;
mod faulty;
mod queues;
mod scene;
mod stopping;
#[path = "../shared/tapped.rs"]
mod tapped;
