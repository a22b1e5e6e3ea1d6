//! Bridges from the Processor Job Queue, the Delayed Queue App and Worqr: every state is migrated, and
//! a bridge that is killed at any command loses nothing and makes no second job.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

mod delayed_queue;
mod fixture;
mod kills;
mod processor;
mod worqr;
