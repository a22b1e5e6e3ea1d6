//! A primary that lost its replica and still has its clients: with `replicated:1`, what it does is not
//! accepted, because the replica may have taken over.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{
    BootId, Claim, ClaimRequest, Due, JobLease, JobState, LeaseTime, Mode, NewJob, OutcomeStatus,
    QueueName, Renewal, Result, Store,
};
use windlass_store_redis::RedisStore;
use windlass_testkit::fixture::{id, lease_of};
use windlass_testkit::redis::{Server, until};

use crate::support::{eventually, info, open, queue, replicated, with, with_options};

/// Longer than a busy machine stalls.
const HEALTHY: &str = "durability=replicated:1&timeout=30s";

/// Each call waits for half of this.
const CUT_OFF: &str = "durability=replicated:1&timeout=3s";

const LEASE: LeaseTime = LeaseTime::nearest(Duration::from_secs(1));

/// A queue with jobs on a primary and its replica.
struct Fixture {
    primary: Arc<Server>,
    replica: Arc<Server>,
    healthy: RedisStore,
    cut_off: RedisStore,
    q: QueueName,
}

impl Fixture {
    async fn start(jobs: &[&str]) -> Self {
        let (primary, mut replicas) = replicated(1).await;
        let fixture = Self {
            healthy: open(&with_options(&primary.url(), HEALTHY)).await,
            cut_off: open(&with_options(&primary.url(), CUT_OFF)).await,
            replica: replicas.remove(0),
            primary,
            q: queue("q"),
        };
        let jobs = jobs.iter().map(|name| NewJob::new("a job").id(id(name)));
        let stored = fixture.healthy.enqueue(&fixture.q, jobs.collect()).await;
        assert!(stored.is_ok(), "{stored:?}");
        fixture
    }

    /// Promotes the replica; the primary does not notice.
    async fn promote(&self) {
        with(&self.replica, |replica| {
            replica.command(&["REPLICAOF", "NO", "ONE"]).ok()
        })
        .await;
    }

    async fn claim(&self, request: ClaimRequest) -> Claim {
        let claim = self.healthy.claim(&self.q, request).await;
        claim.unwrap().expect("a job waits")
    }

    async fn state(&self, name: &str) -> JobState {
        let job = self.cut_off.get(&self.q, &id(name)).await.unwrap();
        job.expect("the job is stored").state
    }
}

fn assert_unknown<T>(what: &str, result: Result<T>) {
    let error = result
        .err()
        .unwrap_or_else(|| panic!("{what} was accepted"));
    assert_eq!(error.code(), "outcome_unknown", "{what}: {error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_outcome_on_a_cut_off_primary_is_accepted() {
    let names = ["done", "failed", "released", "snoozed", "dispatched"];
    let fixture = Fixture::start(&names).await;
    let (q, old) = (&fixture.q, &fixture.cut_off);
    let boot = BootId::generate();
    let held = fixture
        .claim(ClaimRequest::worker(boot.clone(), 1, 4).lease(LEASE))
        .await;
    let offered = fixture
        .claim(ClaimRequest::single(1).mode(Mode::Dispatch).lease(LEASE))
        .await;
    let done = vec![lease_of(&held, 0).completion()];
    fixture.promote().await;

    assert_unknown("complete", old.complete(q, done.clone(), None).await);
    // A repeated call waits for what the first one wrote, on any connection.
    assert_unknown("complete again", old.complete(q, done.clone(), None).await);
    let other = open(&with_options(&fixture.primary.url(), CUT_OFF)).await;
    assert_unknown("complete elsewhere", other.complete(q, done, None).await);
    let failures = vec![lease_of(&held, 1).failure("no")];
    assert_unknown("fail", old.fail(q, failures.clone()).await);
    assert_unknown("fail elsewhere", other.fail(q, failures).await);
    assert_unknown("release", old.release(q, vec![lease_of(&held, 2)]).await);
    let snooze = lease_of(&held, 3).snooze(Due::After(LEASE.get()));
    assert_unknown("snooze", old.snooze(q, vec![snooze]).await);
    let accepted = old.accept(q, lease_of(&offered, 0), LEASE).await;
    assert_unknown("accept", accepted);
    let renewal = Renewal::Worker {
        boot,
        tokens: vec![held.token],
        settled: 1,
    };
    assert_unknown("renew", old.renew(q, renewal, LEASE).await);

    // The other side runs every job, and only its completions are accepted.
    let new = open(&fixture.replica.url()).await;
    let boot = BootId::generate();
    let mut ended = 0;
    for seq in 1..=names.len() as u64 {
        let claim = eventually("the leases of the old side end", async || {
            let request = ClaimRequest::worker(boot.clone(), seq, 5);
            let claim = new.claim(q, request).await.unwrap();
            claim.ok_or_else(|| "nothing is ready".to_owned())
        })
        .await;
        let leases = (0..claim.jobs.len()).map(|at| lease_of(&claim, at));
        let completions = leases.map(JobLease::completion).collect();
        let completed = new.complete(q, completions, None).await.unwrap();
        let is_completed = |status: &OutcomeStatus| *status == OutcomeStatus::Completed;
        assert!(completed.statuses.iter().all(is_completed));
        ended += completed.statuses.len();
        if ended == names.len() {
            break;
        }
    }
    assert_eq!(ended, names.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_off_primary_hands_out_no_job() {
    let fixture = Fixture::start(&["first", "second"]).await;
    let (q, old) = (&fixture.q, &fixture.cut_off);
    fixture.promote().await;

    // A claim without a sequence number gives its jobs back.
    let single = ClaimRequest::single(2);
    assert_unknown("claim", old.claim(q, single.clone()).await);
    for name in ["first", "second"] {
        assert_eq!(fixture.state(name).await, JobState::Ready);
    }
    let completed = old.complete(q, Vec::new(), Some(single)).await;
    assert_unknown("complete and claim", completed);
    assert_eq!(fixture.state("first").await, JobState::Ready);
    // A worker keeps repeating its claim.
    let request = ClaimRequest::worker(BootId::generate(), 1, 2);
    assert_unknown("claim by a worker", old.claim(q, request.clone()).await);
    assert_unknown("repeated claim", old.claim(q, request).await);

    let new = open(&fixture.replica.url()).await;
    let claim = new.claim(q, ClaimRequest::single(2)).await.unwrap();
    assert_eq!(claim.expect("both jobs are ready").jobs.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_off_primary_hands_out_no_job_to_a_waiting_claim() {
    let fixture = Fixture::start(&[]).await;
    let q = fixture.q.clone();
    let waiting = tokio::spawn({
        let (q, old) = (q.clone(), fixture.cut_off.clone());
        async move {
            let mut request = ClaimRequest::single(1);
            let wait = Duration::from_secs(60);
            old.claim_waiting(&q, &mut request, wait).await
        }
    });
    with(&fixture.primary, |primary| {
        until("the claim waits", || {
            let blocked = info(primary, "clients", "blocked_clients");
            (blocked > 0)
                .then_some(())
                .ok_or_else(|| blocked.to_string())
        });
    })
    .await;
    fixture.promote().await;

    let memory = open(&fixture.primary.url()).await;
    let job = NewJob::new("a job").id(id("late"));
    memory.enqueue(&q, vec![job]).await.unwrap();

    assert_unknown("the waiting claim", waiting.await.unwrap());
    assert_eq!(fixture.state("late").await, JobState::Ready);
}

/// A replica that hangs and comes back delays a worker's claim and loses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_claim_is_handed_out_when_the_replica_is_back() {
    let fixture = Fixture::start(&["first"]).await;
    let q = &fixture.q;
    with(&fixture.replica, Server::stop).await;
    let request = ClaimRequest::worker(BootId::generate(), 1, 1);
    assert_unknown("claim", fixture.cut_off.claim(q, request.clone()).await);
    with(&fixture.replica, Server::resume).await;

    let claim = fixture.claim(request).await;

    assert_eq!(claim.jobs[0].id, id("first"));
    let job = fixture.healthy.get(q, &id("first")).await.unwrap();
    assert_eq!(job.expect("it is stored").expiries, 0);
    let done = vec![lease_of(&claim, 0).completion()];
    let completed = fixture.healthy.complete(q, done, None).await.unwrap();
    assert_eq!(completed.statuses, [OutcomeStatus::Completed]);
}
