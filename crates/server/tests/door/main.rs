//! The HTTP door, held by real connections to a real server on the memory store: one file per subject.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod bounds;
mod claims;
mod crowd;
mod delayed;
mod events;
mod hostile;
mod limits;
mod moving;
mod promises;
mod scene;
mod slow;
mod streams;
mod sweep;
mod verbs;
