//! Mixed fleets of real clients and Windlass on one queue.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use windlass_interop::redis_work_queue::{WorkQueue, WorkQueueLayout};

use crate::fixture::{Fixture, LONG, NO_WAIT, item};
use crate::peer::{Handled, Kind, Peer};

const ITEMS: usize = 2_000;

/// Number of workers per client, and of Windlass workers.
const EACH: usize = 2;

/// Leases and completes up to `max` items, or until both lists are empty.
pub(crate) async fn work(queue: &WorkQueue, max: usize) -> Vec<Handled> {
    let mut handled = Vec::new();
    while handled.len() < max {
        if let Some(item) = queue.lease(LONG, NO_WAIT).await.unwrap() {
            handled.push(Handled {
                data: String::from_utf8(item.data.to_vec()).unwrap(),
                is_completed: queue.complete(&item.id).await.unwrap(),
                id: item.id,
            });
            continue;
        }
        let counts = queue.counts().await.unwrap();
        if counts.queue + counts.processing == 0 {
            break;
        }
        // Other workers hold the rest.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    handled
}

/// Starts the real clients of a layout. The threads return what each client handled.
pub(crate) fn start_peers(fixture: &Fixture) -> Vec<thread::JoinHandle<Vec<Handled>>> {
    let port = fixture.server.port();
    let kinds = Kind::of(fixture.layout).iter();
    kinds
        .flat_map(|kind| std::iter::repeat_n(*kind, EACH))
        .map(|kind| thread::spawn(move || Peer::start(kind).work(port)))
        .collect()
}

/// Adds items, an equal share by each client and by Windlass.
pub(crate) async fn add_all(fixture: &Fixture, count: usize) {
    let kinds = Kind::of(fixture.layout);
    let share = count / (kinds.len() + 1);
    for (index, kind) in kinds.iter().enumerate() {
        let (from, to) = (index * share, (index + 1) * share);
        let operation = ["add-many", "item", &from.to_string(), &to.to_string()];
        Peer::start(*kind).run(fixture.server.port(), &operation);
    }
    let queue = fixture.queue().await;
    for number in kinds.len() * share..count {
        queue
            .add_item(&item(&format!("item{number}")))
            .await
            .unwrap();
    }
    assert_eq!(
        queue.queue_len().await.unwrap(),
        u64::try_from(count).unwrap()
    );
}

async fn drained_by_all(layout: WorkQueueLayout) {
    let fixture = Fixture::start(layout);
    add_all(&fixture, ITEMS).await;
    // Windlass workers lease one item before the others start, and leave them most of the rest.
    let mut ours = Vec::new();
    let mut working = tokio::task::JoinSet::new();
    for _ in 0..EACH {
        let queue = fixture.queue().await;
        ours.push(work(&queue, 1).await);
        working.spawn(async move { work(&queue, ITEMS / 4 - 1).await });
    }
    let peers = start_peers(&fixture);
    ours.extend(working.join_all().await);
    let theirs = tokio::task::spawn_blocking(|| {
        let join = |peer: thread::JoinHandle<_>| peer.join().unwrap();
        peers.into_iter().map(join).collect::<Vec<_>>()
    });
    let theirs = theirs.await.unwrap();

    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for one in ours.iter().chain(&theirs).flatten() {
        assert!(one.is_completed, "{one:?}");
        assert_eq!(one.data, format!("data of {}", one.id));
        *seen.entry(&one.id).or_default() += 1;
    }
    assert!(seen.values().all(|times| *times == 1));
    assert_eq!(seen.len(), ITEMS);
    assert!(
        ours.iter().flatten().count() >= EACH,
        "Windlass handled some"
    );
    assert!(
        theirs.iter().flatten().count() >= ITEMS / 2,
        "the real clients handled most"
    );
    assert!(fixture.locations().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_fleet_on_layout_0_1_completes_2000_items_once_each() {
    drained_by_all(WorkQueueLayout::V01).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_fleet_on_layout_0_3_completes_2000_items_once_each() {
    drained_by_all(WorkQueueLayout::V03).await;
}
