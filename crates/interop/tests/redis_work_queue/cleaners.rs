//! Original and Windlass cleaners run concurrently while mixed fleets work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use windlass_interop::redis_work_queue::WorkQueueLayout;

use crate::fixture::{Fixture, LAYOUTS, item, lease_all};
use crate::fleet::{add_all, start_peers, work};
use crate::peer::{Handled, Kind, Peer};

/// Long enough that on a busy machine no client counts as dead in the middle of a lease.
const LONG_GRACE: Duration = Duration::from_secs(60);

/// Returns how often each id was completed with its data.
fn completions(handled: &[Handled]) -> BTreeMap<&str, usize> {
    let mut completions = BTreeMap::new();
    // An id that an original cleaner returns after completion has no data any more. Original workers
    // run it nevertheless, Windlass does not.
    for one in handled.iter().filter(|one| !one.data.is_empty()) {
        assert_eq!(one.data, format!("data of {}", one.id));
        *completions.entry(one.id.as_str()).or_default() += usize::from(one.is_completed);
    }
    completions
}

async fn fleet_with_cleaners(layout: WorkQueueLayout, their_cleaners: &[Kind]) -> Vec<Handled> {
    const ITEMS: usize = 400;
    let fixture = Fixture::start(layout);
    let port = fixture.server.port();
    add_all(&fixture, ITEMS).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut theirs = Vec::new();
    for kind in their_cleaners.iter().copied() {
        let is_over = Arc::clone(&is_over);
        theirs.push(thread::spawn(move || {
            let mut peer = Peer::start(kind);
            while !is_over.load(Ordering::Relaxed) {
                peer.run(port, &["light-clean"]);
            }
        }));
    }
    let mut cleaners = tokio::task::JoinSet::new();
    for cleaner in 0..2 {
        let queue = fixture.queue().await.with_grace(LONG_GRACE);
        cleaners.spawn(async move {
            loop {
                // Do not wait for the end of the grace period.
                let round = Duration::from_millis(50);
                let cleaned = if cleaner == 0 {
                    tokio::time::timeout(round, queue.light_clean()).await
                } else {
                    tokio::time::timeout(round, queue.deep_clean()).await
                };
                if let Ok(cleaned) = cleaned {
                    cleaned.unwrap();
                }
            }
        });
    }
    let peers = start_peers(&fixture);
    let queue = fixture.queue().await;
    let mut handled = work(&queue, ITEMS / 4).await;
    let joined = tokio::task::spawn_blocking(|| {
        let join = |peer: thread::JoinHandle<Vec<Handled>>| peer.join().unwrap();
        peers.into_iter().flat_map(join).collect::<Vec<_>>()
    });
    handled.extend(joined.await.unwrap());
    is_over.store(true, Ordering::Relaxed);
    cleaners.abort_all();
    let ended = tokio::task::spawn_blocking(move || {
        for cleaner in theirs {
            cleaner.join().unwrap();
        }
    });
    ended.await.unwrap();
    // The last cleaner may have returned items to the queue.
    handled.extend(work(&queue, usize::MAX).await);
    queue.deep_clean().await.unwrap();
    handled.extend(work(&queue, usize::MAX).await);
    assert!(fixture.locations().is_empty());
    let completions = completions(&handled);
    assert_eq!(completions.len(), ITEMS, "nothing is lost");
    let wrong: Vec<_> = completions
        .iter()
        .filter(|(_, times)| **times != 1)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    handled
}

#[tokio::test(flavor = "multi_thread")]
async fn original_and_windlass_cleaners_lose_nothing_and_complete_nothing_twice() {
    fleet_with_cleaners(WorkQueueLayout::V01, &[Kind::Python]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn windlass_cleaners_alone_hand_out_nothing_twice_that_real_clients_are_taking() {
    for layout in LAYOUTS {
        let handled = fleet_with_cleaners(layout, &[]).await;
        assert_eq!(handled.len(), 400, "handed out once each");
    }
}

#[tokio::test]
async fn after_original_and_windlass_cleaners_each_item_is_in_one_list() {
    for kind in Kind::of(WorkQueueLayout::V01) {
        let fixture = Fixture::start(WorkQueueLayout::V01);
        let queue = fixture.queue().await;
        for number in 0..50 {
            queue
                .add_item(&item(&format!("item{number}")))
                .await
                .unwrap();
        }
        lease_all(&queue).await;
        fixture.end_leases();
        let (port, kind) = (fixture.server.port(), *kind);
        let theirs = tokio::task::spawn_blocking(move || {
            Peer::start(kind).run(port, &["light-clean"]);
        });
        while !theirs.is_finished() {
            queue.light_clean().await.unwrap();
        }
        theirs.await.unwrap();
        queue.deep_clean().await.unwrap();
        fixture.assert_consistent("after both");
        assert_eq!(fixture.locations().len(), 50, "{kind:?}");
    }
}
