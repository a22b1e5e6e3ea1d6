//! Answers to claims are lost while the worker lives: the jobs start again all the same.

use std::collections::HashMap;
use std::task::Poll;
use std::time::{Duration, Instant};

use windlass_core::{
    BootId, Claim, ClaimRequest, JobId, JobLease, NewJob, OutcomeStatus, QueueName, Renewal, Store,
    Token,
};
use windlass_store_redis::RedisStore;
use windlass_testkit::fixture::leases_of;
use windlass_testkit::redis::{Server, ServerOptions};

use crate::proxy::Proxy;
use crate::support::{open, queue, with_options};

const JOBS: usize = 60;

/// So long that no job comes back because its lease ended.
const LEASE: Duration = Duration::from_secs(300);

/// How long anything may take before it counts as broken: far less than a lease.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a worker renews whose lease is the usual one.
const INTERVAL: Duration = Duration::from_secs(10);

/// How long the store waits for an answer before it asks again: half the time a call has.
const ONE_TRY: Duration = Duration::from_secs(5);

/// The line goes dead under some claims: the store asks again, and is told the same claim.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_answer_was_swallowed_starts_within_two_renewals() {
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
            proxy.mute();
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
    assert!(longest >= ONE_TRY, "no answer was swallowed");
    assert_eq!(started.len(), JOBS);
    assert!(started.values().all(|count| *count == 1));
}

/// The worker's own caller goes away, before or after the answer came: its next renewal, which does
/// not list the claim, brings the jobs back.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_nobody_heard_of_starts_again_within_two_renewals() {
    let server = Server::start();
    let store = open(&server.url()).await;
    let q = queue("q");
    let mut worker = Worker::new(store.clone(), q.clone());
    store.enqueue(&q, jobs(JOBS)).await.unwrap();
    // Counted in renewals, and not in time: a machine that stands still renews late.
    let mut unheard: HashMap<JobId, u32> = HashMap::new();
    let (mut done, mut back, mut renewals) = (0, Vec::new(), 0);
    let began = Instant::now();
    for turn in 1.. {
        if done == JOBS {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{done} of {JOBS} done");
        if turn % 7 == 0 {
            worker.renew().await;
            renewals += 1;
        }
        let Some(claim) = worker.claim().await else {
            continue;
        };
        let id = claim.jobs[0].id.clone();
        if let Some(since) = unheard.remove(&id) {
            back.push(renewals - since);
        }
        if worker.seq.is_multiple_of(10) {
            // As if the answer had never come: the worker does not know of this token.
            worker.tokens.retain(|token| *token != claim.token);
            unheard.insert(id, renewals);
            continue;
        }
        worker.complete(&claim).await;
        done += 1;
    }
    println!(
        "{} claims were not heard of; back within {:?} renewals",
        back.len(),
        back.iter().max()
    );
    assert!(back.len() >= JOBS / 10 && unheard.is_empty());
    assert!(back.iter().all(|renewals| *renewals <= 2), "{back:?}");
}

/// Futures are dropped at any await: nothing stays behind.
#[tokio::test(flavor = "multi_thread")]
async fn claims_given_up_half_way_leave_nothing_behind() {
    let server = Server::start();
    let store = open(&server.url()).await;
    let q = queue("q");
    let mut worker = Worker::new(store.clone(), q.clone());
    store.enqueue(&q, jobs(10 * JOBS)).await.unwrap();
    let (mut done, mut given_up) = (0, 0);
    for _ in 0..12 * JOBS {
        worker.seq += 1;
        let request = ClaimRequest::worker(worker.boot.clone(), worker.seq, 1).lease(LEASE);
        let mut waiting = request.clone();
        let wait = if fastrand::bool() {
            LEASE
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
            None => given_up += 1,
        }
        worker.seq = worker.seq.max(waiting.claimer.seq());
    }
    println!("{given_up} claims were given up, {done} jobs done meanwhile");
    assert!(given_up > 10);
    // What is still on its way to the server comes after this answer.
    let began = Instant::now();
    while done < 10 * JOBS {
        worker.renew().await;
        while let Some(claim) = worker.claim().await {
            worker.complete(&claim).await;
            done += 1;
        }
        assert!(began.elapsed() < PATIENCE, "{done} done");
    }
    let stats = store.stats(&q).await.unwrap().unwrap();
    assert_eq!(
        (stats.running, stats.total.succeeded),
        (0, 10 * JOBS as u64)
    );
}

/// Drops a future when it has been polled so often and is not done.
async fn polled<T>(future: impl Future<Output = T>, mut polls: u32) -> Option<T> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        polls -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
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
    let holds = leases_of(claim).into_iter();
    let completions: Vec<_> = holds.map(JobLease::completion).collect();
    let told = store.complete(q, completions, None).await.unwrap();
    assert!(
        told.statuses
            .iter()
            .all(|told| *told == OutcomeStatus::Completed),
        "{told:?}"
    );
}

fn jobs(count: usize) -> Vec<NewJob> {
    (0..count).map(|n| NewJob::new(n.to_string())).collect()
}
