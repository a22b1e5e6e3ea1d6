//! Fleets of real clients and ours on one queue.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use windlass_interop::redis_work_queue::{Layout, WorkQueue};

use crate::bench::{AT_ONCE, Bench, LONG, item};
use crate::peer::{Handled, Kind, Peer};

const ITEMS: usize = 2_000;

/// How many of each client, and of ours.
const EACH: usize = 2;

/// Leases and completes so many, or until both lists are empty, as the real clients do here.
pub(crate) async fn work(queue: &WorkQueue, most: usize) -> Vec<Handled> {
    let mut handled = Vec::new();
    while handled.len() < most {
        if let Some(item) = queue.lease(LONG, AT_ONCE).await.unwrap() {
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
        // Others are at work on the rest.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    handled
}

/// Starts the real clients of a layout on this work; what each handled, once it is over.
pub(crate) fn start_peers(bench: &Bench) -> Vec<thread::JoinHandle<Vec<Handled>>> {
    let port = bench.server.port();
    let kinds = Kind::of(bench.layout).iter();
    kinds
        .flat_map(|kind| std::iter::repeat_n(*kind, EACH))
        .map(|kind| thread::spawn(move || Peer::start(kind).work(port)))
        .collect()
}

/// A part of the items from each client and from ours.
pub(crate) async fn add_all(bench: &Bench, count: usize) {
    let kinds = Kind::of(bench.layout);
    let share = count / (kinds.len() + 1);
    for (place, kind) in kinds.iter().enumerate() {
        let (from, to) = (place * share, (place + 1) * share);
        let words = ["add-many", "item", &from.to_string(), &to.to_string()];
        Peer::start(*kind).act(bench.server.port(), &words);
    }
    let queue = bench.queue().await;
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

async fn drained_by_all(layout: Layout) {
    let bench = Bench::start(layout);
    add_all(&bench, ITEMS).await;
    // Ours have their first item before the others are there, and leave them the greater part.
    let mut ours = Vec::new();
    let mut working = tokio::task::JoinSet::new();
    for _ in 0..EACH {
        let queue = bench.queue().await;
        ours.push(work(&queue, 1).await);
        working.spawn(async move { work(&queue, ITEMS / 4 - 1).await });
    }
    let peers = start_peers(&bench);
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
    assert!(ours.iter().flatten().count() >= EACH, "ours had a part");
    assert!(
        theirs.iter().flatten().count() >= ITEMS / 2,
        "and so had theirs"
    );
    assert!(bench.places().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_fleet_on_layout_0_1_completes_2000_items_once_each() {
    drained_by_all(Layout::V01).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_fleet_on_layout_0_3_completes_2000_items_once_each() {
    drained_by_all(Layout::V03).await;
}
