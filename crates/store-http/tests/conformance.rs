//! Runs the conformance suite on a memory store behind a server, with a token.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::Arc;

use windlass_core::{ManualClock, Store};
use windlass_server::{CancellationToken, HttpServer, Options, Tokens};
use windlass_store_http::RemoteStore;
use windlass_store_memory::MemoryStore;
use windlass_testkit::StoreUnderTest;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// What a remote store does not promise.
const EXCEPT: &[&str] = &[
    // The token of a running job is a secret of its lease holder: no read returns it over HTTP.
    "a_claim_shows_the_job_running",
    "a_dispatched_job_runs_and_is_not_accepted",
    "reads_return_what_the_dump_shows",
    // The server writes the log, for the requests it gets.
    "actions_are_listed_newest_first_each_once",
    "an_action_is_read_as_it_was_logged",
    "an_action_logged_while_paging_moves_nothing",
    "the_log_of_actions_is_bounded",
    // The first event of a new queue is `resync`. A known queue is in the other cases.
    "a_notification_is_sent_for_new_work",
    // The server computes the instants of schedules: it asks for none, and accepts none.
    "a_jittered_instant_fires_after_its_offset",
    "a_refill_of_another_revision_changes_nothing",
    "racing_refills_count_missed_instants_once",
];

/// Stops the server with the test.
struct Stop(CancellationToken);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

async fn open(clock: Arc<ManualClock>) -> StoreUnderTest {
    let served = Arc::new(MemoryStore::new(clock));
    let mut options = Options::new("127.0.0.1:0".parse().unwrap()).unwrap();
    options.tokens = Tokens::single(TOKEN).unwrap();
    let server = HttpServer::bind(Arc::clone(&served) as Arc<dyn Store>, options)
        .await
        .unwrap();
    let remote = RemoteStore::with_token(&server.url(), TOKEN).unwrap();
    let stop = CancellationToken::new();
    tokio::spawn(server.run(stop.clone()));
    let mut under_test = StoreUnderTest::dumped_by(remote, served, Stop(stop));
    under_test.except = EXCEPT;
    under_test
}

windlass_testkit::conformance!(open);
