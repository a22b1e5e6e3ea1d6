//! Conversations with the doors, line by line, on the memory store with a clock that moves when told.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod documents;
mod ending;
mod lists;
mod liveness;
mod script;
mod topics;
mod upkeep;
mod verbs;
