//! Real cleaners and ours side by side, while mixed fleets work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use windlass_interop::redis_work_queue::Layout;

use crate::bench::{Bench, LAYOUTS, item, lease_all};
use crate::fleet::{add_all, start_peers, work};
use crate::peer::{Handled, Kind, Peer};

/// So that no machine is so busy that a client is taken for dead in the middle of a lease.
const PATIENT: Duration = Duration::from_secs(60);

/// What was handled of each id: how often it was completed with its own data.
fn completions(handled: &[Handled]) -> BTreeMap<&str, usize> {
    let mut completions = BTreeMap::new();
    // An id that a cleaner of the originals brings back after its end has no data any more; their
    // workers run it all the same, ours do not.
    for one in handled.iter().filter(|one| !one.data.is_empty()) {
        assert_eq!(one.data, format!("data of {}", one.id));
        *completions.entry(one.id.as_str()).or_default() += usize::from(one.is_completed);
    }
    completions
}

async fn fleet_with_cleaners(layout: Layout, their_cleaners: &[Kind]) -> Vec<Handled> {
    const ITEMS: usize = 400;
    let bench = Bench::start(layout);
    let port = bench.server.port();
    add_all(&bench, ITEMS).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut theirs = Vec::new();
    for kind in their_cleaners.iter().copied() {
        let is_over = Arc::clone(&is_over);
        theirs.push(thread::spawn(move || {
            let mut peer = Peer::start(kind);
            while !is_over.load(Ordering::Relaxed) {
                peer.act(port, &["light-clean"]);
            }
        }));
    }
    let mut cleaners = tokio::task::JoinSet::new();
    for place in 0..2 {
        let queue = bench.queue().await.with_grace(PATIENT);
        cleaners.spawn(async move {
            loop {
                // While it waits for the grace to be over, the other ones go on.
                let round = Duration::from_millis(50);
                let cleaned = if place == 0 {
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
    let peers = start_peers(&bench);
    let queue = bench.queue().await;
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
    // Whoever was last to take something back has left it in the queue.
    handled.extend(work(&queue, usize::MAX).await);
    queue.deep_clean().await.unwrap();
    handled.extend(work(&queue, usize::MAX).await);
    assert!(bench.places().is_empty());
    let completions = completions(&handled);
    assert_eq!(completions.len(), ITEMS, "nothing is lost");
    let odd: Vec<_> = completions
        .iter()
        .filter(|(_, times)| **times != 1)
        .collect();
    assert!(odd.is_empty(), "{odd:?}");
    handled
}

#[tokio::test(flavor = "multi_thread")]
async fn real_cleaners_and_ours_lose_nothing_and_complete_nothing_twice() {
    fleet_with_cleaners(Layout::V01, &[Kind::Python]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn our_cleaners_alone_hand_out_nothing_twice_that_real_clients_are_taking() {
    for layout in LAYOUTS {
        let handled = fleet_with_cleaners(layout, &[]).await;
        assert_eq!(handled.len(), 400, "handed out once each");
    }
}

#[tokio::test]
async fn after_a_real_cleaner_and_ours_each_item_is_in_one_place() {
    for kind in Kind::of(Layout::V01) {
        let bench = Bench::start(Layout::V01);
        let queue = bench.queue().await;
        for number in 0..50 {
            queue
                .add_item(&item(&format!("item{number}")))
                .await
                .unwrap();
        }
        lease_all(&queue).await;
        bench.end_leases();
        let (port, kind) = (bench.server.port(), *kind);
        let theirs = tokio::task::spawn_blocking(move || {
            Peer::start(kind).act(port, &["light-clean"]);
        });
        while !theirs.is_finished() {
            queue.light_clean().await.unwrap();
        }
        theirs.await.unwrap();
        queue.deep_clean().await.unwrap();
        bench.assert_sound("after both");
        assert_eq!(bench.places().len(), 50, "{kind:?}");
    }
}
