//! A queue with jobs in every state.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use windlass_core::store::{Fraction, Headers, NewWorker, Refill, Retry, Setting, UniqueKey};
use windlass_core::{
    BootId, Change, Claim, ClaimRequest, Clock, Due, Filter, JobLease, JobState, LeaseTime,
    ManualClock, Mode, NewJob, Priority, QueueName, Renewal, Store, Target,
};
use windlass_store_redis::RedisStore;
use windlass_testkit::fixture::{id, lease_of, leases_of};

use crate::schedules;

pub(crate) const LEASE: LeaseTime = LeaseTime::nearest(Duration::from_secs(30));
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

/// The queue, its workers and their claims.
pub(crate) struct Fixture {
    pub(crate) q: QueueName,
    pub(crate) boot: BootId,
    /// A worker whose lease has expired.
    pub(crate) expired: BootId,
    /// Five jobs in one claim of `boot`; the last one is being cancelled.
    pub(crate) held: Claim,
    pub(crate) single: Claim,
    pub(crate) offered: Claim,
    /// Makes an instant of a schedule due, which cancels the job that waits.
    pub(crate) refill: Refill,
}

impl Fixture {
    /// Fills an empty store. The clock advances meanwhile, so that some jobs are due and some leases
    /// have expired.
    pub(crate) async fn build(store: &RedisStore, clock: &Arc<ManualClock>) -> Self {
        let q = QueueName::new("q").unwrap();
        let (boot, expired) = (BootId::generate(), BootId::generate());
        let set =
            ["succeeded_count=100", "dead_age=all"].map(|text| text.parse::<Setting>().unwrap());
        store.set(&q, set.to_vec()).await.unwrap();
        for boot in [&boot, &expired] {
            store.register(worker(boot, &q)).await.unwrap();
        }
        // A claim whose tombstone is about to expire, and ids kept for deduplication.
        store
            .enqueue(&q, vec![job("old").id(id("old")), job("older")])
            .await
            .unwrap();
        let old = claim(store, &q, ClaimRequest::single(9)).await;
        let done = leases_of(&old)
            .into_iter()
            .map(JobLease::completion)
            .collect();
        store.complete(&q, done, None).await.unwrap();
        suspects(store, &q, &expired, clock).await;
        clock.advance(Duration::from_secs(70));
        finished(store, &q).await;
        let held = held(store, &q, &boot).await;
        lost(store, &q, &expired, clock).await;
        let renewal = Renewal::Worker {
            boot: boot.clone(),
            tokens: vec![held.token],
            settled: 1,
        };
        store
            .renew(&q, renewal, LeaseTime::nearest(HOUR))
            .await
            .unwrap();
        waiting(store, &q).await;
        let offer = ClaimRequest::single(1)
            .mode(Mode::Dispatch)
            .lease(LeaseTime::nearest(HOUR));
        let fixture = Self {
            single: claim(
                store,
                &q,
                ClaimRequest::single(1).lease(LeaseTime::nearest(HOUR)),
            )
            .await,
            offered: claim(store, &q, offer).await,
            refill: schedules::put(store, &q, clock.now_us() / 1000 + 2000).await,
            q,
            boot,
            expired,
            held,
        };
        clock.advance(Duration::from_secs(2));
        wait_for_jobs(store, &fixture).await;
        let due = vec![fixture.refill.clone()];
        store.refill_schedules(&fixture.q, due).await.unwrap();
        fixture
    }
}

pub(crate) fn job(payload: &str) -> NewJob {
    NewJob::new(payload.to_owned())
}

pub(crate) fn worker(boot: &BootId, q: &QueueName) -> NewWorker {
    NewWorker {
        boot: boot.clone(),
        name: "worker".to_owned(),
        host: "here".to_owned(),
        pid: 1,
        version: "1".to_owned(),
        queues: vec![q.clone()],
    }
}

async fn claim(store: &RedisStore, q: &QueueName, mut request: ClaimRequest) -> Claim {
    request.nonce = 7;
    store.claim(q, request).await.unwrap().expect("jobs wait")
}

/// A job whose lease expired twice, in the last priority, so that claims take other jobs first.
async fn suspects(store: &RedisStore, q: &QueueName, expired: &BootId, clock: &ManualClock) {
    let suspect = job("suspect").id(id("suspect"));
    let suspect = suspect.priority(Priority::new(9).unwrap());
    store.enqueue(q, vec![suspect]).await.unwrap();
    for seq in [100, 101] {
        claim(
            store,
            q,
            ClaimRequest::worker(expired.clone(), seq, 1).lease(LEASE),
        )
        .await;
        clock.advance(2 * LEASE.get());
        store.maintain(q, 100).await.unwrap();
    }
}

/// A job for each final state.
async fn finished(store: &RedisStore, q: &QueueName) {
    let jobs = ["result", "awaited", "fails", "fades"].map(|name| job(name).id(id(name)));
    let mut jobs = jobs.to_vec();
    jobs[1] = jobs[1].clone().keep_outcome();
    jobs[2] = jobs[2]
        .clone()
        .unique_key(UniqueKey::new("of the dead").unwrap());
    store.enqueue(q, jobs).await.unwrap();
    store
        .change(q, Change::Cancel, &Target::Ids(vec![id("fades")]), None)
        .await
        .unwrap();
    let all = claim(store, q, ClaimRequest::single(9)).await;
    store.release(q, leases_of(&all)).await.unwrap();
    let all = claim(store, q, ClaimRequest::single(9)).await;
    assert_eq!(all.jobs.len(), 3);
    for lease in leases_of(&all) {
        if lease.id == id("fails") {
            let failure = lease.failure("no good").retry(Retry::Permanent);
            store.fail(q, vec![failure]).await.unwrap();
        } else {
            let completion = lease.completion().result("done");
            store.complete(q, vec![completion], None).await.unwrap();
        }
    }
}

/// Five jobs held by a live worker, one with progress, one being cancelled.
async fn held(store: &RedisStore, q: &QueueName, boot: &BootId) -> Claim {
    let suspects = store.list(q, &Filter::default(), None, 100).await.unwrap();
    assert!(
        suspects
            .items
            .iter()
            .any(|job| job.expiries == 2 && job.state == JobState::Ready)
    );
    let jobs: Vec<_> = (0..5)
        .map(|n| {
            let key = UniqueKey::new(format!("held-{n}")).unwrap();
            job("held")
                .id(id(&format!("held-{n}")))
                .unique_key(key)
                .expires(Due::After(HOUR))
        })
        .collect();
    store.enqueue(q, jobs).await.unwrap();
    let held = claim(
        store,
        q,
        ClaimRequest::worker(boot.clone(), 1, 5).lease(LeaseTime::nearest(HOUR)),
    )
    .await;
    assert_eq!(held.jobs.len(), 5);
    store
        .progress(
            q,
            lease_of(&held, 0),
            Fraction::new(0.5).unwrap(),
            Some("half".to_owned()),
        )
        .await
        .unwrap();
    store
        .change(
            q,
            Change::Cancel,
            &Target::Ids(vec![held.jobs[4].id.clone()]),
            None,
        )
        .await
        .unwrap();
    held
}

/// Jobs held by a worker whose lease has expired.
async fn lost(store: &RedisStore, q: &QueueName, expired: &BootId, clock: &ManualClock) {
    store
        .enqueue(
            q,
            vec![job("lost").id(id("lost-1")), job("lost").id(id("lost-2"))],
        )
        .await
        .unwrap();
    claim(
        store,
        q,
        ClaimRequest::worker(expired.clone(), 200, 2).lease(LEASE),
    )
    .await;
    clock.advance(LEASE.get() + Duration::from_secs(1));
}

/// Waiting jobs: of every priority, scheduled, due, with an expiry, with stale list entries.
async fn waiting(store: &RedisStore, q: &QueueName) {
    let mut headers = Headers::default();
    headers.set("trace", "abc").unwrap();
    let mut jobs: Vec<_> = (0..30)
        .map(|n| {
            let job = job("ready").id(id(&format!("ready-{n}")));
            job.priority(Priority::new(n % 10).unwrap())
                .headers(headers.clone())
        })
        .collect();
    jobs.push(job("later").id(id("later")).delay(HOUR));
    jobs.push(job("soon").id(id("soon")).delay(Duration::from_secs(1)));
    jobs.push(
        job("fades")
            .id(id("expired"))
            .expires(Due::After(Duration::from_secs(1))),
    );
    jobs.push(
        job("key")
            .id(id("keyed"))
            .unique_key(UniqueKey::new("key").unwrap()),
    );
    jobs.push(job("stale").id(id("stale")));
    store.enqueue(q, jobs).await.unwrap();
    for _ in 0..2 {
        store
            .change(q, Change::Cancel, &Target::Ids(vec![id("stale")]), None)
            .await
            .unwrap();
        store
            .change(q, Change::Delete, &Target::Ids(vec![id("stale")]), None)
            .await
            .unwrap();
        store
            .enqueue(q, vec![job("stale").id(id("stale"))])
            .await
            .unwrap();
    }
}

/// Leaves wake-ups of finished waiters, and more waiters than jobs.
async fn wait_for_jobs(store: &RedisStore, fixture: &Fixture) {
    store.set_paused(&fixture.q, true).await.unwrap();
    // Concurrently, because an idle server ends blocking calls only ten times a second. Workers are
    // registered separately.
    let mut waits = JoinSet::new();
    for _ in 0..40 {
        let (store, q) = (store.clone(), fixture.q.clone());
        waits.spawn(async move {
            let mut request = ClaimRequest::worker(BootId::generate(), 1, 1);
            let wait = Duration::from_millis(1);
            store.claim_waiting(&q, &mut request, wait).await.unwrap();
        });
    }
    waits.join_all().await;
    store.set_paused(&fixture.q, false).await.unwrap();
}
