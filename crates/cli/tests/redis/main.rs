//! The command line contract on Redis: the same tests as on a file, and what only servers do.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

#[path = "../cli/bad_input.rs"]
mod bad_input;
#[path = "../cli/changes.rs"]
mod changes;
#[path = "../cli/clean.rs"]
mod clean;
#[path = "../cli/json.rs"]
mod json;
#[path = "../cli/ndjson.rs"]
mod ndjson;
#[path = "../cli/payload.rs"]
mod payload;
#[path = "../cli/refusals.rs"]
mod refusals;
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
mod config;
mod demo;
mod doctor;
mod forms;
mod place;
