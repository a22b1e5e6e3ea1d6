//! The bridge in trouble: what it has in its hands is neither forgotten nor taken for something else.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::{ClaimRequest, ErrorKind, JobLease, QueueName, Store};
use windlass_interop::bridge::{Bridge, From};
use windlass_interop::redis_work_queue::{Item, WorkQueue};
use windlass_interop::worqr::{Settings, Worqr};
use windlass_interop::{Server, blueque, inspect, redis_work_queue, worqr};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::{self, Cut, Steps};

const TASKS: [&str; 3] = ["one", "two", "three"];
const AT_ONCE: Duration = Duration::ZERO;
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of the older system, another one with the queue, and who looks at both.
struct Place {
    old: redis::Server,
    new: redis::Server,
    server: Server,
    store: Arc<dyn Store>,
    queue: QueueName,
}

impl Place {
    async fn new() -> Self {
        let (old, new) = (redis::Server::start(), redis::Server::start());
        // Full is told at once where it is not waited out.
        let url = format!("{}?timeout=1s", new.url());
        let store = RedisStore::open(&url, Options::default()).await.unwrap();
        Self {
            server: Server::open(&old.url()).await.unwrap(),
            old,
            new,
            store: Arc::new(store),
            queue: QueueName::new("new").unwrap(),
        }
    }

    async fn bridge(&self, from: &From) -> Bridge {
        self.bridge_by(&self.server, from).await
    }

    async fn bridge_by(&self, server: &Server, from: &From) -> Bridge {
        let (store, queue) = (Arc::clone(&self.store), self.queue.clone());
        let bridge = Bridge::open(server, from.clone(), store, queue).await;
        bridge.unwrap()
    }

    /// Whether the server of the queue has room for anything.
    fn has_room(&self, has_room: bool) {
        let limit = if has_room { "0" } else { "1" };
        let words = ["CONFIG", "SET", "maxmemory", limit];
        self.new.command(&words).ok();
    }

    async fn put(&self, from: &From) {
        for task in TASKS {
            match from {
                From::Worqr { .. } => self.worqr().enqueue("old", task).await.unwrap(),
                From::Blueque { layout, .. } => {
                    let queue = self.blueque(*layout);
                    queue.enqueue(format!("{task:?}")).await.unwrap();
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
        WorkQueue::new(self.server.clone(), "old", redis_work_queue::Layout::V03)
    }

    fn worqr(&self) -> Worqr {
        Worqr::new(&self.server, Settings::default()).unwrap()
    }

    fn blueque(&self, layout: blueque::Layout) -> blueque::Queue {
        let blueque = blueque::Blueque::new(self.server.clone(), layout);
        blueque.queue("old").unwrap()
    }

    /// What waits or runs at the older system.
    async fn left(&self) -> u64 {
        let seen = inspect::look(&self.server).await.unwrap();
        seen.iter().map(|seen| seen.waiting + seen.running).sum()
    }

    async fn ready(&self) -> u64 {
        let stats = self.store.stats(&self.queue).await.unwrap();
        stats.map_or(0, |stats| stats.ready)
    }

    /// What the queue hands out, which then is done.
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

fn worqr() -> From {
    From::Worqr {
        queue: "old".to_owned(),
        settings: worqr::Settings::default(),
    }
}

fn blueque(layout: blueque::Layout) -> From {
    From::Blueque {
        queue: "old".to_owned(),
        layout,
    }
}

fn work_queue() -> From {
    From::RedisWorkQueue {
        prefix: "old".to_owned(),
        layout: redis_work_queue::Layout::V03,
    }
}

/// Takes everything, and has it in its hands when the queue has no room.
async fn held(place: &Place, from: &From) -> Bridge {
    place.put(from).await;
    let mut bridge = place.bridge(from).await;
    place.has_room(false);
    let error = bridge.step(AT_ONCE).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreFull, "{error}");
    place.has_room(true);
    bridge
}

async fn goes_on(from: From) {
    let place = Place::new().await;
    let mut bridge = held(&place, &from).await;

    bridge.drain().await.unwrap();

    assert_eq!(bridge.carried().carried, 3, "{from}");
    assert_eq!((place.left().await, place.ready().await), (0, 3), "{from}");
}

#[tokio::test(flavor = "multi_thread")]
async fn items_in_hand_when_the_queue_is_full_are_carried_over_later() {
    goes_on(work_queue()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_worqr_in_hand_when_the_queue_is_full_are_carried_over_later() {
    goes_on(worqr()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_blueque_in_hand_when_the_queue_is_full_are_carried_over_later() {
    goes_on(blueque(blueque::Layout::Released)).await;
    goes_on(blueque(blueque::Layout::Document)).await;
}

/// Cuts the older server off at a command of a step, and goes on when it is there again. Whether the
/// step came so far, and how many commands it sent.
async fn goes_on_after(place: &Place, from: &From, cut: Cut) -> (bool, usize) {
    place.old.command(&["FLUSHALL"]).ok();
    place.put(from).await;
    let steps = Steps::before(&place.old);
    // A server that stays away is given up soon.
    let url = format!("{}?timeout=1s", steps.url());
    let mut bridge = place
        .bridge_by(&Server::open(&url).await.unwrap(), from)
        .await;
    steps.count_from_here(cut);
    let ended = bridge.step(AT_ONCE).await;
    let (was_cut, commands) = (steps.was_cut(), steps.commands().len());
    let case = format!("{from}, {cut:?}: {ended:?}");
    steps.arm(Cut::Never);

    let draining = async {
        while let Err(error) = bridge.drain().await {
            assert!(error.is_transient(), "{case}: {error}");
        }
    };
    timeout(PATIENCE, draining).await.unwrap();
    assert_eq!(place.left().await, 0, "{case}");
    let ran = BTreeSet::from_iter(place.run_all().await);
    assert_eq!(ran.len(), TASKS.len(), "{case}: {ran:?}");
    (was_cut, commands)
}

/// At every command that takes or finishes a task: these are the last of a step.
async fn goes_on_after_every_cut(from: From) {
    let place = Place::new().await;
    // The first one teaches the server its scripts.
    goes_on_after(&place, &from, Cut::Never).await;
    let (_, commands) = goes_on_after(&place, &from, Cut::Never).await;
    let mut cuts = 0;
    for at in commands.saturating_sub(10)..commands {
        for cut in [Cut::Before(at), Cut::After(at)] {
            cuts += usize::from(goes_on_after(&place, &from, cut).await.0);
        }
    }
    assert!(cuts >= 10, "{from} was cut {cuts} times");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_from_worqr_keeps_nothing_back_after_trouble() {
    goes_on_after_every_cut(worqr()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_from_blueque_keeps_nothing_back_after_trouble() {
    goes_on_after_every_cut(blueque(blueque::Layout::Released)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_from_the_note_of_blueque_keeps_nothing_back_after_trouble() {
    goes_on_after_every_cut(blueque(blueque::Layout::Document)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_whose_timer_at_worqr_ran_out_begins_again() {
    let place = Place::new().await;
    let mut bridge = place.bridge(&worqr()).await;
    place.put(&worqr()).await;
    let worker = &place.worqr().workers().await.unwrap()[0];
    let timer = format!("worqr:workerTimers:{worker}");
    place.old.command(&["DEL", &timer]).ok();

    bridge.drain().await.unwrap();

    assert_eq!(bridge.carried().carried, 3);
    assert_eq!((place.left().await, place.ready().await), (0, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_worqr_that_went_back_meanwhile_are_one_job_each() {
    let place = Place::new().await;
    let mut bridge = held(&place, &worqr()).await;
    let worker = &place.worqr().workers().await.unwrap()[0];
    place.worqr().fail_worker(worker).await.unwrap();

    bridge.drain().await.unwrap();

    assert_eq!((place.left().await, place.ready().await), (0, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_that_blueque_declared_lost_joins_again() {
    for layout in [blueque::Layout::Released, blueque::Layout::Document] {
        let place = Place::new().await;
        let mut bridge = held(&place, &blueque(layout)).await;
        let beats = format!("{}_beats_old", layout.prefix());
        let listeners = place.old.command(&["ZRANGE", &beats, "0", "-1"]);
        let mut options = blueque::CleanOptions::default();
        options.retry_lost = true;
        options.lost = listeners.array().iter().map(redis::Reply::text).collect();
        place.blueque(layout).clean(&options).await.unwrap();

        bridge.drain().await.unwrap();

        let carried = bridge.carried();
        assert_eq!((carried.carried, carried.duplicates), (3, 0));
        assert_eq!((place.left().await, place.ready().await), (0, 3));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_somebody_else_had_meanwhile_is_left_alone() {
    let place = Place::new().await;
    let mut bridge = held(&place, &work_queue()).await;
    // The lease of `one` ran out, another worker did it, and its producer uses the id again.
    assert!(place.items().complete("one").await.unwrap());
    place.add("one", "other work").await;

    bridge.drain().await.unwrap();

    assert_eq!((place.left().await, place.ready().await), (0, 3));
    let ran = place.run_all().await;
    assert!(ran.contains(&"other work".to_owned()), "{ran:?}");
    assert!(!ran.contains(&"one".to_owned()), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_work_under_the_same_id_is_a_job_of_its_own() {
    let place = Place::new().await;
    let mut bridge = place.bridge(&work_queue()).await;
    for (data, carried, duplicates) in [
        ("first", 1, 0),
        ("first", 1, 1),
        ("second", 2, 1),
        ("second", 2, 2),
    ] {
        place.add("id", data).await;
        bridge.drain().await.unwrap();
        let done = bridge.carried();
        assert_eq!((done.carried, done.duplicates), (carried, duplicates));
    }
    assert_eq!(place.run_all().await, ["first", "second"]);
    // Whether this is what has ended cannot be told any more: rather twice than never.
    place.add("id", "third").await;
    bridge.drain().await.unwrap();
    assert_eq!(place.run_all().await, ["third"]);
    assert_eq!(place.left().await, 0);
}
