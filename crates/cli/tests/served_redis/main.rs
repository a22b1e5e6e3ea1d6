//! The command line contract on a Redis store behind `windlass serve`: the tests shared with SQLite.

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
#[path = "../cli/undelivered.rs"]
mod undelivered;
#[path = "../cli/verbs.rs"]
mod verbs;
#[path = "../cli/wait.rs"]
mod wait;

#[path = "../served/server.rs"]
mod server;
mod test_store;
