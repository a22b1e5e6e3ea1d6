//! The server is killed and restarted.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::store::DurabilityLevel;
use windlass_testkit::redis::{Fsync, Server, ServerOptions};

use crate::support::{rounds, with};
use crate::workload::{Plan, Workload};

/// Enough to open a store on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(6);

/// Longer than the timeout of a call.
const DOWNTIME: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread")]
async fn what_was_synced_survives_a_server_that_is_killed() {
    let server = ServerOptions::new().append_only(Fsync::Always).start();
    let server = Arc::new(server);
    let plan = Plan::new(&server.url(), "q", TIMEOUT).durable("synced", DurabilityLevel::Synced);
    let workload = Workload::start(plan).await;
    for _ in 0..3 * rounds() {
        workload.wait_for_jobs(100).await;
        kill_and_restart(&server, Duration::from_millis(fastrand::u64(..800))).await;
        workload.wait_for_jobs(50).await;
    }

    let report = workload.finish().await;

    report.assert_sound();
    report.assert_only_unavailable();
}

/// Checks that the ledger of the test above can detect a loss.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_keeps_nothing_is_detected() {
    let server = Arc::new(Server::start());
    let workload = Workload::start(Plan::new(&server.url(), "q", TIMEOUT)).await;
    workload.wait_for_jobs(50).await;
    kill_and_restart(&server, Duration::ZERO).await;
    workload.wait_for_jobs(20).await;

    let violations = workload.finish().await.violations();

    let is_lost = |what: &str| what.contains("is lost");
    assert!(violations.iter().any(|found| is_lost(&found.what)));
}

/// The server is down for longer than the timeout of a call: calls fail in time, and work resumes.
#[tokio::test(flavor = "multi_thread")]
async fn calls_return_in_time_while_the_server_is_down() {
    let server = ServerOptions::new().append_only(Fsync::Always).start();
    let server = Arc::new(server);
    let plan = Plan::new(&server.url(), "q", TIMEOUT).durable("synced", DurabilityLevel::Synced);
    let workload = Workload::start(plan).await;
    workload.wait_for_jobs(50).await;
    // First killed (connections are refused), then stopped (connections hang).
    kill_and_restart(&server, DOWNTIME).await;
    workload.wait_for_jobs(50).await;
    with(&server, Server::stop).await;
    sleep(DOWNTIME).await;
    with(&server, Server::resume).await;
    workload.wait_for_jobs(50).await;

    let report = workload.finish().await;

    assert!(!report.errors().is_empty());
    report.assert_sound();
    report.assert_only_unavailable();
}

async fn kill_and_restart(server: &Arc<Server>, downtime: Duration) {
    with(server, Server::kill).await;
    sleep(downtime).await;
    with(server, Server::restart).await;
}
