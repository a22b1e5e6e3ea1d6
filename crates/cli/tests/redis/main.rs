//! The command line contract on Redis: the tests shared with SQLite, and those specific to Redis.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "../cli/bad_input.rs"]
mod bad_input;
#[path = "../cli/changes.rs"]
mod changes;
#[path = "../cli/checks.rs"]
mod checks;
#[path = "../cli/duplicates.rs"]
mod duplicates;
#[path = "../cli/groups.rs"]
mod groups;
#[path = "../cli/health.rs"]
mod health;
#[path = "../cli/json.rs"]
mod json;
#[path = "../cli/maintain.rs"]
mod maintain;
#[path = "../cli/ndjson.rs"]
mod ndjson;
#[path = "../cli/notes.rs"]
mod notes;
#[path = "../cli/payload.rs"]
mod payload;
#[path = "../cli/refusals.rs"]
mod refusals;
#[path = "../cli/sandbox.rs"]
mod sandbox;
#[path = "../cli/tail.rs"]
mod tail;
#[path = "../cli/top.rs"]
mod top;
#[path = "../cli/undelivered.rs"]
mod undelivered;
#[path = "../cli/verbs.rs"]
mod verbs;
#[path = "../cli/wait.rs"]
mod wait;

mod access;
mod bad_server;
mod config;
mod demo;
mod doctor;
mod proxy;
mod test_store;
mod topologies;
