//! The server has no memory left: nothing more comes in, everything that is there can end.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{
    BootId, ClaimRequest, Due, ErrorKind, Heartbeat, JobId, JobLease, Mode, NewJob, NewWorker,
    OutcomeStatus, QueueName, Renewal, Store, WorkerCommand,
};
use windlass_store_redis::RedisStore;
use windlass_testkit::fixture::{lease_of, leases_of};
use windlass_testkit::redis::Server;

use crate::support::{info, open, queue, with, with_options};

const ROOM: u64 = 6 * 1024 * 1024;
const LEASE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_takes_no_jobs_and_lets_those_it_has_end() {
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

    // Whoever comes now can work as well as those who were there before.
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
    hold_on(&late, &q, &boot).await;
    let left = stored - settle_some(&late, &q, &boot).await;
    operate(&late, &q).await;
    assert_full(&store, &q).await;

    let drained = drain(&late, &q, &boot).await;
    assert_eq!(drained, left);
    assert_eq!(late.leave(&boot, None).await.unwrap(), 0);
    store.enqueue(&q, vec![NewJob::new("again")]).await.unwrap();
}

/// A covered enqueue is told the same: no level is reached by what was not stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_covered_enqueue_is_told_that_the_server_is_full() {
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

/// A call of so many jobs takes several steps, of which the last finds no room.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_which_some_jobs_were_stored_is_not_told_that_none_was() {
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
    let known = again.iter().filter(|told| told.is_duplicate()).count();
    assert_eq!(known as u64, stored);
}

/// Enqueues until there is no room; how many jobs were stored.
async fn fill(store: &RedisStore, q: &QueueName) -> usize {
    let mut stored = 0;
    loop {
        let jobs: Vec<_> = (0..50).map(|_| NewJob::new(vec![7; 2_000])).collect();
        match store.enqueue(q, jobs).await {
            Ok(told) => stored += told.len(),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::StoreFull, "{error}");
                assert!(error.is_transient());
                assert!(stored > 300, "only {stored} fitted");
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

/// Claims of every sort, and what holds them.
async fn hold_on(store: &RedisStore, q: &QueueName, boot: &BootId) {
    let worker = ClaimRequest::worker(boot.clone(), 1, 2);
    let claim = store.claim(q, worker).await.unwrap().expect("jobs wait");
    let renewal = Renewal::Worker {
        boot: boot.clone(),
        tokens: vec![claim.token],
        settled: 1,
    };
    let renewed = store.renew(q, renewal, LEASE).await.unwrap();
    assert!(renewed.until.is_some() && renewed.lost.is_empty());
    let holds = leases_of(&claim);
    store
        .progress(q, holds[0].clone(), 0.5, Some("half".to_owned()))
        .await
        .unwrap();
    let told = store.release(q, holds).await.unwrap();
    assert_eq!(told, [OutcomeStatus::Released; 2]);

    let dispatch = ClaimRequest::single(1).mode(Mode::Dispatch);
    let claim = store.claim(q, dispatch).await.unwrap().expect("jobs wait");
    let hold = lease_of(&claim, 0);
    store.accept(q, hold.clone(), LEASE).await.unwrap();
    store
        .renew(q, Renewal::Single { token: claim.token }, LEASE)
        .await
        .unwrap();
    let told = store.snooze(q, vec![hold.snooze(Due::Now)]).await.unwrap();
    assert_eq!(told, [OutcomeStatus::Snoozed]);
}

/// Ends some jobs in every way; how many have ended for good.
async fn settle_some(store: &RedisStore, q: &QueueName, boot: &BootId) -> usize {
    let mut request = ClaimRequest::worker(boot.clone(), 2, 4);
    let wait = Duration::from_secs(1);
    let claim = store
        .claim_waiting(q, &mut request, wait)
        .await
        .unwrap()
        .expect("jobs wait");
    let holds = leases_of(&claim);
    let failures = vec![
        holds[0].clone().failure("later"),
        holds[1]
            .clone()
            .failure("never")
            .retry(windlass_core::Retry::Permanent),
    ];
    let told = store.fail(q, failures).await.unwrap();
    assert_eq!(told, [OutcomeStatus::Retrying, OutcomeStatus::Dead]);
    let completions = vec![
        holds[2].clone().completion().result("a result"),
        holds[3].clone().completion(),
    ];
    let next = ClaimRequest::worker(boot.clone(), 3, 1);
    let completed = store.complete(q, completions, Some(next)).await.unwrap();
    assert_eq!(completed.statuses, [OutcomeStatus::Completed; 2]);
    let next = completed.next.expect("more jobs wait");
    let told = store
        .complete(q, vec![lease_of(&next, 0).completion()], None)
        .await
        .unwrap();
    assert_eq!(told.statuses, [OutcomeStatus::Completed]);
    let most_once = ClaimRequest::single(1).mode(Mode::AtMostOnce);
    store.claim(q, most_once).await.unwrap().expect("jobs wait");
    4
}

/// What a person may want to do to make room, and to see why.
async fn operate(store: &RedisStore, q: &QueueName) {
    use windlass_core::{Filter, JobState, Target};
    let of = |state| {
        Target::Filter(Filter {
            state: Some(state),
            kind: None,
        })
    };
    store.pause(q).await.unwrap();
    store.resume(q).await.unwrap();
    assert_eq!(
        store
            .retry(q, &of(JobState::Dead), None)
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    store
        .promote(q, &of(JobState::Scheduled), None)
        .await
        .unwrap();
    store
        .cancel(q, &Target::Ids(vec![JobId::new("nobody").unwrap()]), None)
        .await
        .unwrap();
    store
        .delete(q, &of(JobState::Succeeded), None)
        .await
        .unwrap();
    store.maintain(q, 100).await.unwrap();
    store.stats(q).await.unwrap().expect("the queue is there");
    store.queues().await.unwrap();
    store.workers().await.unwrap();
    store.list(q, &Filter::default(), None, 10).await.unwrap();
    store.audit(q, None).await.unwrap();
}

/// Completes everything; how many jobs that were.
async fn drain(store: &RedisStore, q: &QueueName, boot: &BootId) -> usize {
    let mut drained = 0;
    for seq in 10.. {
        let request = ClaimRequest::worker(boot.clone(), seq, 100);
        let Some(claim) = store.claim(q, request).await.unwrap() else {
            break;
        };
        let holds = leases_of(&claim).into_iter();
        let completions: Vec<_> = holds.map(JobLease::completion).collect();
        drained += completions.len();
        let told = store.complete(q, completions, None).await.unwrap();
        assert!(
            told.statuses
                .iter()
                .all(|told| *told == OutcomeStatus::Completed)
        );
    }
    drained
}
