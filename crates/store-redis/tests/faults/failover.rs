//! The primary dies and a replica is promoted.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_chaos::invariants;
use windlass_core::store::{DurabilityLevel, Fraction, LeaseStatus};
use windlass_core::{
    BootId, Claim, ClaimRequest, Clock, JobLease, LeaseTime, ManualClock, NewJob, OutcomeStatus,
    QueueName, Renewal, Store, SystemClock, Timestamp,
};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::{Sentinels, Server};

use crate::support::{blocking, eventually, open, queue, rounds, with, with_options};
use crate::workload::{Plan, Workload};

/// Longer than a failover takes.
const TIMEOUT: Duration = Duration::from_secs(6);

#[tokio::test(flavor = "multi_thread")]
async fn what_one_replica_has_survives_the_primary() {
    fail_over_under_load(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_two_replicas_have_survives_the_primary() {
    fail_over_under_load(2).await;
}

async fn fail_over_under_load(replicas: u32) {
    let group = Arc::new(blocking(Sentinels::start).await);
    let plan = Plan::new(&group.url(), "q", TIMEOUT);
    let plan = plan.durable(
        &format!("replicated:{replicas}"),
        DurabilityLevel::Replicated(replicas),
    );
    let workload = Workload::start(plan.may_roll_back()).await;
    for _ in 0..rounds() {
        workload.wait_for_jobs(100).await;
        with(&group, |group| {
            let old = group.kill_primary();
            group.wait_for_new_primary(old);
            // It restarts empty and replicates the new primary.
            old.restart();
        })
        .await;
        workload.wait_for_jobs(50).await;
    }

    let report = workload.finish().await;

    report.assert_sound_after_failovers();
    report.assert_only_unavailable();
}

/// Checks that the ledger can detect a loss: what only the primary had is lost with it.
#[tokio::test(flavor = "multi_thread")]
async fn what_no_replica_had_is_lost_and_the_ledger_reports_it() {
    let group = Arc::new(blocking(Sentinels::start).await);
    let workload = Workload::start(Plan::new(&group.url(), "q", TIMEOUT).may_roll_back()).await;
    workload.wait_for_jobs(20).await;
    with(&group, cut_links).await;
    workload.wait_for_jobs(20).await;
    with(&group, replace_primary).await;
    workload.wait_for_jobs(20).await;

    let report = workload.finish().await;

    let broken = invariants::after_failovers(&report.ledger, &report.listing);
    assert!(
        broken.iter().any(|found| found.what.contains("is lost")),
        "{broken:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_the_old_primary_that_was_overtaken_is_refused() {
    let group = Arc::new(blocking(Sentinels::start).await);
    let url = with_options(&group.url(), "durability=replicated:2&timeout=30s");
    let store = open(&url).await;
    let q = queue("q");
    store.enqueue(&q, vec![NewJob::new("a job")]).await.unwrap();
    let boot = BootId::generate();
    let first = claim(&store, &q, &boot, Duration::from_secs(1)).await;
    // A replica that has this job has the earlier claim as well.
    let replies = store
        .enqueue(&q, vec![NewJob::new("another")])
        .await
        .unwrap();
    assert_eq!(replies[0].level(), DurabilityLevel::Replicated(2));

    with(&group, replace_primary).await;

    // Only one replica is left: claims at level `memory` do not wait for it.
    let store = open(&with_options(&group.url(), "timeout=30s")).await;
    let other = BootId::generate();
    let second = eventually("the lease of the first ends", async || {
        let request = ClaimRequest::worker(other.clone(), 1, 1);
        let claim = store.claim(&q, request).await.unwrap();
        let claim = claim.filter(|claim| claim.jobs[0].id == first.jobs[0].id);
        claim.ok_or_else(|| "another job".to_owned())
    });
    // The job of an expired lease returns to the front; until then only the other job is ready.
    sleep(Duration::from_millis(1_200)).await;
    let second = second.await;
    assert_refused(&store, &q, &first, &boot).await;
    assert_eq!(
        complete(&store, &q, &second).await,
        OutcomeStatus::Completed
    );
}

/// The clock does not advance, so that only the nonce distinguishes the two histories.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_a_failover_undid_shares_its_token_with_no_other() {
    let group = Arc::new(blocking(Sentinels::start).await);
    let clock = ManualClock::new(Timestamp::from_ms(SystemClock.now_us() / 1000));
    let options = Options {
        clock: Some(Arc::new(clock)),
        ..Options::default()
    };
    let url = with_options(&group.url(), "durability=replicated:2&timeout=30s");
    let store = RedisStore::open(&url, options.clone()).await.unwrap();
    let q = queue("q");
    let replies = store.enqueue(&q, vec![NewJob::new("a job")]).await.unwrap();
    assert_eq!(replies[0].level(), DurabilityLevel::Replicated(2));
    let (boot, other) = (BootId::generate(), BootId::generate());
    with(&group, cut_links).await;
    // At this level a claim does not wait for replicas.
    let memory = RedisStore::open(&with_options(&group.url(), "timeout=30s"), options)
        .await
        .unwrap();
    let undone = claim(&memory, &q, &boot, Duration::from_secs(30)).await;
    with(&group, replace_primary).await;

    let kept = claim(&memory, &q, &other, Duration::from_secs(30)).await;

    assert_eq!(kept.jobs[0].id, undone.jobs[0].id);
    assert_eq!(kept.token.number, undone.token.number);
    assert_ne!(kept.token, undone.token);
    assert_refused(&memory, &q, &undone, &boot).await;
    assert_eq!(complete(&memory, &q, &kept).await, OutcomeStatus::Completed);
}

async fn claim(store: &RedisStore, q: &QueueName, boot: &BootId, lease: Duration) -> Claim {
    let request = ClaimRequest::worker(boot.clone(), 1, 1).lease(LeaseTime::nearest(lease));
    store.claim(q, request).await.unwrap().expect("a job waits")
}

async fn complete(store: &RedisStore, q: &QueueName, claim: &Claim) -> OutcomeStatus {
    let completions = vec![lease(claim).completion()];
    store.complete(q, completions, None).await.unwrap().statuses[0]
}

fn lease(claim: &Claim) -> JobLease {
    JobLease::new(claim.jobs[0].id.clone(), claim.token)
}

/// No operation accepts the token.
async fn assert_refused(store: &RedisStore, q: &QueueName, stale: &Claim, boot: &BootId) {
    assert_eq!(complete(store, q, stale).await, OutcomeStatus::LeaseLost);
    let statuses = store
        .fail(q, vec![lease(stale).failure("no")])
        .await
        .unwrap();
    assert_eq!(statuses, [OutcomeStatus::LeaseLost]);
    assert_eq!(
        store.release(q, vec![lease(stale)]).await.unwrap(),
        [OutcomeStatus::LeaseLost]
    );
    assert_eq!(
        store
            .progress(q, lease(stale), Fraction::new(0.1).unwrap(), None)
            .await
            .unwrap(),
        LeaseStatus::Lost
    );
    let renewal = Renewal::Worker {
        boot: boot.clone(),
        tokens: vec![stale.token],
        settled: 1,
    };
    let renewed = store
        .renew(q, renewal, LeaseTime::nearest(Duration::from_secs(30)))
        .await
        .unwrap();
    assert_eq!(renewed.lost, [stale.token]);
}

fn replace_primary(group: &Sentinels) {
    let old = group.kill_primary();
    group.wait_for_new_primary(old);
}

/// Disconnects the replicas from the primary. Sentinels repair that after four publish periods, which
/// are made long enough for a busy machine.
fn cut_links(group: &Sentinels) {
    for sentinel in group.sentinels() {
        let command = ["SENTINEL", "DEBUG", "publish-period", "5000"];
        sentinel.command(&command).ok();
    }
    let replicas = group.replicas();
    for replica in &replicas {
        // Nothing listens on port 1.
        replica.command(&["REPLICAOF", "127.0.0.1", "1"]).ok();
    }
    let still_linked = |replica: &&&Server| {
        let info = replica.command(&["INFO", "replication"]);
        info.field("master_link_status").as_deref() == Some("up")
    };
    assert_eq!(replicas.iter().filter(still_linked).count(), 0);
}
