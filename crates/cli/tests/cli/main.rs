//! The command line contract, held by running the real program: one file per subject.
//!
//! Files that do not speak of files run on Redis as well: see the list in `tests/redis/main.rs`.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod bad_input;
mod bad_store;
mod changes;
mod checks;
mod clean;
mod config;
mod doctor;
mod exit_codes;
mod full_disk;
mod health;
mod json;
mod ndjson;
mod output;
mod payload;
mod place;
mod refusals;
mod remarks;
mod sandbox;
mod snapshot;
mod tail;
mod unheard;
mod verbs;
mod wait;
