//! Sessions with `windlass stdio`, line by line, on the memory store with a manual clock.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod documents;
mod ending;
mod script;
mod verbs;
