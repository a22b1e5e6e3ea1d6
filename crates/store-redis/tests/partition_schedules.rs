//! Schedules of partitioned queues: each is in one partition, and found in any.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::store::{QueueDeletion, Ran, Run, ScheduleChange, UniqueKey};
use windlass_core::{
    ClaimRequest, Clock, JobState, ManualClock, Result, Schedule, Store, Timestamp,
};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::{every, named, queue, schedule_name, secs};
use windlass_testkit::redis::{Cluster, Server};

/// An instant of the schedules.
const START: Timestamp = Timestamp::from_ms(28_333_334 * 60_000);

async fn open(url: &str, clock: &Arc<ManualClock>) -> Result<RedisStore> {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    let options = Options {
        clock: Some(clock),
        ..Options::default()
    };
    RedisStore::open(url, options).await
}

async fn set_partitions(store: &RedisStore, partitions: u32) -> Result<()> {
    let setting = format!("partitions={partitions}").parse()?;
    store.set(&queue("q"), vec![setting]).await?;
    Ok(())
}

async fn put(store: &RedisStore, schedule: Schedule) -> Result<Option<bool>> {
    let put = windlass_schedule::put(store, &queue("q"), schedule, None).await?;
    Ok(put.changed)
}

/// The names of all schedules, in pages of `limit`.
async fn names(store: &RedisStore, limit: usize) -> Result<Vec<String>> {
    let (mut names, mut from) = (Vec::new(), None);
    loop {
        let page = store.schedules(&queue("q"), from, limit).await?;
        assert!(page.items.len() <= limit);
        names.extend(page.items.iter().map(|item| item.schedule.name.to_string()));
        from = page.next;
        if from.is_none() {
            return Ok(names);
        }
    }
}

/// A key of a partition.
fn key(number: u32, name: &str) -> String {
    match number {
        0 => format!("windlass:{{q}}:{name}"),
        number => format!("windlass:{{q/{number}}}:{name}"),
    }
}

/// The partitions that have a schedule.
fn partitions_with(server: &Server, partitions: u32, name: &str) -> Vec<u32> {
    let has = |number: &u32| {
        let exists = server.command(&["HEXISTS", &key(*number, "schedules"), name]);
        exists.ok().integer() == 1
    };
    (0..partitions).filter(has).collect()
}

fn copies(server: &Server, partitions: u32, name: &str) -> usize {
    partitions_with(server, partitions, name).len()
}

/// A schedule whose jobs have a unique key, which decides its partition.
fn keyed(name: &str, number: usize) -> Result<Schedule> {
    let mut keyed = every(name, 60);
    let unique_key = UniqueKey::new(format!("{name}-{number}"))?;
    keyed.job = keyed.job.unique_key(unique_key);
    Ok(keyed)
}

#[tokio::test]
async fn schedules_of_all_partitions_are_listed_by_name() -> Result<()> {
    let cluster = Cluster::start();
    let clock = Arc::new(ManualClock::new(START));
    let store = open(&cluster.url(), &clock).await?;
    set_partitions(&store, 4).await?;
    let expected: Vec<String> = (0..50).map(|n| format!("s{n:02}")).collect();
    for name in expected.iter().rev() {
        assert_eq!(put(&store, every(name, 60)).await?, None);
    }

    for limit in [1, 7, 50, 100] {
        assert_eq!(names(&store, limit).await?, expected, "pages of {limit}");
    }
    let stats = store.stats(&queue("q")).await?.expect("the queue exists");
    assert_eq!((stats.schedules, stats.next_due_ms), (50, Some(60_000)));
    assert_eq!(
        store.delete_queue(&queue("q")).await?,
        QueueDeletion::HasSchedules
    );
    Ok(())
}

#[tokio::test]
async fn every_operation_finds_a_schedule_in_any_partition() -> Result<()> {
    let server = Server::start();
    let clock = Arc::new(ManualClock::new(START));
    let store = open(&server.url(), &clock).await?;
    set_partitions(&store, 3).await?;
    let (queue, count) = (queue("q"), 12);
    for n in 0..count {
        put(&store, every(&format!("s{n}"), 60)).await?;
    }
    clock.advance(secs(60));

    let fired = store.maintain(&queue, 100).await?;
    assert_eq!(fired.instants, count);
    for n in 0..count {
        let name = schedule_name(&format!("s{n}"));
        let record = store.schedule(&queue, &name).await?;
        assert_eq!(record.expect("it exists").total.fired, 1);
        let nonce = "1".to_owned();
        let run = Run::Now {
            nonce,
            is_forced: true,
        };
        let ran = store.run_schedule(&queue, &name, run).await?;
        assert!(matches!(ran.expect("it exists")[0], Ran::Enqueued(_)));
        for change in [ScheduleChange::Pause, ScheduleChange::Delete] {
            assert!(store.change_schedule(&queue, &name, change).await?);
        }
        assert!(store.schedule(&queue, &name).await?.is_none());
    }
    let stats = store.stats(&queue).await?.expect("the queue exists");
    assert_eq!((stats.schedules, stats.ready), (0, 2 * count));
    Ok(())
}

#[tokio::test]
async fn a_schedule_stays_in_its_partition_when_the_queue_grows() -> Result<()> {
    let server = Server::start();
    let clock = Arc::new(ManualClock::new(START));
    let store = open(&server.url(), &clock).await?;
    let mut names = Vec::new();
    for (partitions, n) in [1, 2, 4, 7].into_iter().zip(0..) {
        set_partitions(&store, partitions).await?;
        for at in 0..5 {
            let name = format!("s{n}{at}");
            assert_eq!(put(&store, every(&name, 60)).await?, None);
            names.push(name);
        }
    }
    // A process that knew the queue with one partition.
    let other = open(&server.url(), &clock).await?;

    for name in &names {
        assert_eq!(put(&other, every(name, 60)).await?, Some(false), "{name}");
        // The unique key would belong to another partition.
        let mut keyed = every(name, 60);
        keyed.job = keyed.job.unique_key(UniqueKey::new(name.as_str())?);
        assert_eq!(put(&store, keyed).await?, Some(true), "{name}");
        assert_eq!(copies(&server, 7, name), 1, "{name}");
    }
    clock.advance(secs(60));
    assert_eq!(store.maintain(&queue("q"), 100).await?.instants, 20);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_is_never_in_two_partitions_while_the_queue_grows() -> Result<()> {
    let server = Server::start();
    let clock = Arc::new(ManualClock::new(START));
    let first = open(&server.url(), &clock).await?;
    put(&first, every("first", 60)).await?;
    let growing = open(&server.url(), &clock).await?;
    let grow = tokio::spawn(async move {
        for partitions in 2..=8 {
            set_partitions(&growing, partitions).await?;
        }
        Ok::<_, windlass_core::Error>(())
    });
    let mut putting = Vec::new();
    for _ in 0..3 {
        let store = open(&server.url(), &clock).await?;
        putting.push(tokio::spawn(async move {
            for n in 0..60 {
                put(&store, every(&format!("s{n}"), 60)).await?;
            }
            Ok::<_, windlass_core::Error>(())
        }));
    }
    grow.await.expect("it does not panic")?;
    for task in putting {
        task.await.expect("it does not panic")?;
    }

    for n in 0..60 {
        let name = format!("s{n}");
        assert_eq!(copies(&server, 8, &name), 1, "{name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_puts_with_different_unique_keys_leave_one_copy() -> Result<()> {
    let server = Server::start();
    let clock = Arc::new(ManualClock::new(START));
    let mut stores = Vec::new();
    for _ in 0..3 {
        stores.push(Arc::new(open(&server.url(), &clock).await?));
    }
    set_partitions(&stores[0], 8).await?;

    for n in 0..40 {
        let name = format!("s{n}");
        let puts = stores.iter().enumerate().map(|(at, store)| {
            let (store, name) = (Arc::clone(store), name.clone());
            tokio::spawn(async move { put(&store, keyed(&name, at)?).await })
        });
        let puts: Vec<_> = puts.collect();
        for put in puts {
            put.await.expect("it does not panic")?;
        }
        assert_eq!(copies(&server, 8, &name), 1, "{name}");
    }
    clock.advance(secs(60));
    assert_eq!(stores[0].maintain(&queue("q"), 100).await?.instants, 40);
    Ok(())
}

#[tokio::test]
async fn an_audit_removes_the_copy_that_an_interrupted_put_left() -> Result<()> {
    let server = Server::start();
    let clock = Arc::new(ManualClock::new(START));
    let store = open(&server.url(), &clock).await?;
    set_partitions(&store, 2).await?;
    put(&store, every("s", 60)).await?;
    let from = partitions_with(&server, 2, "s")[0];
    for name in ["schedules", "plans", "firing", "refilling", "names"] {
        let [one, other] = [from, 1 - from].map(|number| key(number, name));
        server.command(&["COPY", &one, &other]).ok();
    }
    let state = key(1 - from, "state");
    server.command(&["HSET", &state, "schedules", "1"]).ok();
    assert_eq!(copies(&server, 2, "s"), 2);

    let (_, repairs) = windlass_testkit::paging::audit(&store, &queue("q")).await?;

    let codes: Vec<_> = repairs.iter().map(|repair| repair.code).collect();
    assert_eq!(codes, ["schedule_copied"]);
    assert_eq!(copies(&server, 2, "s"), 1);
    Ok(())
}

#[tokio::test]
async fn a_schedule_and_a_job_with_the_same_unique_key_are_in_one_partition() -> Result<()> {
    let server = Server::start();
    let clock = Arc::new(ManualClock::new(START));
    let store = open(&server.url(), &clock).await?;
    set_partitions(&store, 5).await?;
    let keys: BTreeSet<_> = (0..8).map(|n| format!("key{n}")).collect();
    for key in &keys {
        let job = named(&format!("job-{key}")).unique_key(UniqueKey::new(key.as_str())?);
        store.enqueue(&queue("q"), vec![job]).await?;
        let mut schedule = every(&format!("of-{key}"), 60);
        schedule.job = schedule.job.unique_key(UniqueKey::new(key.as_str())?);
        put(&store, schedule).await?;
    }
    clock.advance(secs(60));
    store.maintain(&queue("q"), 100).await?;

    for key in &keys {
        let name = schedule_name(&format!("of-{key}"));
        let record = store
            .schedule(&queue("q"), &name)
            .await?
            .expect("it exists");
        assert_eq!(record.total.skipped, 1, "the job holds {key}");
    }
    Ok(())
}

#[tokio::test]
async fn the_end_of_a_job_releases_the_one_that_waits_in_its_partition() -> Result<()> {
    let server = Server::start();
    let clock = Arc::new(ManualClock::new(START));
    let store = open(&server.url(), &clock).await?;
    set_partitions(&store, 3).await?;
    let queue = queue("q");
    for n in 0..6 {
        let mut schedule = every(&format!("s{n}"), 60);
        schedule.overlap = windlass_core::store::Overlap::Buffer;
        put(&store, schedule).await?;
    }
    clock.advance(secs(120));
    store.maintain(&queue, 100).await?;
    let stats = store.stats(&queue).await?.expect("the queue exists");
    assert_eq!((stats.ready, stats.pending), (6, 6));

    let mut ended = 0;
    while let Some(claim) = store.claim(&queue, ClaimRequest::single(1)).await? {
        let done = windlass_testkit::fixture::lease_of(&claim, 0).completion();
        store.complete(&queue, vec![done], None).await?;
        ended += 1;
    }
    assert_eq!(ended, 12);
    let filter = windlass_core::Filter {
        state: Some(JobState::Pending),
        ..windlass_core::Filter::default()
    };
    assert!(
        store
            .list(&queue, &filter, None, 10)
            .await?
            .items
            .is_empty()
    );
    Ok(())
}
