//! Replies to claims are lost while the worker is alive: the jobs start again all the same.

use std::collections::HashMap;
use std::task::Poll;
use std::time::{Duration, Instant};

use windlass_core::{
    BootId, Claim, ClaimRequest, JobId, JobLease, LeaseTime, NewJob, OutcomeStatus, QueueName,
    Renewal, Store, Token,
};
use windlass_store_redis::RedisStore;
use windlass_testkit::fixture::leases_of;
use windlass_testkit::redis::{Server, ServerOptions};

use crate::proxy::Proxy;
use crate::support::{open, queue, with_options};

const JOBS: usize = 60;

/// So long that no job comes back because its lease expired.
const LEASE: LeaseTime = LeaseTime::nearest(Duration::from_secs(300));

/// Timeout of a test; far less than a lease.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How often a worker with the default lease renews.
const INTERVAL: Duration = Duration::from_secs(10);

/// How long the store waits for a reply before it resends: half the timeout of a call.
const ONE_ATTEMPT: Duration = Duration::from_secs(5);

/// The connection dies during some claims: the store resends them and gets the same claim.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_reply_was_dropped_starts_within_two_renewals() {
    let server = ServerOptions::new().tcp().start();
    let proxy = Proxy::start(&server).await;
    let store = open(&with_options(&proxy.url(), "timeout=10s")).await;
    let q = queue("q");
    store.enqueue(&q, jobs(JOBS)).await.unwrap();
    let boot = BootId::generate();
    let mut started = HashMap::new();
    let mut longest = Duration::ZERO;
    for seq in 1..=JOBS as u64 {
        if seq % 20 == 0 {
            proxy.drop_replies();
        }
        let began = Instant::now();
        let request = ClaimRequest::worker(boot.clone(), seq, 1).lease(LEASE);
        let claim = store.claim(&q, request).await.unwrap().expect("jobs wait");
        longest = longest.max(began.elapsed());
        assert!(began.elapsed() < 2 * INTERVAL, "{:?}", began.elapsed());
        *started.entry(claim.jobs[0].id.clone()).or_insert(0) += 1;
        complete(&store, &q, &claim).await;
    }
    println!("the longest claim took {longest:?}");
    assert!(longest >= ONE_ATTEMPT, "no reply was dropped");
    assert_eq!(started.len(), JOBS);
    assert!(started.values().all(|count| *count == 1));
}

/// A claim without a sequence number is another claim when it is repeated.
#[tokio::test(flavor = "multi_thread")]
async fn a_single_claim_without_a_reply_says_when_its_jobs_come_back() {
    let server = ServerOptions::new().tcp().start();
    let proxy = Proxy::start(&server).await;
    let store = open(&with_options(&proxy.url(), "timeout=1s")).await;
    let q = queue("q");
    store.enqueue(&q, jobs(2)).await.unwrap();
    proxy.drop_replies();

    let error = store.claim(&q, ClaimRequest::single(1)).await.unwrap_err();

    assert!(error.is_unknown(), "{error}");
    assert!(error.help().contains("lease expires"), "{}", error.help());
}

/// The caller of a claim is cancelled, before or after the reply: the next renewal does not list the
/// claim and brings its jobs back.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_unknown_to_its_worker_starts_again_within_two_renewals() {
    let server = Server::start();
    let store = open(&server.url()).await;
    let q = queue("q");
    let mut worker = Worker::new(store.clone(), q.clone());
    store.enqueue(&q, jobs(JOBS)).await.unwrap();
    // Counted in renewals, not in time, because a machine that stalls renews late.
    let mut unknown: HashMap<JobId, u32> = HashMap::new();
    let (mut done, mut back, mut renewals) = (0, Vec::new(), 0);
    let began = Instant::now();
    for turn in 1.. {
        if done == JOBS {
            break;
        }
        assert!(began.elapsed() < TIMEOUT, "{done} of {JOBS} done");
        if turn % 7 == 0 {
            worker.renew().await;
            renewals += 1;
        }
        let Some(claim) = worker.claim().await else {
            continue;
        };
        let id = claim.jobs[0].id.clone();
        if let Some(since) = unknown.remove(&id) {
            back.push(renewals - since);
        }
        if worker.seq.is_multiple_of(10) {
            // As if the reply had been lost: the worker does not know this token.
            worker.tokens.retain(|token| *token != claim.token);
            unknown.insert(id, renewals);
            continue;
        }
        worker.complete(&claim).await;
        done += 1;
    }
    println!(
        "{} claims were unknown; back within {:?} renewals",
        back.len(),
        back.iter().max()
    );
    assert!(back.len() >= JOBS / 10 && unknown.is_empty());
    assert!(back.iter().all(|renewals| *renewals <= 2), "{back:?}");
}

/// Futures are dropped at any await point: nothing is left behind.
#[tokio::test(flavor = "multi_thread")]
async fn cancelled_claims_leave_nothing_behind() {
    let server = Server::start();
    let store = open(&server.url()).await;
    let q = queue("q");
    let mut worker = Worker::new(store.clone(), q.clone());
    store.enqueue(&q, jobs(10 * JOBS)).await.unwrap();
    let (mut done, mut cancelled) = (0, 0);
    for _ in 0..12 * JOBS {
        worker.seq += 1;
        let request = ClaimRequest::worker(worker.boot.clone(), worker.seq, 1).lease(LEASE);
        let mut waiting = request.clone();
        let wait = if fastrand::bool() {
            LEASE.get()
        } else {
            Duration::ZERO
        };
        let claim = store.claim_waiting(&q, &mut waiting, wait);
        match polled(claim, fastrand::u32(1..6)).await {
            Some(claim) => {
                let Some(claim) = claim.unwrap() else { break };
                worker.complete(&claim).await;
                done += 1;
            }
            None => cancelled += 1,
        }
        worker.seq = worker.seq.max(waiting.claimer.seq());
    }
    println!("{cancelled} claims were cancelled, {done} jobs done meanwhile");
    assert!(cancelled > 10);
    // Calls still in flight arrive later.
    let began = Instant::now();
    while done < 10 * JOBS {
        worker.renew().await;
        while let Some(claim) = worker.claim().await {
            worker.complete(&claim).await;
            done += 1;
        }
        assert!(began.elapsed() < TIMEOUT, "{done} done");
    }
    let stats = store.stats(&q).await.unwrap().unwrap();
    assert_eq!(
        (stats.running, stats.total.succeeded),
        (0, 10 * JOBS as u64)
    );
}

/// Polls a future at most `polls` times, then drops it.
async fn polled<T>(future: impl Future<Output = T>, mut polls: u32) -> Option<T> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        polls -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if polls == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

struct Worker {
    store: RedisStore,
    q: QueueName,
    boot: BootId,
    seq: u64,
    tokens: Vec<Token>,
}

impl Worker {
    fn new(store: RedisStore, q: QueueName) -> Self {
        Self {
            store,
            q,
            boot: BootId::generate(),
            seq: 0,
            tokens: Vec::new(),
        }
    }

    async fn claim(&mut self) -> Option<Claim> {
        self.seq += 1;
        let request = ClaimRequest::worker(self.boot.clone(), self.seq, 1).lease(LEASE);
        let claim = self.store.claim(&self.q, request).await.unwrap();
        self.tokens.extend(claim.iter().map(|claim| claim.token));
        claim
    }

    async fn complete(&mut self, claim: &Claim) {
        complete(&self.store, &self.q, claim).await;
        self.tokens.retain(|token| *token != claim.token);
    }

    async fn renew(&self) {
        let renewal = Renewal::Worker {
            boot: self.boot.clone(),
            tokens: self.tokens.clone(),
            settled: self.seq,
        };
        self.store.renew(&self.q, renewal, LEASE).await.unwrap();
    }
}

async fn complete(store: &RedisStore, q: &QueueName, claim: &Claim) {
    let leases = leases_of(claim).into_iter();
    let completions: Vec<_> = leases.map(JobLease::completion).collect();
    let reply = store.complete(q, completions, None).await.unwrap();
    assert!(
        reply
            .statuses
            .iter()
            .all(|status| *status == OutcomeStatus::Completed),
        "{reply:?}"
    );
}

fn jobs(count: usize) -> Vec<NewJob> {
    (0..count).map(|n| NewJob::new(n.to_string())).collect()
}
