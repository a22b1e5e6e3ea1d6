//! The bridge under errors: items it holds are neither lost nor mistaken for others.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::{ClaimRequest, Due, ErrorKind, JobId, JobLease, QueueName, Store};
use windlass_interop::bridge::{Bridge, BridgeSource};
use windlass_interop::delayed_queue::{DelayedQueue, PREFIX};
use windlass_interop::redis_work_queue::{Item, WorkQueue};
use windlass_interop::worqr::{Worqr, WorqrSettings};
use windlass_interop::{InteropServer, blueque, inspect, redis_work_queue, worqr};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::{self, CutPoint, FaultProxy};

const TASKS: [&str; 3] = ["one", "two", "three"];
const NO_WAIT: Duration = Duration::ZERO;
const TIMEOUT: Duration = Duration::from_secs(60);

/// A server for the older system, another one for the queue, and clients of both.
struct Fixture {
    old: redis::Server,
    new: redis::Server,
    server: InteropServer,
    store: Arc<dyn Store>,
    queue: QueueName,
}

impl Fixture {
    async fn new() -> Self {
        let (old, new) = (redis::Server::start(), redis::Server::start());
        // A short timeout, so that a full server is reported soon.
        let url = format!("{}?timeout=1s", new.url());
        let store = RedisStore::open(&url, Options::default()).await.unwrap();
        Self {
            server: InteropServer::open(&old.url()).await.unwrap(),
            old,
            new,
            store: Arc::new(store),
            queue: QueueName::new("new").unwrap(),
        }
    }

    async fn bridge(&self, source: &BridgeSource) -> Bridge {
        self.bridge_on(&self.server, source).await
    }

    async fn bridge_on(&self, server: &InteropServer, source: &BridgeSource) -> Bridge {
        let (store, queue) = (Arc::clone(&self.store), self.queue.clone());
        let bridge = Bridge::open(server, source.clone(), store, queue).await;
        bridge.unwrap()
    }

    /// Makes the server of the queue full, or not.
    fn set_full(&self, is_full: bool) {
        let limit = if is_full { "1" } else { "0" };
        let command = ["CONFIG", "SET", "maxmemory", limit];
        self.new.command(&command).ok();
    }

    async fn add_tasks(&self, source: &BridgeSource) {
        for task in TASKS {
            match source {
                BridgeSource::Worqr { .. } => self.worqr().enqueue("old", task).await.unwrap(),
                BridgeSource::Blueque { layout, .. } => {
                    let queue = self.blueque(*layout);
                    queue.enqueue(format!("{task:?}")).await.unwrap();
                }
                BridgeSource::Processor { queue, .. } => {
                    let list = format!("jobs_queued:{queue}");
                    let id = JobId::generate();
                    self.old.command(&["HSET", id.as_str(), "json", task]).ok();
                    self.old.command(&["LPUSH", &list, id.as_str()]).ok();
                }
                BridgeSource::DelayedQueue { prefix, .. } => {
                    let queue = DelayedQueue::new(self.server.clone(), prefix);
                    queue.submit(task, Due::Now).await.unwrap();
                }
                _ => self.add(task, task).await,
            }
        }
    }

    async fn add(&self, id: &str, data: &str) {
        let item = Item::with_id(id, data.to_owned());
        assert!(self.items().add_item(&item).await.unwrap(), "{id}");
    }

    fn items(&self) -> WorkQueue {
        WorkQueue::new(
            self.server.clone(),
            "old",
            redis_work_queue::WorkQueueLayout::V03,
        )
    }

    fn worqr(&self) -> Worqr {
        Worqr::new(&self.server, WorqrSettings::default()).unwrap()
    }

    fn blueque(&self, layout: blueque::BluequeLayout) -> blueque::BluequeQueue {
        let blueque = blueque::Blueque::new(self.server.clone(), layout);
        blueque.queue("old").unwrap()
    }

    /// Number of items waiting or running in the older system.
    async fn left(&self) -> u64 {
        let queues = inspect::find_queues(&self.server).await.unwrap();
        queues
            .iter()
            .map(|queue| queue.waiting + queue.running)
            .sum()
    }

    async fn ready(&self) -> u64 {
        let stats = self.store.stats(&self.queue).await.unwrap();
        stats.map_or(0, |stats| stats.ready)
    }

    /// Claims and completes all jobs, and returns their payloads.
    async fn run_all(&self) -> Vec<String> {
        let mut payloads = Vec::new();
        loop {
            let claim = self.store.claim(&self.queue, ClaimRequest::single(100));
            let Some(claim) = claim.await.unwrap() else {
                return payloads;
            };
            for job in claim.jobs {
                payloads.push(String::from_utf8(job.payload.to_vec()).unwrap());
                let done = JobLease::new(job.id, claim.token).completion();
                let completed = self.store.complete(&self.queue, vec![done], None);
                completed.await.unwrap();
            }
        }
    }
}

fn worqr() -> BridgeSource {
    BridgeSource::Worqr {
        queue: "old".to_owned(),
        settings: worqr::WorqrSettings::default(),
    }
}

fn blueque(layout: blueque::BluequeLayout) -> BridgeSource {
    BridgeSource::Blueque {
        queue: "old".to_owned(),
        layout,
    }
}

fn work_queue() -> BridgeSource {
    BridgeSource::RedisWorkQueue {
        prefix: "old".to_owned(),
        layout: redis_work_queue::WorkQueueLayout::V03,
    }
}

/// Workers count as dead immediately.
fn processor() -> BridgeSource {
    BridgeSource::Processor {
        queue: "old".to_owned(),
        silence: Duration::ZERO,
    }
}

fn delayed_queue() -> BridgeSource {
    BridgeSource::DelayedQueue {
        prefix: PREFIX.to_owned(),
        unacked_for: Duration::ZERO,
    }
}

/// Returns a bridge that holds all tasks, because the queue was full.
async fn holding_bridge(fixture: &Fixture, source: &BridgeSource) -> Bridge {
    fixture.add_tasks(source).await;
    let mut bridge = fixture.bridge(source).await;
    fixture.set_full(true);
    let error = bridge.migrate_batch(NO_WAIT).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreFull, "{error}");
    fixture.set_full(false);
    bridge
}

async fn assert_continues(source: BridgeSource) {
    let fixture = Fixture::new().await;
    let mut bridge = holding_bridge(&fixture, &source).await;

    bridge.drain().await.unwrap();

    assert_eq!(bridge.report().migrated, 3, "{source}");
    assert_eq!(
        (fixture.left().await, fixture.ready().await),
        (0, 3),
        "{source}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn items_held_while_the_queue_is_full_are_migrated_later() {
    assert_continues(work_queue()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn worqr_tasks_held_while_the_queue_is_full_are_migrated_later() {
    assert_continues(worqr()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn blueque_tasks_held_while_the_queue_is_full_are_migrated_later() {
    assert_continues(blueque(blueque::BluequeLayout::Released)).await;
    assert_continues(blueque(blueque::BluequeLayout::Document)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processor_jobs_held_while_the_queue_is_full_are_migrated_later() {
    assert_continues(processor()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delayed_jobs_held_while_the_queue_is_full_are_migrated_later() {
    assert_continues(delayed_queue()).await;
}

/// Cuts the connection to the older server at one command of a batch, and continues afterwards.
/// Returns whether the connection was cut, and the number of commands.
async fn migrate_with_cut(
    fixture: &Fixture,
    source: &BridgeSource,
    cut: CutPoint,
) -> (bool, usize) {
    fixture.old.command(&["FLUSHALL"]).ok();
    fixture.add_tasks(source).await;
    let steps = FaultProxy::before(&fixture.old);
    // A short timeout for the server that is cut off.
    let url = format!("{}?timeout=1s", steps.url());
    let mut bridge = fixture
        .bridge_on(&InteropServer::open(&url).await.unwrap(), source)
        .await;
    steps.count_from_here(cut);
    let result = bridge.migrate_batch(NO_WAIT).await;
    let (was_cut, commands) = (steps.was_cut(), steps.commands().len());
    let case = format!("{source}, {cut:?}: {result:?}");
    steps.arm(CutPoint::Never);

    let draining = async {
        while let Err(error) = bridge.drain().await {
            assert!(error.is_transient(), "{case}: {error}");
        }
    };
    timeout(TIMEOUT, draining).await.unwrap();
    assert_eq!(fixture.left().await, 0, "{case}");
    let ran = BTreeSet::from_iter(fixture.run_all().await);
    assert_eq!(ran.len(), TASKS.len(), "{case}: {ran:?}");
    (was_cut, commands)
}

/// Cuts at every command that takes or finishes a task: these are the last ones of a batch.
async fn assert_survives_every_cut(source: BridgeSource) {
    let fixture = Fixture::new().await;
    // The first run loads the scripts.
    migrate_with_cut(&fixture, &source, CutPoint::Never).await;
    let (_, commands) = migrate_with_cut(&fixture, &source, CutPoint::Never).await;
    let mut cuts = 0;
    for at in commands.saturating_sub(10)..commands {
        for cut in [CutPoint::Before(at), CutPoint::After(at)] {
            cuts += usize::from(migrate_with_cut(&fixture, &source, cut).await.0);
        }
    }
    assert!(cuts >= 10, "{source} was cut {cuts} times");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_from_worqr_loses_nothing_after_errors() {
    assert_survives_every_cut(worqr()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_from_blueque_loses_nothing_after_errors() {
    assert_survives_every_cut(blueque(blueque::BluequeLayout::Released)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_from_the_document_layout_of_blueque_loses_nothing_after_errors() {
    assert_survives_every_cut(blueque(blueque::BluequeLayout::Document)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_from_the_processor_loses_nothing_after_errors() {
    assert_survives_every_cut(processor()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_from_the_delayed_queue_loses_nothing_after_errors() {
    assert_survives_every_cut(delayed_queue()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_processor_job_that_a_worker_accepted_meanwhile_is_left_to_it() {
    let fixture = Fixture::new().await;
    let mut bridge = holding_bridge(&fixture, &processor()).await;
    let dispatched = "jobs_dispatched:old";
    let ids = fixture.old.command(&["ZRANGE", dispatched, "1", "1"]);
    let two = ids.array()[0].text();
    fixture.old.command(&["ZREM", dispatched, &two]).ok();
    // Later than now: its worker shows progress.
    let accepted = ["ZADD", "jobs_processing:old", "9999999999", &two];
    fixture.old.command(&accepted).ok();

    bridge.drain().await.unwrap();

    assert_eq!((fixture.left().await, fixture.ready().await), (1, 2));
    let json = fixture.old.command(&["HGET", &two, "json"]).text();
    assert_eq!(json, "two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_that_closes_returns_the_delayed_jobs_it_holds() {
    let fixture = Fixture::new().await;
    let bridge = holding_bridge(&fixture, &delayed_queue()).await;
    bridge.close().await.unwrap();
    let waiting = fixture.old.command(&["LLEN", "delayed-queue:dueJobs"]);
    assert_eq!(waiting.integer(), 3);
    assert_eq!(fixture.ready().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_whose_worqr_timer_ran_out_restarts() {
    let fixture = Fixture::new().await;
    let mut bridge = fixture.bridge(&worqr()).await;
    fixture.add_tasks(&worqr()).await;
    let worker = &fixture.worqr().workers().await.unwrap()[0];
    let timer = format!("worqr:workerTimers:{worker}");
    fixture.old.command(&["DEL", &timer]).ok();

    bridge.drain().await.unwrap();

    assert_eq!(bridge.report().migrated, 3);
    assert_eq!((fixture.left().await, fixture.ready().await), (0, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn worqr_tasks_returned_meanwhile_become_one_job_each() {
    let fixture = Fixture::new().await;
    let mut bridge = holding_bridge(&fixture, &worqr()).await;
    let worker = &fixture.worqr().workers().await.unwrap()[0];
    fixture.worqr().fail_worker(worker).await.unwrap();

    bridge.drain().await.unwrap();

    assert_eq!((fixture.left().await, fixture.ready().await), (0, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_that_blueque_declared_lost_rejoins() {
    for layout in [
        blueque::BluequeLayout::Released,
        blueque::BluequeLayout::Document,
    ] {
        let fixture = Fixture::new().await;
        let mut bridge = holding_bridge(&fixture, &blueque(layout)).await;
        let heartbeats = format!("{}_beats_old", layout.prefix());
        let listeners = fixture.old.command(&["ZRANGE", &heartbeats, "0", "-1"]);
        let mut options = blueque::CleanOptions::default();
        options.retry_lost = true;
        options.lost = listeners.array().iter().map(redis::Reply::text).collect();
        fixture.blueque(layout).clean(&options).await.unwrap();

        bridge.drain().await.unwrap();

        let report = bridge.report();
        assert_eq!((report.migrated, report.duplicates), (3, 0));
        assert_eq!((fixture.left().await, fixture.ready().await), (0, 3));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_another_worker_completed_meanwhile_is_left_alone() {
    let fixture = Fixture::new().await;
    let mut bridge = holding_bridge(&fixture, &work_queue()).await;
    // The lease of `one` expired, another worker completed it, and its producer reused the id.
    assert!(fixture.items().complete("one").await.unwrap());
    fixture.add("one", "other work").await;

    bridge.drain().await.unwrap();

    assert_eq!((fixture.left().await, fixture.ready().await), (0, 3));
    let ran = fixture.run_all().await;
    assert!(ran.contains(&"other work".to_owned()), "{ran:?}");
    assert!(!ran.contains(&"one".to_owned()), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn different_work_under_the_same_id_becomes_a_separate_job() {
    let fixture = Fixture::new().await;
    let mut bridge = fixture.bridge(&work_queue()).await;
    for (data, migrated, duplicates) in [
        ("first", 1, 0),
        ("first", 1, 1),
        ("second", 2, 1),
        ("second", 2, 2),
    ] {
        fixture.add("id", data).await;
        bridge.drain().await.unwrap();
        let report = bridge.report();
        assert_eq!((report.migrated, report.duplicates), (migrated, duplicates));
    }
    assert_eq!(fixture.run_all().await, ["first", "second"]);
    // The payloads of ended jobs are gone, so the item is migrated to be safe.
    fixture.add("id", "third").await;
    bridge.drain().await.unwrap();
    assert_eq!(fixture.run_all().await, ["third"]);
    assert_eq!(fixture.left().await, 0);
}
