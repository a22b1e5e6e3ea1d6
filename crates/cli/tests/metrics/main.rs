//! Metrics of real processes: compared with the store, and read by a real Prometheus.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "../cli/sandbox.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod sandbox;

#[path = "../programs/test_store.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod test_store;

#[path = "../http/server.rs"]
#[allow(dead_code, reason = "shared with tests that use all of it")]
mod server;

mod ledger;
mod prometheus;
mod scrape;
mod trace;
