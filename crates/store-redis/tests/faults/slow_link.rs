//! Links on which a large request or reply takes longer than one attempt of a call: as long as bytes
//! move, the call goes on.

use std::time::Duration;

use windlass_core::{BootId, ClaimRequest, NewJob, Store};
use windlass_testkit::redis::{Server, SlowProxy};

use crate::support::{eventually, info, open, queue, with_options};

const MIB: usize = 1024 * 1024;

/// 4 MiB, the largest claim and the largest page of an enqueue, take 2.6 s.
const BYTES_PER_SECOND: u32 = 1_600_000;

/// An attempt is half of it.
const TIMEOUT: &str = "timeout=3s";

/// More than a claim hands out.
const JOBS: usize = 6;

fn jobs(count: usize) -> Vec<NewJob> {
    (0..count).map(|_| NewJob::new(vec![b'x'; MIB])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_reply_is_slow_is_not_given_up() {
    let server = Server::start();
    let q = queue("q");
    open(&server.url())
        .await
        .enqueue(&q, jobs(JOBS))
        .await
        .unwrap();
    let proxy = SlowProxy::before(&server, BYTES_PER_SECOND);
    let store = open(&with_options(&proxy.url(), TIMEOUT)).await;
    let boot = BootId::generate();

    let mut claimed = 0;
    for seq in 1..=2 {
        let request = ClaimRequest::worker(boot.clone(), seq, JOBS);
        let claim = store.claim(&q, request).await.unwrap();
        claimed += claim.map_or(0, |claim| claim.jobs.len());
    }

    assert_eq!(claimed, JOBS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_claim_whose_reply_is_slow_is_not_given_up() {
    let server = Server::start();
    let q = queue("q");
    let direct = open(&server.url()).await;
    let proxy = SlowProxy::before(&server, BYTES_PER_SECOND);
    let store = open(&with_options(&proxy.url(), TIMEOUT)).await;
    let mut request = ClaimRequest::single(4);
    let waiting = store.claim_waiting(&q, &mut request, Duration::from_secs(60));
    let enqueue = async {
        eventually("the claim waits", async || {
            match info(&server, "clients", "blocked_clients") {
                1 => Ok(()),
                count => Err(format!("{count} clients are blocked")),
            }
        })
        .await;
        direct.enqueue(&q, jobs(4)).await.unwrap();
    };

    let (claim, ()) = tokio::join!(waiting, enqueue);

    assert_eq!(claim.unwrap().expect("jobs").jobs.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_enqueue_and_calls_behind_it_are_sent_once() {
    let server = Server::start();
    let proxy = SlowProxy::before(&server, BYTES_PER_SECOND);
    let store = open(&with_options(&proxy.url(), TIMEOUT)).await;
    let q = queue("q");
    store.enqueue(&q, vec![NewJob::new("first")]).await.unwrap();
    server.command(&["CONFIG", "RESETSTAT"]).ok();

    let (large, small, stats) = tokio::join!(
        store.enqueue(&q, jobs(4)),
        store.enqueue(&q, vec![NewJob::new("small")]),
        store.stats(&q),
    );

    assert_eq!(large.unwrap().len(), 4);
    assert_eq!(small.unwrap().len(), 1);
    assert!(stats.unwrap().is_some());
    let received = info(&server, "stats", "total_net_input_bytes");
    assert!(received < 5 * MIB as u64, "sent again: {received} bytes");
}
