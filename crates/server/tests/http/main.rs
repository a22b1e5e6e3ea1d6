//! Tests of the HTTP API over real connections to a server on the memory store, one file per topic.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod bounds;
mod browser;
mod bulk;
mod claims;
mod crowd;
mod dashboard;
mod duplicates;
mod events;
mod export_import;
mod fixture;
mod framing;
mod groups;
mod hostile;
mod limits;
mod live;
mod memory;
mod pages;
mod schedules;
mod scopes;
mod security_page;
mod slow;
mod streams;
mod verbs;
