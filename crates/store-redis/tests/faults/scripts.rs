//! The server forgets its scripts again and again: nobody is told.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::{ClaimRequest, DurabilityLevel, NewJob, Store};
use windlass_testkit::redis::{Server, until};

use crate::support::{Hand, counted, open, queue, replicated, rounds, with, with_options};
use crate::workload::{Crew, Plan};

const FORGET: &[&str] = &["SCRIPT", "FLUSH"];

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_told_of_scripts_that_are_forgotten_under_load() {
    let (primary, _replicas) = replicated(1).await;
    let plan = Plan::new(&primary.url(), "q", Duration::from_secs(30));
    let crew = Crew::start(plan.durable("replicated:1", DurabilityLevel::Replicated(1))).await;
    let hand = Hand::start(&primary, 49..51, &[FORGET]);
    crew.go_on(usize::try_from(300 * rounds()).unwrap()).await;
    let mut forgotten = 0;
    // How many jobs are done until then depends on the machine.
    while forgotten <= 20 {
        crew.go_on(50).await;
        forgotten = with(&primary, no_scripts).await;
    }
    drop(hand);

    let ended = crew.finish().await;

    println!("scripts were missed {forgotten} times");
    ended.assert_sound();
    ended.assert_untroubled();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_covered_enqueue_brings_its_script_again() {
    let (primary, _replicas) = replicated(1).await;
    let url = with_options(&primary.url(), "durability=replicated:1&timeout=20s");
    let store = open(&url).await;
    let q = queue("q");
    store.enqueue(&q, vec![NewJob::new("first")]).await.unwrap();
    for _ in 0..5 {
        forget(&primary).await;
        let before = with(&primary, no_scripts).await;

        let told = store.enqueue(&q, vec![NewJob::new("a job")]).await.unwrap();

        assert_eq!(told[0].level(), DurabilityLevel::Replicated(1));
        assert!(!told[0].is_duplicate());
        assert_eq!(with(&primary, no_scripts).await, before + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_claim_brings_its_script_again() {
    let server = Arc::new(Server::start());
    let store = open(&server.url()).await;
    let q = queue("q");
    store.enqueue(&q, Vec::new()).await.unwrap();
    for _ in 0..5 {
        let waiting = {
            let (store, q) = (store.clone(), q.clone());
            let wait = Duration::from_secs(30);
            let claim = async move {
                let mut request = ClaimRequest::single(1);
                store.claim_waiting(&q, &mut request, wait).await
            };
            tokio::spawn(claim)
        };
        with(&server, until_somebody_waits).await;
        let before = with(&server, no_scripts).await;
        forget(&server).await;

        store.enqueue(&q, vec![NewJob::new("a job")]).await.unwrap();

        let claim = waiting.await.unwrap().unwrap().expect("a job came");
        assert_eq!(claim.jobs.len(), 1);
        // Both the enqueue and the claim behind the wait were unknown to the server.
        assert_eq!(with(&server, no_scripts).await, before + 2);
        // The sleeper's poll is over before the next round counts.
        sleep(Duration::from_millis(5)).await;
    }
}

async fn forget(server: &Arc<Server>) {
    with(server, |server| server.command(FORGET).ok()).await;
}

fn no_scripts(server: &Server) -> u64 {
    counted(server, "errorstats", "errorstat_NOSCRIPT")
}

fn until_somebody_waits(server: &Server) {
    until("a claim waits", || {
        let info = server.ask(&["INFO", "clients"])?;
        let blocked = info.field("blocked_clients").unwrap();
        if blocked == "1" { Ok(()) } else { Err(blocked) }
    });
}
