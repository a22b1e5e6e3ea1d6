//! Blueque: Windlass's guarantees, with and without the real client.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

mod clean;
mod consistency;
mod cuts;
mod document;
mod fixture;
mod fleet;
mod listening;
mod orphans;
mod peer;
mod real;
mod tasks;
