//! The server is killed and comes back.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::DurabilityLevel;
use windlass_testkit::redis::{Fsync, Server, ServerOptions};

use crate::support::{rounds, with};
use crate::workload::{Crew, Plan};

/// Enough to open a store on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(6);

/// Longer than any call may take.
const AWAY: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread")]
async fn what_was_synced_outlives_a_server_that_is_killed() {
    let server = ServerOptions::new().append_only(Fsync::Always).start();
    let server = Arc::new(server);
    let plan = Plan::new(&server.url(), "q", TIMEOUT).durable("synced", DurabilityLevel::Synced);
    let crew = Crew::start(plan).await;
    for _ in 0..3 * rounds() {
        crew.go_on(100).await;
        kill_and_restart(&server, Duration::from_millis(fastrand::u64(..800))).await;
        crew.go_on(50).await;
    }

    let ended = crew.finish().await;

    ended.assert_sound();
    ended.assert_only_away();
}

/// The ledger of the test above is able to see a loss.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_keeps_nothing_is_found_out() {
    let server = Arc::new(Server::start());
    let crew = Crew::start(Plan::new(&server.url(), "q", TIMEOUT)).await;
    crew.go_on(50).await;
    kill_and_restart(&server, Duration::ZERO).await;
    crew.go_on(20).await;

    let violations = crew.finish().await.violations();

    let is_lost = |what: &str| what.contains("is lost");
    assert!(violations.iter().any(|found| is_lost(&found.what)));
}

/// A server that is away for longer than any call may take: calls say so in time, and go on.
#[tokio::test(flavor = "multi_thread")]
async fn calls_answer_in_time_while_the_server_is_away() {
    let server = ServerOptions::new().append_only(Fsync::Always).start();
    let server = Arc::new(server);
    let plan = Plan::new(&server.url(), "q", TIMEOUT).durable("synced", DurabilityLevel::Synced);
    let crew = Crew::start(plan).await;
    crew.go_on(50).await;
    // Killed, then only stopped: connections are refused, and then they hang.
    kill_and_restart(&server, AWAY).await;
    crew.go_on(50).await;
    with(&server, Server::stop).await;
    sleep(AWAY).await;
    with(&server, Server::resume).await;
    crew.go_on(50).await;

    let ended = crew.finish().await;

    assert!(!ended.troubles().is_empty());
    ended.assert_sound();
    ended.assert_only_away();
}

async fn kill_and_restart(server: &Arc<Server>, away: Duration) {
    with(server, Server::kill).await;
    sleep(away).await;
    with(server, Server::restart).await;
}
