//! Connections are cut again and again.

use std::sync::Arc;
use std::time::Duration;

use windlass_testkit::redis::Server;

use crate::support::{Hand, counted, rounds, with};
use crate::workload::{Crew, Plan};

/// At least this often.
const CUTS: u32 = 40;

const CUT: &[&str] = &["CLIENT", "KILL", "TYPE", "normal"];
const CUT_WATCHERS: &[&str] = &["CLIENT", "KILL", "TYPE", "pubsub"];

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_nothing_hangs_while_connections_are_cut() {
    let server = Arc::new(Server::start());
    let crew = Crew::start(Plan::new(&server.url(), "q", Duration::from_secs(6))).await;
    let storm = Hand::start(&server, 20..50, &[CUT, CUT, CUT, CUT_WATCHERS]);
    let mut cuts = 0;
    // How many jobs are done between two cuts depends on the machine.
    while cuts <= u64::from(CUTS * rounds()) {
        crew.go_on(100).await;
        cuts = with(&server, |server| {
            counted(server, "commandstats", "cmdstat_client|kill")
        })
        .await;
    }
    drop(storm);
    crew.go_on(20).await;

    let ended = crew.finish().await;

    println!("connections were cut {cuts} times");
    ended.assert_sound();
    ended.assert_only_away();
}
