//! Repeated SCRIPT FLUSH: no caller gets an error.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::store::DurabilityLevel;
use windlass_core::{ClaimRequest, NewJob, Store};
use windlass_testkit::redis::{Server, until};

use crate::support::{
    RepeatedCommand, counted, open, queue, replicated, rounds, with, with_options,
};
use crate::workload::{Plan, Workload};

const FLUSH: &[&str] = &["SCRIPT", "FLUSH"];

#[tokio::test(flavor = "multi_thread")]
async fn script_flushes_under_load_cause_no_errors() {
    let (primary, _replicas) = replicated(1).await;
    let plan = Plan::new(&primary.url(), "q", Duration::from_secs(30));
    let workload =
        Workload::start(plan.durable("replicated:1", DurabilityLevel::Replicated(1))).await;
    let flushes = RepeatedCommand::start(&primary, 49..51, &[FLUSH]);
    workload
        .wait_for_jobs(usize::try_from(300 * rounds()).unwrap())
        .await;
    let mut flushed = 0;
    // How many jobs that takes depends on the machine.
    while flushed <= 20 {
        workload.wait_for_jobs(50).await;
        flushed = with(&primary, no_scripts).await;
    }
    drop(flushes);

    let report = workload.finish().await;

    println!("NOSCRIPT was returned {flushed} times");
    report.assert_sound();
    report.assert_no_errors();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_durable_enqueue_resends_its_script() {
    let (primary, _replicas) = replicated(1).await;
    let url = with_options(&primary.url(), "durability=replicated:1&timeout=20s");
    let store = open(&url).await;
    let q = queue("q");
    store.enqueue(&q, vec![NewJob::new("first")]).await.unwrap();
    for _ in 0..5 {
        flush(&primary).await;
        let before = with(&primary, no_scripts).await;

        let replies = store.enqueue(&q, vec![NewJob::new("a job")]).await.unwrap();

        assert_eq!(replies[0].level(), DurabilityLevel::Replicated(1));
        assert!(!replies[0].is_duplicate());
        assert_eq!(with(&primary, no_scripts).await, before + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_claim_resends_its_script() {
    let server = Arc::new(Server::start());
    let store = open(&server.url()).await;
    let q = queue("q");
    // So that the fast scripts know the queue.
    store.enqueue(&q, vec![NewJob::new("first")]).await.unwrap();
    for _ in 0..2 {
        store.claim(&q, ClaimRequest::single(1)).await.unwrap();
    }
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
        with(&server, until_a_claim_waits).await;
        let before = with(&server, no_scripts).await;
        flush(&server).await;

        store.enqueue(&q, vec![NewJob::new("a job")]).await.unwrap();

        let claim = waiting.await.unwrap().unwrap().expect("a job arrived");
        assert_eq!(claim.jobs.len(), 1);
        // Both the script of the enqueue and that of the waiting claim were missing; and the full script, if the history
        // took a sample.
        let missing = with(&server, no_scripts).await - before;
        assert!((2..=3).contains(&missing), "{missing}");
        // The waiter's poll ends before the next round.
        sleep(Duration::from_millis(5)).await;
    }
}

async fn flush(server: &Arc<Server>) {
    with(server, |server| server.command(FLUSH).ok()).await;
}

fn no_scripts(server: &Server) -> u64 {
    counted(server, "errorstats", "errorstat_NOSCRIPT")
}

fn until_a_claim_waits(server: &Server) {
    until("a claim waits", || {
        let info = server.ask(&["INFO", "clients"])?;
        let blocked = info.field("blocked_clients").unwrap();
        if blocked == "1" { Ok(()) } else { Err(blocked) }
    });
}
