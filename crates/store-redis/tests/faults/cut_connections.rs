//! Connections are cut repeatedly.

use std::sync::Arc;
use std::time::Duration;

use windlass_testkit::redis::Server;

use crate::support::{RepeatedCommand, rounds};
use crate::workload::{Plan, Workload};

/// Minimum number of cuts.
const CUTS: u32 = 40;

const CUT: &[&str] = &["CLIENT", "KILL", "TYPE", "normal"];
const CUT_SUBSCRIBERS: &[&str] = &["CLIENT", "KILL", "TYPE", "pubsub"];

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_nothing_hangs_while_connections_are_cut() {
    let server = Arc::new(Server::start());
    let workload = Workload::start(Plan::new(&server.url(), "q", Duration::from_secs(6))).await;
    let cutting = RepeatedCommand::start(&server, 20..50, &[CUT, CUT, CUT, CUT_SUBSCRIBERS]);
    // The number of jobs between two cuts depends on the machine.
    while cutting.sent() <= u64::from(CUTS * rounds()) {
        workload.wait_for_jobs(100).await;
    }
    let cuts = cutting.sent();
    drop(cutting);
    workload.wait_for_jobs(20).await;

    let report = workload.finish().await;

    println!("connections were cut {cuts} times");
    report.assert_sound();
    report.assert_only_unavailable();
}
