//! FLUSHALL under load: the jobs are lost, but the store keeps working.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::Setting;
use windlass_core::{ClaimRequest, NewJob, Store};
use windlass_testkit::redis::Server;

use crate::support::{open, queue, rounds, with};
use crate::workload::{Plan, Workload};

#[tokio::test(flavor = "multi_thread")]
async fn work_continues_after_a_flush() {
    let server = Arc::new(Server::start());
    let workload = Workload::start(Plan::new(&server.url(), "q", Duration::from_secs(20))).await;
    for _ in 0..3 * rounds() {
        workload.wait_for_jobs(100).await;
        with(&server, |server| server.command(&["FLUSHALL"]).ok()).await;
        workload.wait_for_jobs(100).await;
        let store = open(&server.url()).await;
        assert_eq!(store.queues().await.unwrap(), [queue("q")]);
    }
    let calls = workload.calls.clone();

    let report = workload.finish().await;

    report.assert_no_errors();
    // Lost jobs are expected; calls that never return are not.
    let violations = report.violations();
    assert!(
        !violations
            .iter()
            .any(|found| found.what.contains("did not answer")),
        "{violations:?}"
    );
    println!("{} calls, the longest {:?}", calls.count(), calls.longest());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partitioned_queue_is_recreated_after_a_flush() {
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
