//! The Delayed Queue App: Windlass's guarantees, alone and next to the original's commands.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

mod cuts;
mod fixture;
mod fleet;
mod jobs;
mod mixed;
mod original;
mod rescue;
mod route;
