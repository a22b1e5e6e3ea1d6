//! The command line contract, tested by running the real program: one file per subject.
//!
//! Tests that are independent of the store run on Redis as well: see `tests/redis/main.rs`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod bad_input;
mod bad_store;
mod changes;
mod checks;
mod completions;
mod config;
mod confirm;
mod doctor;
mod duplicates;
mod exit_codes;
mod full_disk;
mod groups;
mod health;
mod json;
mod lists;
mod maintain;
mod ndjson;
mod notes;
mod output;
mod payload;
mod refusals;
mod sandbox;
mod snapshot;
mod tail;
mod terminal;
mod test_store;
mod top;
mod undelivered;
mod verbs;
mod wait;
