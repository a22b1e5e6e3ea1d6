//! Audits under load: healthy data is left unchanged, damage is still found.

use std::time::Duration;

use tokio::sync::watch;
use windlass_core::store::{GroupChange, Repair, Retry};
use windlass_core::{
    BootId, Change, ClaimRequest, Due, LeaseTime, NewJob, Priority, QueueName, Result, Store,
    Target,
};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::{group_name, id, lease_of, named, queue};
use windlass_testkit::redis::Server;
use windlass_testkit::soundness;

/// Number of concurrent auditors, and of audits per auditor.
const AUDITORS: usize = 2;
const AUDITS: usize = 12;

/// Turns that each task may take per audited page. Without this limit, the tasks would create work
/// faster than a slow machine audits it.
const TURNS: u64 = 3;

struct BusyFixture {
    server: Server,
    store: RedisStore,
    queue: QueueName,
    /// Whether some jobs have a group.
    has_groups: bool,
    /// Number of turns each task may have taken by now; `None` at the end.
    pace: watch::Sender<Option<u64>>,
}

impl BusyFixture {
    async fn open() -> Result<Self> {
        let server = Server::start();
        let store = RedisStore::open(&server.url(), Options::default()).await?;
        Ok(Self {
            server,
            store,
            queue: queue("q"),
            has_groups: false,
            pace: watch::Sender::new(Some(TURNS)),
        })
    }

    /// Starts the producers and consumers.
    fn start(&self) -> tokio::task::JoinSet<Result<u64>> {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..4 {
            let (store, queue, has_groups) =
                (self.store.clone(), self.queue.clone(), self.has_groups);
            let mut pace = self.pace.subscribe();
            tasks.spawn(async move {
                let mut done = 0;
                while next_turn(&mut pace, done).await {
                    done += produce(&store, &queue, number, done).await?;
                    if has_groups {
                        produce_in_groups(&store, &queue, number, done).await?;
                    }
                }
                Ok(done)
            });
            let (store, queue) = (self.store.clone(), self.queue.clone());
            let mut pace = self.pace.subscribe();
            tasks.spawn(async move {
                let boot = BootId::generate();
                let mut seq = 0;
                while next_turn(&mut pace, seq).await {
                    seq += 1;
                    consume(&store, &queue, &boot, seq).await?;
                }
                Ok(seq)
            });
        }
        tasks
    }

    async fn audit(&self) -> Result<Vec<Repair>> {
        let mut repairs = Vec::new();
        let mut from = None;
        loop {
            self.pace.send_modify(|pace| {
                if let Some(turns) = pace {
                    *turns += TURNS;
                }
            });
            let page = self.store.audit(&self.queue, from).await?;
            repairs.extend(page.repairs);
            from = page.next;
            if from.is_none() {
                return Ok(repairs);
            }
        }
    }

    /// Stops the tasks and asserts that the queue is sound.
    async fn finish(&self, mut tasks: tokio::task::JoinSet<Result<u64>>) -> Result<()> {
        self.pace.send_replace(None);
        while let Some(done) = tasks.join_next().await {
            assert!(done.expect("no panic")? > 0, "every task worked");
        }
        let dump = windlass_core::dump::Dump::dump(&self.store, &self.queue).await?;
        let problems = soundness::problems(&dump.expect("the queue exists"));
        assert!(problems.is_empty(), "{}", problems.join("\n"));
        Ok(())
    }
}

/// Waits until a task that has taken `turn` turns may take another; returns false at the end.
async fn next_turn(pace: &mut watch::Receiver<Option<u64>>, turn: u64) -> bool {
    let next = pace.wait_for(|pace| pace.is_none_or(|turns| turn < turns));
    next.await.is_ok_and(|pace| pace.is_some())
}

/// Enqueues various jobs; cancels, promotes, retries and deletes some.
async fn produce(store: &RedisStore, queue: &QueueName, number: usize, turn: u64) -> Result<u64> {
    let name = |n: u64| format!("{number}-{}", (turn + n) % 40);
    let jobs = vec![
        NewJob::new("plain"),
        NewJob::new("plain too"),
        named(&name(0)).unique_key(name(0).parse()?),
        named(&name(1)).expires(Due::After(Duration::from_millis(turn % 30))),
        named(&name(2)).delay(Duration::from_millis(turn % 20)),
        named(&name(3)).priority(Priority::new(u8::try_from(turn % 10).unwrap_or(5))?),
    ];
    store.enqueue(queue, jobs).await?;
    let ids: Vec<_> = (0..4).map(|n| id(&name(n))).collect();
    match turn % 7 {
        0 => store
            .change(queue, Change::Cancel, &Target::Ids(ids), None)
            .await
            .map(drop)?,
        1 => store
            .change(queue, Change::Promote, &Target::Ids(ids), None)
            .await
            .map(drop)?,
        2 => store
            .change(queue, Change::Retry, &Target::Ids(ids), None)
            .await
            .map(drop)?,
        3 => store
            .change(queue, Change::Delete, &Target::Ids(ids), None)
            .await
            .map(drop)?,
        _ => {}
    }
    Ok(1)
}

/// Enqueues jobs of groups; changes the limits of all groups, or of one.
async fn produce_in_groups(
    store: &RedisStore,
    queue: &QueueName,
    number: usize,
    turn: u64,
) -> Result<()> {
    let group = |n: u64| group_name(&format!("g{}", (turn + n) % 9));
    let name = |n: u64| format!("grouped-{number}-{}", (turn + n) % 40);
    let jobs = (0..6).map(|n| {
        let job = named(&name(n)).group(group(n));
        match n {
            0 => job.expires(Due::After(Duration::from_millis(turn % 30))),
            1 => job.delay(Duration::from_millis(turn % 20)),
            _ => job,
        }
    });
    store.enqueue(queue, jobs.collect()).await?;
    let ids = (0..4).map(|n| id(&name(n))).collect();
    match turn % 5 {
        0 => {
            let limit = format!("group_max_running={}", 1 + turn % 4);
            store.set(queue, vec![limit.parse()?]).await.map(drop)
        }
        1 => {
            let mut change = GroupChange::default();
            change.set(
                "rate",
                ["none", "5/20ms"][usize::from(turn.is_multiple_of(2))],
            )?;
            store.set_group(queue, &group(0), change).await.map(drop)
        }
        2 => {
            let target = Target::Ids(ids);
            let changed = store.change(queue, Change::Cancel, &target, None);
            changed.await.map(drop)
        }
        _ => Ok(()),
    }
}

/// Claims jobs, then completes, fails, releases, snoozes or abandons them.
async fn consume(store: &RedisStore, queue: &QueueName, boot: &BootId, seq: u64) -> Result<()> {
    let request = match seq % 3 {
        0 => ClaimRequest::single(7).lease(LeaseTime::nearest(Duration::from_millis(5))),
        _ => ClaimRequest::worker(boot.clone(), seq, 9)
            .lease(LeaseTime::nearest(Duration::from_millis(200))),
    };
    let Some(claim) = store.claim(queue, request).await? else {
        return Ok(());
    };
    for at in 0..claim.jobs.len() {
        let lease = lease_of(&claim, at);
        match (usize::try_from(seq).unwrap_or(0) + at) % 8 {
            0 => store
                .fail(
                    queue,
                    vec![lease.failure("broke").retry(Retry::At(Due::Now))],
                )
                .await
                .map(drop)?,
            1 => store.release(queue, vec![lease]).await.map(drop)?,
            2 => store
                .snooze(
                    queue,
                    vec![lease.snooze(Due::After(Duration::from_millis(3)))],
                )
                .await
                .map(drop)?,
            3 => store
                .fail(queue, vec![lease.failure("dead").retry(Retry::Permanent)])
                .await
                .map(drop)?,
            4 => store
                .complete(queue, vec![lease.completion().result("it")], None)
                .await
                .map(drop)?,
            // Abandoned until its lease expires.
            5 if seq.is_multiple_of(3) => {}
            _ => store
                .complete(queue, vec![lease.completion()], None)
                .await
                .map(drop)?,
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_healthy_queue_is_left_unchanged_under_load() -> Result<()> {
    let test = BusyFixture::open().await?;
    test.store
        .enqueue(
            &test.queue,
            (0..3000).map(|_| NewJob::new("backlog")).collect(),
        )
        .await?;
    let tasks = test.start();

    let auditors: [_; AUDITORS] = std::array::from_fn(|_| async {
        for _ in 0..AUDITS {
            assert_eq!(test.audit().await?, []);
            test.store.purge(&test.queue).await?;
        }
        Ok::<_, windlass_core::Error>(())
    });
    let [one, two] = auditors;
    tokio::try_join!(one, two)?;

    test.finish(tasks).await?;
    assert_eq!(test.audit().await?, []);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn healthy_groups_are_left_unchanged_under_load() -> Result<()> {
    let mut test = BusyFixture::open().await?;
    test.has_groups = true;
    let tasks = test.start();

    for _ in 0..AUDITS {
        assert_eq!(test.audit().await?, []);
    }

    test.finish(tasks).await?;
    assert_eq!(test.audit().await?, []);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_entries_are_found_under_load() -> Result<()> {
    let test = BusyFixture::open().await?;
    let last = Priority::new(9)?;
    let jobs = (0..500).map(|n| named(&format!("last-{n:03}")).priority(last));
    test.store.enqueue(&test.queue, jobs.collect()).await?;
    for _ in 0..3 {
        let backlog = (0..10_000).map(|_| NewJob::new("backlog"));
        test.store.enqueue(&test.queue, backlog.collect()).await?;
    }
    let tasks = test.start();
    let list = "windlass:{q}:ready:9";
    test.server
        .command(&["LREM", list, "1", "\t0\tlast-123"])
        .ok();
    test.server
        .command(&["LREM", list, "1", "\t0\tlast-321"])
        .ok();
    test.server.command(&["RPUSH", list, "last-007"]).ok();

    let repairs = test.audit().await?;

    let mut found: Vec<String> = repairs
        .iter()
        .map(|repair| {
            format!(
                "{} {}",
                repair.code,
                repair.id.as_ref().map_or("", |id| id.as_str())
            )
        })
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "listed_twice last-007",
            "not_listed last-123",
            "not_listed last-321"
        ]
    );
    test.finish(tasks).await
}
