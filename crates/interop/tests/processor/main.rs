//! Sessions with the dispatcher of the Processor Job Queue, line by line, on the memory store with a manual clock.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod ending;
mod lists;
mod liveness;
mod script;
mod ticks;
mod topics;
