//! Somebody empties the database under load: jobs are gone, the store is not.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{ClaimRequest, NewJob, Setting, Store};
use windlass_testkit::redis::Server;

use crate::support::{open, queue, rounds, with};
use crate::workload::{Crew, Plan};

#[tokio::test(flavor = "multi_thread")]
async fn work_goes_on_after_the_database_was_emptied() {
    let server = Arc::new(Server::start());
    let crew = Crew::start(Plan::new(&server.url(), "q", Duration::from_secs(20))).await;
    for _ in 0..3 * rounds() {
        crew.go_on(100).await;
        with(&server, |server| server.command(&["FLUSHALL"]).ok()).await;
        crew.go_on(100).await;
        let store = open(&server.url()).await;
        assert_eq!(store.queues().await.unwrap(), [queue("q")]);
    }
    let calls = crew.calls.clone();

    let ended = crew.finish().await;

    ended.assert_untroubled();
    // What they were told before is gone with the data; that somebody waited for ever is not.
    let faults = ended.violations();
    assert!(
        !faults
            .iter()
            .any(|fault| fault.what.contains("did not answer")),
        "{faults:?}"
    );
    println!("{} calls, the longest {:?}", calls.count(), calls.longest());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partitioned_queue_is_made_again_after_the_database_was_emptied() {
    let server = Server::start();
    let store = open(&server.url()).await;
    let q = queue("q");
    let four: Setting = "partitions=4".parse().unwrap();
    store.set(&q, vec![four]).await.unwrap();
    let jobs = || {
        (0..20)
            .map(|n| NewJob::new(n.to_string()))
            .collect::<Vec<_>>()
    };
    store.enqueue(&q, jobs()).await.unwrap();

    server.command(&["FLUSHALL"]).ok();

    store.enqueue(&q, jobs()).await.unwrap();
    assert_eq!(store.queues().await.unwrap(), std::slice::from_ref(&q));
    let mut found = 0;
    while let Some(claim) = store.claim(&q, ClaimRequest::single(100)).await.unwrap() {
        found += claim.jobs.len();
    }
    assert_eq!(found, 20);
}
