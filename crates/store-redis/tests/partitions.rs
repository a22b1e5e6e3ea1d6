//! Partitioned queues: order within a partition, lookups, and adding partitions under load.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::store::{Changed, Fraction, UniqueKey};
use windlass_core::{
    BootId, Change, ClaimRequest, Enqueued, Filter, JobId, JobLease, JobState, LeaseTime, NewJob,
    OutcomeStatus, QueueName, Renewal, Store, Target,
};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::{leases_of, named};
use windlass_testkit::paging;
use windlass_testkit::redis::{Cluster, Server, until};

fn queue() -> QueueName {
    QueueName::new("mail").expect("the store replies")
}

fn names(count: usize) -> Vec<NewJob> {
    (0..count).map(|n| named(&format!("j{n:04}"))).collect()
}

async fn open(url: &str) -> RedisStore {
    RedisStore::open(url, Options::default())
        .await
        .expect("the store replies")
}

async fn set_partitions(store: &RedisStore, partitions: u32) {
    let setting = format!("partitions={partitions}")
        .parse()
        .expect("the store replies");
    store
        .set(&queue(), vec![setting])
        .await
        .expect("the store replies");
}

/// Claims and completes all jobs; returns how often each was claimed.
async fn drain(store: &RedisStore) -> BTreeMap<String, usize> {
    let mut seen = BTreeMap::new();
    while let Some(claim) = store
        .claim(&queue(), ClaimRequest::single(50))
        .await
        .expect("the store replies")
    {
        let done = leases_of(&claim)
            .into_iter()
            .map(JobLease::completion)
            .collect();
        for job in &claim.jobs {
            *seen.entry(job.id.to_string()).or_default() += 1;
        }
        let statuses = store
            .complete(&queue(), done, None)
            .await
            .expect("the store replies")
            .statuses;
        assert!(
            statuses
                .iter()
                .all(|status| *status == OutcomeStatus::Completed),
            "{statuses:?}"
        );
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_are_spread_and_each_is_run_once() {
    let cluster = Cluster::start();
    let store = open(&cluster.url()).await;
    set_partitions(&store, 4).await;

    store.enqueue(&queue(), names(1000)).await.unwrap();

    let holding = cluster.nodes()[..3].iter().filter(|node| {
        let keys = node.command(&["DBSIZE"]).integer();
        keys > 3
    });
    assert!(
        holding.count() >= 2,
        "the partitions are on several servers"
    );
    assert_eq!(store.stats(&queue()).await.unwrap().unwrap().ready, 1000);
    let seen = drain(&store).await;
    assert_eq!(seen.len(), 1000);
    assert!(seen.values().all(|times| *times == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_found_in_any_partition() {
    let server = Server::start();
    let store = open(&server.url()).await;
    set_partitions(&store, 5).await;
    store.enqueue(&queue(), names(40)).await.unwrap();

    for n in 0..40 {
        let id = JobId::new(format!("j{n:04}")).unwrap();
        assert!(store.get(&queue(), &id).await.unwrap().is_some(), "{id}");
    }
    let ids = vec![JobId::new("j0007").unwrap(), JobId::new("nobody").unwrap()];
    let reply = store
        .change(&queue(), Change::Cancel, &Target::Ids(ids), None)
        .await
        .unwrap();
    let changes: Vec<_> = reply
        .items
        .iter()
        .map(|item| item.changed.clone())
        .collect();
    assert_eq!(changes, [Changed::Done, Changed::NotFound]);
    let listed = paging::list(&store, &queue(), &Filter::default(), 7).await;
    let mut listed: Vec<_> = listed.unwrap().into_iter().map(|job| job.id).collect();
    listed.sort();
    listed.dedup();
    assert_eq!(listed.len(), 40, "every job is listed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_and_a_key_stay_the_same_job_when_partitions_are_added() {
    let server = Server::start();
    let (first, second) = (open(&server.url()).await, open(&server.url()).await);
    let keyed =
        |id: &str, n: usize| named(id).unique_key(UniqueKey::new(format!("key {n}")).unwrap());
    first.enqueue(&queue(), names(60)).await.unwrap();
    let keys = (0..30).map(|n| keyed(&format!("k{n}"), n)).collect();
    second.enqueue(&queue(), keys).await.unwrap();

    set_partitions(&first, 2).await;
    set_partitions(&first, 7).await;

    for store in [&first, &second] {
        let again = store.enqueue(&queue(), names(60)).await.unwrap();
        assert!(again.iter().all(|reply| reply.is_duplicate()));
        let keys = (0..30).map(|n| keyed(&format!("other{n}"), n)).collect();
        let again = store.enqueue(&queue(), keys).await.unwrap();
        assert!(again.iter().all(|reply| reply.is_duplicate()), "{again:?}");
    }
    let seen = drain(&second).await;
    assert_eq!(seen.len(), 90);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_valid_in_its_partition_and_a_worker_renews_in_all() {
    let server = Server::start();
    let store = open(&server.url()).await;
    store.enqueue(&queue(), names(200)).await.unwrap();
    let boot = BootId::generate();
    let before = store
        .claim(&queue(), ClaimRequest::worker(boot.clone(), 1, 5))
        .await
        .unwrap()
        .unwrap();
    set_partitions(&store, 3).await;
    store
        .enqueue(
            &queue(),
            (0..60).map(|n| named(&format!("new{n}"))).collect(),
        )
        .await
        .unwrap();
    let mut claims = vec![before];
    for seq in 2..8 {
        let request = ClaimRequest::worker(boot.clone(), seq, 5);
        claims.push(store.claim(&queue(), request).await.unwrap().unwrap());
    }

    let renewal = Renewal::Worker {
        boot: boot.clone(),
        tokens: claims.iter().map(|claim| claim.token).collect(),
        settled: 7,
    };
    let renewed = store
        .renew(
            &queue(),
            renewal,
            LeaseTime::nearest(std::time::Duration::from_secs(30)),
        )
        .await
        .unwrap();
    assert!(renewed.until.is_some());
    assert_eq!(renewed.lost, []);
    for claim in &claims {
        let done = leases_of(claim)
            .into_iter()
            .map(JobLease::completion)
            .collect();
        let reply = store.complete(&queue(), done, None).await.unwrap();
        assert!(
            reply
                .statuses
                .iter()
                .all(|status| *status == OutcomeStatus::Completed),
            "{reply:?}"
        );
    }
    let stats = store.stats(&queue()).await.unwrap().unwrap();
    assert_eq!((stats.running, stats.total.succeeded), (0, 35));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_are_added_while_jobs_are_enqueued_and_claimed() {
    let cluster = Cluster::start();
    let url = Arc::new(cluster.url());
    let store = open(&url).await;
    let producers: Vec<_> = (0..3)
        .map(|p| {
            let url = Arc::clone(&url);
            tokio::spawn(async move {
                let store = open(&url).await;
                for n in 0..40 {
                    let jobs = (0..10).map(|i| named(&format!("p{p}.{n}.{i}"))).collect();
                    let replies = store.enqueue(&queue(), jobs).await.unwrap();
                    assert!(
                        replies.iter().all(|reply| !reply.is_duplicate()),
                        "{replies:?}"
                    );
                }
            })
        })
        .collect();
    for partitions in [2, 3, 8] {
        set_partitions(&store, partitions).await;
    }
    for producer in producers {
        producer.await.unwrap();
    }

    let seen = drain(&store).await;

    assert_eq!(seen.len(), 1200);
    assert!(seen.values().all(|times| *times == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_outgrows_its_partitions_gets_more_automatically() {
    let server = Server::start();
    let store = open(&server.url()).await;
    // The second call changes the threshold of a queue that already grows automatically.
    for settings in [&["partitions=auto"][..], &["partition_at=100"]] {
        let settings = settings.iter().map(|setting| setting.parse().unwrap());
        store.set(&queue(), settings.collect()).await.unwrap();
    }

    let mut sent = 0;
    until("the queue has grown", || {
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let jobs = (0..50).map(|n| named(&format!("{sent}.{n}"))).collect();
                store.enqueue(&queue(), jobs).await.unwrap();
                sent += 50;
            });
        });
        match server
            .command(&["EXISTS", "windlass:{mail/1}:state"])
            .integer()
        {
            1 if sent > 500 => Ok(()),
            _ => Err(format!("{sent} jobs sent")),
        }
    });

    let scheduled = named("late").delay(std::time::Duration::from_secs(3600));
    store.enqueue(&queue(), vec![scheduled]).await.unwrap();
    // A worker that knew the queue before it grew finds jobs in the new partitions.
    let seen = drain(&store).await;
    assert_eq!(seen.len(), sent);
    let late = store
        .get(&queue(), &JobId::new("late").unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(late.state, JobState::Scheduled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_knew_one_partition_finds_jobs_in_the_others() {
    let server = Server::start();
    let (worker, operator) = (open(&server.url()).await, open(&server.url()).await);
    operator.enqueue(&queue(), names(1)).await.unwrap();
    assert_eq!(drain(&worker).await.len(), 1);
    let waiting = tokio::spawn({
        let worker = worker.clone();
        async move {
            let mut request = ClaimRequest::single(1);
            let wait = std::time::Duration::from_secs(20);
            worker
                .claim_waiting(&queue(), &mut request, wait)
                .await
                .unwrap()
        }
    });

    set_partitions(&operator, 9).await;
    operator
        .enqueue(&queue(), (0..50).map(|n| named(&format!("n{n}"))).collect())
        .await
        .unwrap();

    let waited = waiting
        .await
        .unwrap()
        .expect("a waiting worker finds a job");
    assert_eq!(drain(&worker).await.len() + waited.jobs.len(), 50);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_process_completes_and_renews_in_partitions_it_has_not_seen() {
    let server = Server::start();
    let first = open(&server.url()).await;
    set_partitions(&first, 6).await;
    first.enqueue(&queue(), names(60)).await.unwrap();
    let lease = std::time::Duration::from_secs(30);
    for n in 0..12 {
        let claim = first
            .claim(&queue(), ClaimRequest::single(2))
            .await
            .unwrap()
            .unwrap();
        let token = claim.token;
        let lease_of = |at: usize| JobLease::new(claim.jobs[at].id.clone(), token);
        let fresh = open(&server.url()).await;
        let renewal = Renewal::Single { token };
        let renewed = fresh
            .renew(&queue(), renewal, LeaseTime::nearest(lease))
            .await
            .unwrap();
        assert_eq!(renewed.lost, [], "claim {n}");
        let progress = open(&server.url()).await;
        let status = progress
            .progress(&queue(), lease_of(0), Fraction::new(0.5).unwrap(), None)
            .await
            .unwrap();
        assert_eq!(
            status,
            windlass_core::store::LeaseStatus::Valid,
            "claim {n}"
        );
        let next = Some(ClaimRequest::single(1));
        let fresh = open(&server.url()).await;
        let reply = fresh
            .complete(&queue(), vec![lease_of(0).completion()], next)
            .await
            .unwrap();
        assert_eq!(reply.statuses, [OutcomeStatus::Completed], "claim {n}");
        let statuses = open(&server.url())
            .await
            .release(&queue(), vec![lease_of(1)])
            .await
            .unwrap();
        assert_eq!(statuses, [OutcomeStatus::Released], "claim {n}");
    }
}

/// Restores the old state of the first partition after more were added: partitions are added, but the
/// first one, which is updated last, does not know it yet.
struct StaleState<'a> {
    server: &'a Server,
    key: &'static str,
    backup: &'static str,
}

impl<'a> StaleState<'a> {
    /// Saves the state of the first partition.
    fn save(server: &'a Server) -> Self {
        let (key, backup) = ("windlass:{mail}:state", "windlass:{mail}:backup");
        server.command(&["COPY", key, backup]).ok();
        Self {
            server,
            key,
            backup,
        }
    }

    fn restore(self) {
        let command = ["COPY", self.backup, self.key, "REPLACE"];
        self.server.command(&command).ok();
        self.server.command(&["DEL", self.backup]).ok();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_adds_partitions_finds_earlier_jobs_before_the_first_partition_is_updated() {
    let server = Server::start();
    let store = open(&server.url()).await;
    store.enqueue(&queue(), names(40)).await.unwrap();
    let stale = StaleState::save(&server);
    set_partitions(&store, 2).await;
    stale.restore();

    let again = store.enqueue(&queue(), names(40)).await.unwrap();

    assert!(again.iter().all(Enqueued::is_duplicate), "{again:?}");
    assert_eq!(drain(&store).await.len(), 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_generated_id_that_is_sent_again_is_found_where_fewer_partitions_had_put_it() {
    let server = Server::start();
    let (grower, other) = (open(&server.url()).await, open(&server.url()).await);
    let fresh: Vec<_> = (0..40).map(|_| NewJob::new("fresh")).collect();
    let mut old = names(40);
    for job in &mut old {
        job.is_named = false;
    }
    for jobs in [&fresh, &old] {
        other.enqueue(&queue(), jobs.clone()).await.unwrap();
    }
    set_partitions(&grower, 2).await;

    // A store that has not seen the new partition learns of it from the reply, then searches. Every
    // store searches for old ids.
    let fresh_replies = other.enqueue(&queue(), fresh).await.unwrap();
    let old_replies = grower.enqueue(&queue(), old).await.unwrap();

    let replies: Vec<_> = fresh_replies.into_iter().chain(old_replies).collect();
    assert!(replies.iter().all(Enqueued::is_duplicate), "{replies:?}");
    assert_eq!(drain(&grower).await.len(), 80);
}

/// Returns jobs that belong to the second of two partitions.
async fn jobs_of_second_partition() -> Vec<NewJob> {
    let server = Server::start();
    let store = open(&server.url()).await;
    set_partitions(&store, 2).await;
    let enqueued = store.enqueue(&queue(), names(40)).await;
    enqueued.expect("the store replies");
    let ids = server.command(&["HKEYS", "windlass:{mail/1}:jobs"]);
    let ids = ids.array().iter().map(|id| id.text());
    ids.filter(|id| !id.is_empty())
        .map(|id| named(&id))
        .collect()
}

/// None of the jobs goes to the first partition, which would learn of the second one from them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_does_not_know_new_partitions_finds_duplicates_in_them() {
    let jobs = jobs_of_second_partition().await;
    let server = Server::start();
    let (grower, other) = (open(&server.url()).await, open(&server.url()).await);
    other.enqueue(&queue(), Vec::new()).await.unwrap();
    let stale = StaleState::save(&server);
    set_partitions(&grower, 2).await;
    stale.restore();
    grower.enqueue(&queue(), jobs.clone()).await.unwrap();

    let again = other.enqueue(&queue(), jobs.clone()).await.unwrap();

    assert!(again.iter().all(Enqueued::is_duplicate), "{again:?}");
    let seen = drain(&grower).await;
    assert_eq!(seen.len(), jobs.len());
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_learns_of_new_partitions_from_a_claim_reads_the_earlier_counts() {
    let server = Server::start();
    let (worker, operator) = (open(&server.url()).await, open(&server.url()).await);
    operator.set_paused(&queue(), true).await.unwrap();
    // The worker has just read the count: one partition, no earlier counts.
    worker.stats(&queue()).await.unwrap();
    set_partitions(&operator, 2).await;
    operator.enqueue(&queue(), names(40)).await.unwrap();
    set_partitions(&operator, 5).await;
    for _ in 0..2 {
        let claim = worker.claim(&queue(), ClaimRequest::single(1)).await;
        assert_eq!(claim.unwrap(), None, "the queue is paused");
    }

    let again = worker.enqueue(&queue(), names(40)).await.unwrap();

    assert!(again.iter().all(Enqueued::is_duplicate), "{again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_growth_is_completed_by_the_next_enqueue() {
    let server = Server::start();
    let (grower, other) = (open(&server.url()).await, open(&server.url()).await);
    set_partitions(&grower, 2).await;
    other.enqueue(&queue(), names(10)).await.unwrap();
    let stale = StaleState::save(&server);
    set_partitions(&grower, 4).await;
    drop(grower);
    stale.restore();

    let replies = other.enqueue(&queue(), names(60)).await.unwrap();

    let known = replies.iter().filter(|reply| reply.is_duplicate()).count();
    assert_eq!(known, 10);
    for store in [other, open(&server.url()).await] {
        let again = store.enqueue(&queue(), names(60)).await.unwrap();
        assert!(again.iter().all(Enqueued::is_duplicate), "{again:?}");
    }
    let seen = drain(&open(&server.url()).await).await;
    assert_eq!(seen.len(), 60);
    assert!(seen.values().all(|times| *times == 1));
}
