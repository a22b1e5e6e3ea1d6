//! The server is out of memory: enqueues fail, but existing jobs can still end.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::{Fraction, Heartbeat, NewWorker, WorkerCommand};
use windlass_core::{
    BootId, Change, ClaimRequest, Due, ErrorKind, JobId, JobLease, LeaseTime, ManualClock, Mode,
    NewJob, OutcomeStatus, QueueName, Renewal, Store, Timestamp,
};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::{every, lease_of, leases_of};
use windlass_testkit::redis::Server;

use crate::support::{info, open, queue, with, with_options};

const ROOM: u64 = 6 * 1024 * 1024;
const LEASE: LeaseTime = LeaseTime::nearest(Duration::from_secs(30));

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_rejects_jobs_and_lets_existing_ones_end() {
    let server = Arc::new(Server::start());
    let q = queue("q");
    let store = open(&server.url()).await;
    store
        .enqueue(&q, vec![NewJob::new("the first")])
        .await
        .unwrap();
    with(&server, |server| {
        let limit = info(server, "memory", "used_memory") + ROOM;
        let limit = limit.to_string();
        server.command(&["CONFIG", "SET", "maxmemory", &limit]).ok();
    })
    .await;
    let stored = 1 + fill(&store, &q).await;

    // A worker that starts now can work too.
    let late = open(&server.url()).await;
    let boot = BootId::generate();
    let worker = NewWorker {
        boot: boot.clone(),
        name: "late".to_owned(),
        host: "here".to_owned(),
        pid: 1,
        version: "1".to_owned(),
        queues: vec![q.clone()],
    };
    late.register(worker).await.unwrap();
    let heartbeat = Heartbeat {
        boot: boot.clone(),
        running: Vec::new(),
    };
    assert_eq!(
        late.heartbeat(heartbeat).await.unwrap(),
        WorkerCommand::Continue
    );
    late.watch(std::slice::from_ref(&q)).await.unwrap();
    use_leases(&late, &q, &boot).await;
    let left = stored - end_some(&late, &q, &boot).await;
    operate(&late, &q).await;
    assert_full(&store, &q).await;

    let drained = drain(&late, &q, &boot).await;
    assert_eq!(drained, left);
    assert_eq!(late.leave(&boot, None).await.unwrap(), 0);
    store.enqueue(&q, vec![NewJob::new("again")]).await.unwrap();
}

/// A durable enqueue fails the same way.
#[tokio::test(flavor = "multi_thread")]
async fn a_durable_enqueue_fails_when_the_server_is_full() {
    let server = Server::start();
    let q = queue("q");
    let store = open(&with_options(
        &server.url(),
        "durability=replicated:1&timeout=14s",
    ))
    .await;
    store.enqueue(&q, Vec::new()).await.unwrap();
    server.command(&["CONFIG", "SET", "maxmemory", "1"]).ok();
    assert_full(&store, &q).await;
    server.command(&["CONFIG", "SET", "maxmemory", "0"]).ok();
    store.enqueue(&q, vec![NewJob::new("again")]).await.unwrap();
}

/// A job of a schedule is a new job: it has to wait for memory, and the instant with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_hands_out_jobs_but_fires_no_schedule() {
    let server = Server::start();
    let q = queue("q");
    let clock = Arc::new(ManualClock::new(Timestamp::from_ms(1_700_000_040_000)));
    let options = Options {
        clock: Some(Arc::clone(&clock) as _),
        ..Options::default()
    };
    let store = RedisStore::open(&server.url(), options).await.unwrap();
    let minutely = every("minutely", 60);
    windlass_schedule::put(&store, &q, minutely, None)
        .await
        .unwrap();
    store.enqueue(&q, vec![NewJob::new("1")]).await.unwrap();
    clock.advance(Duration::from_secs(60));
    server.command(&["CONFIG", "SET", "maxmemory", "1"]).ok();

    let claim = store.claim(&q, ClaimRequest::single(10)).await.unwrap();
    assert_eq!(claim.expect("a job is ready").jobs.len(), 1);
    assert_eq!(store.maintain(&q, 100).await.unwrap().instants, 0);
    let stats = store.stats(&q).await.unwrap().unwrap();
    assert_eq!((stats.ready, stats.scheduled), (0, 0));

    server.command(&["CONFIG", "SET", "maxmemory", "0"]).ok();
    clock.advance(Duration::from_secs(2));
    let claim = store.claim(&q, ClaimRequest::single(10)).await.unwrap();
    let id = claim.expect("the instant is still due").jobs[0].id.clone();
    assert!(id.as_str().starts_with("minutely@"), "{id}");
}

/// A large batch takes several script calls, of which the last ones find no memory.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_was_stored_in_part_has_an_unknown_outcome() {
    let server = Server::start();
    let q = queue("q");
    let store = open(&server.url()).await;
    store.enqueue(&q, Vec::new()).await.unwrap();
    let limit = info(&server, "memory", "used_memory") + ROOM;
    let set_limit = |limit: &str| server.command(&["CONFIG", "SET", "maxmemory", limit]).ok();
    set_limit(&limit.to_string());
    let jobs: Vec<_> = (0..1000).map(|_| NewJob::new(vec![7; 10_000])).collect();

    let error = store.enqueue(&q, jobs.clone()).await.expect_err("full");

    assert!(error.is_unknown(), "{error}");
    let stored = store.stats(&q).await.unwrap().unwrap().ready;
    assert!((1..1000).contains(&stored), "{stored} were stored");
    set_limit("0");
    let again = store.enqueue(&q, jobs).await.unwrap();
    let known = again.iter().filter(|reply| reply.is_duplicate()).count();
    assert_eq!(known as u64, stored);
}

/// Enqueues until the server is full and returns the number of jobs stored.
async fn fill(store: &RedisStore, q: &QueueName) -> usize {
    let mut stored = 0;
    loop {
        let jobs: Vec<_> = (0..50).map(|_| NewJob::new(vec![7; 2_000])).collect();
        match store.enqueue(q, jobs).await {
            Ok(replies) => stored += replies.len(),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::StoreFull, "{error}");
                assert!(error.is_transient());
                assert!(stored > 300, "only {stored} were stored");
                return stored;
            }
        }
    }
}

async fn assert_full(store: &RedisStore, q: &QueueName) {
    let error = store
        .enqueue(q, vec![NewJob::new("one more")])
        .await
        .expect_err("full");
    assert_eq!(
        (error.kind(), error.is_transient()),
        (ErrorKind::StoreFull, true),
        "{error}"
    );
}

/// Claims in every mode, renews, and gives the jobs back.
async fn use_leases(store: &RedisStore, q: &QueueName, boot: &BootId) {
    let worker = ClaimRequest::worker(boot.clone(), 1, 2);
    let claim = store.claim(q, worker).await.unwrap().expect("jobs wait");
    let renewal = Renewal::Worker {
        boot: boot.clone(),
        tokens: vec![claim.token],
        settled: 1,
    };
    let renewed = store.renew(q, renewal, LEASE).await.unwrap();
    assert!(renewed.until.is_some() && renewed.lost.is_empty());
    let leases = leases_of(&claim);
    store
        .progress(
            q,
            leases[0].clone(),
            Fraction::new(0.5).unwrap(),
            Some("half".to_owned()),
        )
        .await
        .unwrap();
    let statuses = store.release(q, leases).await.unwrap();
    assert_eq!(statuses, [OutcomeStatus::Released; 2]);

    let dispatch = ClaimRequest::single(1).mode(Mode::Dispatch);
    let claim = store.claim(q, dispatch).await.unwrap().expect("jobs wait");
    let lease = lease_of(&claim, 0);
    store.accept(q, lease.clone(), LEASE).await.unwrap();
    store
        .renew(q, Renewal::Single { token: claim.token }, LEASE)
        .await
        .unwrap();
    let statuses = store.snooze(q, vec![lease.snooze(Due::Now)]).await.unwrap();
    assert_eq!(statuses, [OutcomeStatus::Snoozed]);
}

/// Reports every kind of outcome and returns the number of jobs that ended for good.
async fn end_some(store: &RedisStore, q: &QueueName, boot: &BootId) -> usize {
    let mut request = ClaimRequest::worker(boot.clone(), 2, 4);
    let wait = Duration::from_secs(1);
    let claim = store
        .claim_waiting(q, &mut request, wait)
        .await
        .unwrap()
        .expect("jobs wait");
    let leases = leases_of(&claim);
    let failures = vec![
        leases[0].clone().failure("later"),
        leases[1]
            .clone()
            .failure("never")
            .retry(windlass_core::store::Retry::Permanent),
    ];
    let statuses = store.fail(q, failures).await.unwrap();
    assert_eq!(statuses, [OutcomeStatus::Retrying, OutcomeStatus::Dead]);
    let completions = vec![
        leases[2].clone().completion().result("a result"),
        leases[3].clone().completion(),
    ];
    let next = ClaimRequest::worker(boot.clone(), 3, 1);
    let completed = store.complete(q, completions, Some(next)).await.unwrap();
    assert_eq!(completed.statuses, [OutcomeStatus::Completed; 2]);
    let next = completed.next.expect("more jobs wait");
    let completed = store
        .complete(q, vec![lease_of(&next, 0).completion()], None)
        .await
        .unwrap();
    assert_eq!(completed.statuses, [OutcomeStatus::Completed]);
    let most_once = ClaimRequest::single(1).mode(Mode::AtMostOnce);
    store.claim(q, most_once).await.unwrap().expect("jobs wait");
    4
}

/// What an operator may do to diagnose the problem and free memory.
async fn operate(store: &RedisStore, q: &QueueName) {
    use windlass_core::{Filter, JobState, Target};
    let of = |state| {
        Target::Filter(Filter {
            state: Some(state),
            ..Filter::default()
        })
    };
    store.set_paused(q, true).await.unwrap();
    store.set_paused(q, false).await.unwrap();
    assert_eq!(
        store
            .change(q, Change::Retry, &of(JobState::Dead), None)
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    store
        .change(q, Change::Promote, &of(JobState::Scheduled), None)
        .await
        .unwrap();
    store
        .change(
            q,
            Change::Cancel,
            &Target::Ids(vec![JobId::new("nobody").unwrap()]),
            None,
        )
        .await
        .unwrap();
    store
        .change(q, Change::Delete, &of(JobState::Succeeded), None)
        .await
        .unwrap();
    store.maintain(q, 100).await.unwrap();
    store.stats(q).await.unwrap().expect("the queue exists");
    store.queues().await.unwrap();
    store.workers().await.unwrap();
    store.list(q, &Filter::default(), None, 10).await.unwrap();
    store.audit(q, None).await.unwrap();
}

/// Completes all jobs and returns their number.
async fn drain(store: &RedisStore, q: &QueueName, boot: &BootId) -> usize {
    let mut drained = 0;
    for seq in 10.. {
        let request = ClaimRequest::worker(boot.clone(), seq, 100);
        let Some(claim) = store.claim(q, request).await.unwrap() else {
            break;
        };
        let leases = leases_of(&claim).into_iter();
        let completions: Vec<_> = leases.map(JobLease::completion).collect();
        drained += completions.len();
        let reply = store.complete(q, completions, None).await.unwrap();
        assert!(
            reply
                .statuses
                .iter()
                .all(|status| *status == OutcomeStatus::Completed)
        );
    }
    drained
}
