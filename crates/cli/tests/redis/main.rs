//! The command line contract on Redis: the same tests as on a file, and what only servers do.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

#[path = "../cli/bad_input.rs"]
mod bad_input;
#[path = "../cli/changes.rs"]
mod changes;
#[path = "../cli/checks.rs"]
mod checks;
#[path = "../cli/clean.rs"]
mod clean;
#[path = "../cli/health.rs"]
mod health;
#[path = "../cli/json.rs"]
mod json;
#[path = "../cli/ndjson.rs"]
mod ndjson;
#[path = "../cli/payload.rs"]
mod payload;
#[path = "../cli/refusals.rs"]
mod refusals;
#[path = "../cli/remarks.rs"]
mod remarks;
#[path = "../cli/sandbox.rs"]
mod sandbox;
#[path = "../cli/unheard.rs"]
mod unheard;
#[path = "../cli/verbs.rs"]
mod verbs;
#[path = "../cli/wait.rs"]
mod wait;

mod access;
mod bad_server;
mod between;
mod config;
mod demo;
mod doctor;
mod forms;
mod place;
