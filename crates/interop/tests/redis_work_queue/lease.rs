//! Leases: waiting, renewing, giving back, and what is no item.

use std::time::{Duration, Instant};

use windlass_interop::redis_work_queue::{Layout, WorkQueue};

use crate::bench::{AT_ONCE, Bench, LAYOUTS, LONG, ids, item, lease_all};
use crate::peer::{Kind, Peer};

/// Far more than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_wait_ends_when_its_time_is_over_and_not_before() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue().await;
        let (wait, start) = (Duration::from_millis(250), Instant::now());
        assert_eq!(queue.lease(LONG, Some(wait)).await.unwrap(), None);
        assert!(start.elapsed() >= wait);
        assert_eq!(queue.lease(LONG, AT_ONCE).await.unwrap(), None);
    }
}

#[tokio::test]
async fn whoever_waits_gets_the_next_item_that_is_added() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let (queue, other) = (bench.queue().await, bench.queue().await);
        let waiting = tokio::spawn(async move { other.lease(LONG, None).await });
        until_blocked(&bench).await;
        queue.add_item(&item("a")).await.unwrap();
        let leased = tokio::time::timeout(PATIENCE, waiting).await.unwrap();
        assert_eq!(leased.unwrap().unwrap(), Some(item("a")));
    }
}

#[tokio::test]
async fn a_wait_goes_on_past_ids_that_are_no_items() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let (queue, other) = (bench.queue().await, bench.queue().await);
        let waiting = tokio::spawn(async move { other.lease(LONG, Some(PATIENCE)).await });
        until_blocked(&bench).await;
        for number in 0..250 {
            bench.command(&["LPUSH", "p:queue", &format!("ghost{number}")]);
        }
        bench.command(&["LPUSH", "p:processing", "ghost0"]);
        queue.add_item(&item("a")).await.unwrap();
        let leased = tokio::time::timeout(PATIENCE, waiting).await.unwrap();
        assert_eq!(leased.unwrap().unwrap(), Some(item("a")));
        bench.command(&["LREM", "p:processing", "0", "ghost0"]);
        bench.assert_sound("after the wait");
    }
}

#[tokio::test]
async fn an_id_that_is_no_item_is_removed_from_both_lists() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue().await;
        bench.command(&["LPUSH", "p:queue", "ghost"]);
        bench.command(&["LPUSH", "p:processing", "ghost"]);
        assert_eq!(queue.lease(LONG, AT_ONCE).await.unwrap(), None);
        assert!(bench.places().is_empty());
    }
}

#[tokio::test]
async fn a_lease_may_be_shorter_than_a_second() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue_of(&["a"]).await;
        let short = Duration::from_millis(150);
        queue.lease(short, AT_ONCE).await.unwrap().unwrap();
        windlass_testkit::redis::until("the lease ends", || {
            let exists = bench.command(&["EXISTS", &bench.lease_key("a")]).integer();
            (exists == 0)
                .then_some(())
                .ok_or_else(|| "it is there".to_owned())
        });
        assert_eq!(queue.light_clean().await.unwrap().requeued, 1);
        assert!(queue.lease(Duration::ZERO, AT_ONCE).await.is_err());
    }
}

/// An item that is held, and that a cleaner of the original put back: it looked before the lease.
async fn held_and_back(layout: Layout) -> (Bench, WorkQueue) {
    let bench = Bench::start(layout);
    let queue = bench.queue_of(&["a"]).await;
    queue.lease(LONG, AT_ONCE).await.unwrap().unwrap();
    bench.command(&["LREM", "p:processing", "0", "a"]);
    bench.command(&["LPUSH", "p:queue", "a"]);
    (bench, queue)
}

#[tokio::test]
async fn in_layout_0_3_an_item_that_somebody_holds_is_handed_to_nobody_else() {
    for is_cleaned in [true, false] {
        let (bench, queue) = held_and_back(Layout::V03).await;
        if is_cleaned {
            assert_eq!(queue.deep_clean().await.unwrap().held, 1);
        }
        assert_eq!(queue.lease(LONG, AT_ONCE).await.unwrap(), None);
        bench.assert_sound("it is in processing");
        assert_eq!(bench.list("processing"), ["a"]);
        assert!(queue.complete("a").await.unwrap());
    }
}

#[tokio::test]
async fn in_layout_0_1_an_item_whose_holder_was_told_no_is_handed_out_at_once() {
    let (bench, queue) = held_and_back(Layout::V01).await;
    let mut peer = Peer::start(Kind::Python);
    let told = peer.act(bench.server.port(), &["complete", "a"]);
    assert_eq!(told, ["False"], "and its lease stays");
    assert_eq!(queue.deep_clean().await.unwrap().held, 0);
    assert_eq!(queue.lease(LONG, AT_ONCE).await.unwrap(), Some(item("a")));
    bench.assert_sound("it is in processing");
}

#[tokio::test]
async fn only_the_session_that_holds_a_lease_renews_it() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let (queue, other) = (bench.queue().await, bench.queue().await);
        queue.add_item(&item("a")).await.unwrap();
        queue.lease(PATIENCE, AT_ONCE).await.unwrap().unwrap();

        assert!(!other.renew("a", LONG).await.unwrap());
        assert!(queue.renew("a", LONG).await.unwrap());
        let left = bench.command(&["PTTL", &bench.lease_key("a")]).integer();
        assert!(left > i64::try_from(PATIENCE.as_millis()).unwrap());

        let same: WorkQueue = other.with_session(queue.session());
        assert!(same.renew("a", LONG).await.unwrap());
        bench.end_lease("a");
        assert!(!queue.renew("a", LONG).await.unwrap());
    }
}

#[tokio::test]
async fn an_item_that_is_given_back_is_the_next() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let (queue, other) = (bench.queue().await, bench.queue().await);
        for id in ["a", "b"] {
            queue.add_item(&item(id)).await.unwrap();
        }
        queue.lease(LONG, AT_ONCE).await.unwrap().unwrap();
        assert!(!other.release("a").await.unwrap());
        assert!(queue.release("a").await.unwrap());
        assert!(!queue.release("a").await.unwrap());
        bench.assert_sound("given back");
        assert_eq!(ids(&lease_all(&other).await), ["a", "b"]);
    }
}

/// Waits until a client waits at the server.
async fn until_blocked(bench: &Bench) {
    let url = bench.server.url();
    let address = bench.server.address().clone();
    tokio::task::spawn_blocking(move || {
        windlass_testkit::redis::until("a client waits", || {
            let mut link = windlass_testkit::redis::Connection::open(&address)
                .map_err(|error| error.to_string())?;
            let info = link
                .command(&["INFO", "clients"])
                .map_err(|error| error.to_string())?;
            match info.field("blocked_clients").as_deref() {
                Some("1") => Ok(()),
                other => Err(format!("{url}: {other:?} wait")),
            }
        });
    })
    .await
    .unwrap();
}
