//! Limits of a queue in Redis: waiting claims, partitions, and rules that were stored before there were limits.

#![expect(clippy::unwrap_used, reason = "a test fails at the first error")]

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use windlass_core::store::Completion;
use windlass_core::{
    Claim, ClaimRequest, ErrorKind, JobLease, JobState, Mode, NewJob, QueueName, Result, Store,
};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::{leases_of, numbered};
use windlass_testkit::paging;
use windlass_testkit::redis::{Reply, Server, until};

/// Longer than the test waits for anything.
const WAIT: Duration = Duration::from_secs(600);

/// A waiter that was not woken polls much later.
const STARTS_WITHIN: Duration = Duration::from_millis(50);

/// Rounds of a timed test. The median counts: the machine may be busy.
const ROUNDS: usize = 9;

fn queue() -> QueueName {
    QueueName::new("mail").unwrap()
}

async fn open(server: &Server) -> RedisStore {
    RedisStore::open(&server.url(), Options::default())
        .await
        .unwrap()
}

async fn set(store: &RedisStore, settings: &[&str]) -> Result<()> {
    let settings = settings.iter().map(|text| text.parse().unwrap()).collect();
    store.set(&queue(), settings).await.map(drop)
}

async fn kind_of_error(store: &RedisStore, settings: &[&str]) -> Option<ErrorKind> {
    set(store, settings).await.err().map(|error| error.kind())
}

fn completions(claim: &Claim) -> Vec<Completion> {
    leases_of(claim)
        .into_iter()
        .map(JobLease::completion)
        .collect()
}

/// The numbers of a field of `state`.
fn stored(server: &Server, field: &str) -> Vec<f64> {
    let reply = server.command(&["HGET", "windlass:{mail}:state", field]);
    let Reply::Bulk(bytes) = reply else {
        panic!("{field} is stored: {reply:?}");
    };
    let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap());
    bytes.chunks_exact(8).map(number).collect()
}

/// Waits for a job in another process. Returns the claim and when it arrived.
fn wait_for_job(server: &Server, store: RedisStore) -> JoinHandle<(Claim, Instant)> {
    let waiting = tokio::spawn(async move {
        let mut request = ClaimRequest::single(1);
        let claim = store.claim_waiting(&queue(), &mut request, WAIT).await;
        (claim.unwrap().unwrap(), Instant::now())
    });
    until("it blocks", || {
        let info = server.command(&["INFO", "clients"]).text();
        let is_blocked = info.contains("blocked_clients:1");
        is_blocked.then_some(()).ok_or(info)
    });
    waiting
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_waits_on_a_full_queue_gets_the_slot_that_a_completion_frees() {
    let server = Server::start();
    let (worker, waiter) = (open(&server).await, open(&server).await);
    set(&worker, &["max_running=1"]).await.unwrap();
    worker.enqueue(&queue(), numbered(20)).await.unwrap();
    let claim = worker.claim(&queue(), ClaimRequest::single(9)).await;
    let mut claim = claim.unwrap().unwrap();

    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let waiting = wait_for_job(&server, waiter.clone());
        let began = Instant::now();
        let done = completions(&claim);
        worker.complete(&queue(), done, None).await.unwrap();
        let (next, at) = waiting.await.unwrap();
        times.push(at - began);
        claim = next;
    }

    assert!(median(times.clone()) < STARTS_WITHIN, "{times:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_claim_gets_its_job_when_a_closed_rate_opens() {
    const PERIOD: Duration = Duration::from_millis(400);
    let server = Server::start();
    let (worker, waiter) = (open(&server).await, open(&server).await);
    set(&worker, &["rate=1/400ms"]).await.unwrap();
    worker.enqueue(&queue(), numbered(20)).await.unwrap();
    let claim = worker.claim(&queue(), ClaimRequest::single(9)).await;
    let mut token = claim.unwrap().unwrap().token;

    let mut late = Vec::new();
    for _ in 0..ROUNDS {
        let waiting = wait_for_job(&server, waiter.clone());
        let (next, _) = waiting.await.unwrap();
        // The number of a token is the time of its claim, by the clock of the server.
        let passed = Duration::from_micros(next.token.number - token.number);
        assert!(passed >= PERIOD, "{passed:?}");
        late.push(passed.saturating_sub(PERIOD));
        token = next.token;
    }

    assert!(median(late.clone()) < STARTS_WITHIN, "{late:?}");
}

/// Claims of jobs like these are the common case, which the fast script knows.
fn plain(count: usize) -> Vec<NewJob> {
    (0..count).map(|_| NewJob::new("plain")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_claim_takes_the_fast_path_around_a_limit_whatever_was_called_before() {
    let server = Server::start();
    let store = open(&server).await;
    store.enqueue(&queue(), plain(50)).await.unwrap();
    // The fast script is in use before.
    for _ in 0..3 {
        let claim = store.claim(&queue(), ClaimRequest::single(1)).await;
        let done = completions(&claim.unwrap().unwrap());
        store.complete(&queue(), done, None).await.unwrap();
    }
    set(&store, &["max_running=2"]).await.unwrap();

    for call in ["claim", "maintain", "audit", "resume", "enqueue", "set"] {
        match call {
            "maintain" => drop(store.maintain(&queue(), 100).await.unwrap()),
            "audit" => drop(paging::audit(&store, &queue()).await.unwrap()),
            "resume" => store.set_paused(&queue(), false).await.unwrap(),
            "enqueue" => drop(store.enqueue(&queue(), plain(1)).await.unwrap()),
            "set" => set(&store, &["requeue=back"]).await.unwrap(),
            _ => {}
        }
        for _ in 0..4 {
            // Each process tries the fast script first.
            let store = open(&server).await;
            store
                .claim(&queue(), ClaimRequest::single(1))
                .await
                .unwrap();
        }
        let stats = store.stats(&queue()).await.unwrap().unwrap();
        assert_eq!(stats.running, 2, "after {call}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_has_grown_refuses_limits_and_keeps_its_settings() {
    let server = Server::start();
    let store = open(&server).await;
    set(&store, &["partitions=auto", "partition_at=5"])
        .await
        .unwrap();
    store.enqueue(&queue(), numbered(20)).await.unwrap();
    until("it grows", || {
        let is_grown = server.command(&["EXISTS", "windlass:{mail/1}:state"]);
        (is_grown.integer() == 1)
            .then_some(())
            .ok_or("one partition".to_owned())
    });
    let mut refused = kind_of_error(&store, &["rate=5/1s"]).await;
    // The first partition learns its number last.
    let end = Instant::now() + WAIT;
    while refused.is_none() && Instant::now() < end {
        set(&store, &["rate=none"]).await.unwrap();
        refused = kind_of_error(&store, &["rate=5/1s"]).await;
    }
    let before = store.settings(&queue()).await.unwrap();

    let settings = ["requeue=back", "max_running=5"];
    let refused = [refused, kind_of_error(&store, &settings).await];

    assert_eq!(refused, [Some(ErrorKind::Conflict); 2]);
    assert_eq!(store.settings(&queue()).await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_with_limits_does_not_grow_until_they_are_removed() {
    let server = Server::start();
    let store = open(&server).await;
    let auto = ["partitions=auto", "partition_at=5"];
    set(&store, &auto).await.unwrap();
    set(&store, &["max_running=1"]).await.unwrap();
    let grow_at = || stored(&server, "figures")[16];

    assert!(grow_at() < 1.0);
    store.enqueue(&queue(), numbered(20)).await.unwrap();
    set(&store, &["partition_at=7"]).await.unwrap();
    assert!(grow_at() < 1.0);

    set(&store, &["max_running=none"]).await.unwrap();
    assert!(grow_at() > 6.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_stored_before_there_were_limits_are_read_and_a_burst_is_kept_without_a_rate() {
    let server = Server::start();
    let store = open(&server).await;
    let rules = || stored(&server, "rules");
    set(&store, &["dedup_max=9"]).await.unwrap();
    let old = rules();
    assert_eq!(old.len(), 14);

    set(&store, &["burst=4"]).await.unwrap();
    set(&store, &["rate=10/1m"]).await.unwrap();
    let mut limited = old.clone();
    limited.extend([-1.0, 10.0, 60_000_000.0, 4.0]);
    assert_eq!(rules(), limited);
    store.enqueue(&queue(), numbered(9)).await.unwrap();
    let claim = store.claim(&queue(), ClaimRequest::single(9)).await;
    assert_eq!(claim.unwrap().unwrap().jobs.len(), 4);

    set(&store, &["burst=1", "rate=none"]).await.unwrap();
    assert_eq!(rules(), old);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_at_most_once_is_refused_before_a_batch_of_any_size_is_completed() {
    let server = Server::start();
    let store = open(&server).await;
    store.enqueue(&queue(), numbered(300)).await.unwrap();
    let mut done = Vec::new();
    for _ in 0..3 {
        let claim = store.claim(&queue(), ClaimRequest::single(100)).await;
        done.extend(completions(&claim.unwrap().unwrap()));
    }
    set(&store, &["max_running=900"]).await.unwrap();
    let repeated = vec![done[0].clone(), done[0].clone()];

    for batch in [done[..1].to_vec(), repeated, done] {
        let next = ClaimRequest::single(1).mode(Mode::AtMostOnce);
        let refused = store.complete(&queue(), batch, Some(next)).await;
        let kind = refused.map_err(|error| error.kind()).map(drop);
        assert_eq!(kind, Err(ErrorKind::Conflict));
    }

    let stats = store.stats(&queue()).await.unwrap().unwrap();
    assert_eq!((stats.running, stats.total.succeeded), (300, 0));
    let id = numbered(1)[0].id.clone();
    let first = store.get(&queue(), &id).await.unwrap().unwrap();
    assert_eq!(first.state, JobState::Running);
}
