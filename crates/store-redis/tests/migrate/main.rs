//! The migration of a store from schema 1.

#![expect(clippy::unwrap_used, reason = "a test fails at the first error")]

mod fixture;
mod scenario;

use std::sync::Arc;

use windlass_core::dump::{Dump, QueueDump};
use windlass_core::store::Cursor;
use windlass_core::{ClaimRequest, Clock, ErrorKind, JobLease, ManualClock, QueueName, Store};
use windlass_store_memory::MemoryStore;
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::Server;

use fixture::{migrate, migrate_pages, pack, planted, stats_of, stored};
use scenario::{Caller, START};

async fn open(server: &Server, clock: &Arc<ManualClock>) -> windlass_core::Result<RedisStore> {
    let options = Options {
        clock: Some(Arc::clone(clock) as Arc<dyn Clock>),
        ..Options::default()
    };
    RedisStore::open(&server.url(), options).await
}

/// The specification after the scenario, its clock, and the leases of the running jobs.
async fn model() -> (MemoryStore, Arc<ManualClock>, Vec<JobLease>) {
    let clock = Arc::new(ManualClock::new(START));
    let model = MemoryStore::new(Arc::clone(&clock) as Arc<dyn Clock>);
    let leases = Caller::new(&model, &clock).run().await;
    (model, clock, leases)
}

/// Audits a queue. Returns what was repaired.
async fn audit(store: &RedisStore, queue: &QueueName) -> Vec<String> {
    let (mut repairs, mut from) = (Vec::new(), None::<Cursor>);
    loop {
        let page = store.audit(queue, from).await.unwrap();
        repairs.extend(page.repairs.iter().map(|repair| format!("{repair:?}")));
        from = page.next;
        if from.is_none() {
            return repairs;
        }
    }
}

/// Claims and completes all ready jobs. Returns all replies.
async fn work_off(store: &dyn Store, clock: &ManualClock) -> Vec<String> {
    let mut caller = Caller::new(store, clock);
    let queue = caller.queue.clone();
    let mut replies = Vec::new();
    while let Some(claim) = caller.claim(ClaimRequest::single(7)).await {
        let lease = |id| JobLease::new(id, claim.token).completion();
        let done = claim.jobs.iter().map(|job| lease(job.id.clone())).collect();
        let done = store.complete(&queue, done, None).await.unwrap();
        replies.push(format!("{:?} {:?}", claim.jobs, done.statuses));
    }
    replies
}

/// Completes running jobs, one by one. Returns all replies.
async fn complete_each(store: &dyn Store, leases: &[JobLease]) -> Vec<String> {
    let (queue, mut replies) = (QueueName::new("q").unwrap(), Vec::new());
    for lease in leases {
        let completion = vec![lease.clone().completion()];
        let done = store.complete(&queue, completion, None).await.unwrap();
        replies.push(format!("{:?}", done.statuses));
    }
    replies
}

#[tokio::test]
async fn a_store_of_schema_1_is_refused_with_the_command_that_migrates_it() {
    let server = planted();
    let before = stored(&server);
    let clock = Arc::new(ManualClock::new(START));

    let error = open(&server, &clock).await.unwrap_err();

    assert_eq!(error.kind(), ErrorKind::StoreOlder);
    assert!(error.to_string().contains("has schema 1"), "{error}");
    assert!(error.help().contains("windlass store migrate"), "{error:?}");
    assert!(stored(&server) == before);

    // A queue that an old program created after the migration.
    server.command(&["SET", "windlass:{*}:schema", "2"]).ok();
    let store = open(&server, &clock).await.unwrap();
    let queue = QueueName::new("q").unwrap();
    let claimed = store.claim(&queue, ClaimRequest::single(1)).await;
    assert_eq!(claimed.unwrap_err().kind(), ErrorKind::StoreOlder);
    let audited = store.audit(&queue, None).await;
    assert_eq!(audited.unwrap_err().kind(), ErrorKind::StoreOlder);
    migrate(&server).await.unwrap();
    assert!(store.claim(&queue, ClaimRequest::single(1)).await.is_ok());
}

/// Returns the state of a queue without what earlier versions did not keep: history and records of attempts.
async fn dump(store: &impl Dump, queue: &QueueName) -> QueueDump {
    let mut dump = store.dump(queue).await.unwrap().unwrap();
    dump.history.clear();
    dump.error_groups.clear();
    dump.stats.bytes = 0; // includes these records
    dump.jobs.iter_mut().for_each(|job| job.attempts.clear());
    dump
}

#[tokio::test]
async fn a_migrated_store_is_as_if_it_had_always_had_the_new_schema() {
    let server = planted();
    let (model, clock, leases) = model().await;
    let queue = QueueName::new("q").unwrap();

    let pages = migrate(&server).await.unwrap();

    assert!(pages.len() > 3, "{pages:?}");
    let last = pages.last().unwrap();
    assert!(last.is_done && last.jobs > 50, "{last:?}");
    let store = open(&server, &clock).await.unwrap();
    assert_eq!(dump(&store, &queue).await, dump(&model, &queue).await);
    assert_eq!(audit(&store, &queue).await, Vec::<String>::new());
    // Only jobs with opts that matter to a script are in the hash, besides its anchor.
    let opts = server.command(&["HKEYS", "windlass:{q}:opts"]).ok();
    let opts: Vec<_> = opts.array().iter().map(|id| id.text()).collect();
    assert!(
        opts.contains(&"named".to_owned()) && opts.len() == 20,
        "{opts:?}"
    );

    let expected = work_off(&model, &clock).await;
    assert!(expected.len() > 5);
    assert!(work_off(&store, &clock).await == expected);
    // Now nothing but the jobs themselves keeps the fast scripts from completing them. A new store tries those first.
    let store = open(&server, &clock).await.unwrap();
    let expected = complete_each(&model, &leases).await;
    assert_eq!(complete_each(&store, &leases).await, expected);

    assert_eq!(dump(&store, &queue).await, dump(&model, &queue).await);
    assert_eq!(audit(&store, &queue).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_migration_that_is_stopped_after_any_page_is_finished_by_the_next() {
    let whole = planted();
    let pages = migrate(&whole).await.unwrap().len();
    let expected = stored(&whole);

    for stop in 1..pages {
        let server = planted();
        assert!(migrate_pages(&server, stop).await);
        let clock = Arc::new(ManualClock::new(START));
        let refused = open(&server, &clock).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::StoreOlder);
        migrate(&server).await.unwrap();
        assert!(stored(&server) == expected, "stopped after page {stop}");
    }

    let server = planted();
    let mut runs = 1;
    while migrate_pages(&server, runs).await {
        runs += 1;
    }
    assert!(runs > 2, "{runs}");
    assert!(stored(&server) == expected, "stopped again and again");
}

#[tokio::test]
async fn two_migrations_at_once_do_not_disturb_each_other() {
    let whole = planted();
    migrate(&whole).await.unwrap();
    let server = planted();

    let (one, other) = tokio::join!(migrate(&server), migrate(&server));

    one.unwrap();
    other.unwrap();
    assert!(stored(&server) == stored(&whole));
    assert!(migrate(&server).await.unwrap().is_empty());
}

/// The id of a job as if it was generated at the start.
fn id(number: usize) -> String {
    format!("01hf7yc120{number:016}")
}

/// Plants a partition of a queue with ready jobs, each with its id as payload.
fn plant_partition(server: &Server, tag: &str, stats: &[f64], jobs: usize) {
    let key = |name: &str| format!("windlass:{{{tag}}}:{name}");
    let (field, packed) = (b"figures".to_vec(), pack(stats));
    let state = [b"HSET".to_vec(), key("state").into(), field, packed];
    server.command(&state).ok();
    for anchored in ["jobs", "opts", "running", "open", "claims"] {
        let anchor = ".".repeat(65);
        server.command(&["HSET", &key(anchored), "", &anchor]).ok();
    }
    for n in 0..jobs {
        let id = id(n);
        server.command(&["HSET", &key("jobs"), &id, &id]).ok();
        server.command(&["RPUSH", &key("ready:5"), &id]).ok();
    }
    let queue = tag.split('/').next().unwrap();
    server.command(&["SADD", "windlass:{*}:queues", queue]).ok();
    server.command(&["SET", "windlass:{*}:schema", "1"]).ok();
}

/// Stats of schema 1, each the number of its position but for the schema, the bytes and the partitions.
fn numbered_stats(partitions: u32) -> Vec<f64> {
    let mut stats: Vec<f64> = (1..=47).map(f64::from).collect();
    (stats[0], stats[7], stats[45]) = (1.0, 1000.0, f64::from(partitions));
    stats
}

#[tokio::test]
async fn a_job_with_opts_is_not_taken_for_a_plain_one() {
    let server = Server::start();
    let mut stats = [0.0; 47];
    // Schema, bytes, ready jobs of priority 5, partitions.
    (stats[0], stats[7], stats[30], stats[45]) = (1.0, 78.0, 3.0, 1.0);
    plant_partition(&server, "q", &stats, 3);
    // Its id was chosen by the caller, so it is remembered when the job has ended.
    server
        .command(&["HSET", "windlass:{q}:opts", &id(1), "n\nc1700000040000\n"])
        .ok();
    migrate(&server).await.unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let store = open(&server, &clock).await.unwrap();
    let queue = QueueName::new("q").unwrap();

    // The first claim lets the fast scripts take the next ones.
    for expected in [id(0), id(1), id(2)] {
        let claim = store
            .claim(&queue, ClaimRequest::single(1))
            .await
            .unwrap()
            .unwrap();
        let lease = JobLease::new(claim.jobs[0].id.clone(), claim.token);
        assert_eq!(lease.id.as_str(), expected);
        store
            .complete(&queue, vec![lease.completion()], None)
            .await
            .unwrap();
    }

    let remembered = server.command(&["HKEYS", "windlass:{q}:tombstones"]).ok();
    assert_eq!(remembered.array().len(), 1);
    for left in ["jobs", "opts"] {
        let left = server.command(&["HGETALL", &format!("windlass:{{q}}:{left}")]);
        let left: Vec<_> = left.array().iter().map(|item| item.text()).collect();
        assert_eq!(left, [String::new(), ".".repeat(65)]);
    }
}

#[tokio::test]
async fn every_partition_is_migrated_in_pages_and_its_stats_move() {
    let server = Server::start();
    plant_partition(&server, "many", &numbered_stats(2), 3000);
    plant_partition(&server, "many/1", &numbered_stats(2), 3);
    // Growing has created this one, and the others do not count it yet.
    plant_partition(&server, "many/2", &numbered_stats(3), 0);

    let pages = migrate(&server).await.unwrap();

    let jobs: Vec<_> = pages
        .iter()
        .filter(|page| page.partition == 0)
        .map(|page| page.jobs)
        .collect();
    assert!(
        jobs.windows(2).all(|page| page[1] - page[0] < 600),
        "{jobs:?}"
    );
    let done: Vec<_> = pages
        .iter()
        .filter(|page| page.is_done)
        .map(|page| (page.partition, page.jobs))
        .collect();
    assert_eq!(done, [(0, 3000), (1, 3), (2, 0)]);
    let numbers = [
        2, 2, 3, 4, 0, 0, 7, 1000, 12, 13, 17, 18, 19, 23, 24, 2, 47, 20, 21, 22, 26, 27, 28, 29,
        30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 25, 9, 10, 11, 14, 15, 16,
    ];
    assert_eq!(stats_of(&server, "many"), numbers.map(f64::from));
    let value = server
        .command(&["HGET", "windlass:{many}:jobs", &id(7)])
        .ok();
    assert_eq!(value.text(), format!("\n{}", id(7)));
}

#[tokio::test]
async fn other_queues_do_not_notice() {
    let server = planted();
    plant_partition(&server, "z", &numbered_stats(1), 1);
    assert!(migrate_pages(&server, 1).await);

    assert!((stats_of(&server, "q")[0] - 1.5).abs() < f64::EPSILON);
    assert!((stats_of(&server, "z")[0] - 1.0).abs() < f64::EPSILON);
}

#[tokio::test]
async fn a_queue_without_stats_is_not_touched() {
    let server = planted();
    server
        .command(&["HDEL", "windlass:{q}:state", "figures"])
        .ok();
    let before = stored(&server);

    let error = migrate(&server).await.unwrap_err();

    assert_eq!(error.kind(), ErrorKind::StoreDamaged);
    assert!(stored(&server) == before);
}

#[tokio::test]
async fn an_empty_store_and_a_newer_one_are_left_alone() {
    let server = Server::start();
    assert!(migrate(&server).await.unwrap().is_empty());
    assert!(stored(&server).is_empty());
    server.command(&["SET", "windlass:{*}:schema", "3"]).ok();

    let error = migrate(&server).await.unwrap_err();

    assert_eq!(error.kind(), ErrorKind::StoreNewer);
    assert_eq!(stored(&server)["windlass:{*}:schema"], [[b"3"]]);
}
