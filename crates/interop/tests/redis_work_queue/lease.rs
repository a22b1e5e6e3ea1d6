//! Leases: waiting, renewing, releasing, and ids without data.

use std::time::{Duration, Instant};

use windlass_interop::redis_work_queue::{WorkQueue, WorkQueueLayout};

use crate::fixture::{Fixture, LAYOUTS, LONG, NO_WAIT, ids, item, lease_all};
use crate::peer::{Kind, Peer};

/// Longer than needed on any busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_wait_ends_at_its_timeout_and_not_before() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue().await;
        let (wait, start) = (Duration::from_millis(250), Instant::now());
        assert_eq!(queue.lease(LONG, Some(wait)).await.unwrap(), None);
        assert!(start.elapsed() >= wait);
        assert_eq!(queue.lease(LONG, NO_WAIT).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_waiting_client_gets_the_next_item_that_is_added() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let (queue, other) = (fixture.queue().await, fixture.queue().await);
        let waiting = tokio::spawn(async move { other.lease(LONG, None).await });
        until_blocked(&fixture).await;
        queue.add_item(&item("a")).await.unwrap();
        let leased = tokio::time::timeout(TIMEOUT, waiting).await.unwrap();
        assert_eq!(leased.unwrap().unwrap(), Some(item("a")));
    }
}

#[tokio::test]
async fn a_wait_skips_ids_without_data() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let (queue, other) = (fixture.queue().await, fixture.queue().await);
        let waiting = tokio::spawn(async move { other.lease(LONG, Some(TIMEOUT)).await });
        until_blocked(&fixture).await;
        for number in 0..250 {
            fixture.command(&["LPUSH", "p:queue", &format!("ghost{number}")]);
        }
        fixture.command(&["LPUSH", "p:processing", "ghost0"]);
        queue.add_item(&item("a")).await.unwrap();
        let leased = tokio::time::timeout(TIMEOUT, waiting).await.unwrap();
        assert_eq!(leased.unwrap().unwrap(), Some(item("a")));
        fixture.command(&["LREM", "p:processing", "0", "ghost0"]);
        fixture.assert_consistent("after the wait");
    }
}

#[tokio::test]
async fn an_id_without_data_is_removed_from_both_lists() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue().await;
        fixture.command(&["LPUSH", "p:queue", "ghost"]);
        fixture.command(&["LPUSH", "p:processing", "ghost"]);
        assert_eq!(queue.lease(LONG, NO_WAIT).await.unwrap(), None);
        assert!(fixture.locations().is_empty());
    }
}

#[tokio::test]
async fn a_lease_may_be_shorter_than_a_second() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue_of(&["a"]).await;
        let short = Duration::from_millis(150);
        queue.lease(short, NO_WAIT).await.unwrap().unwrap();
        windlass_testkit::redis::until("the lease ends", || {
            let exists = fixture
                .command(&["EXISTS", &fixture.lease_key("a")])
                .integer();
            (exists == 0)
                .then_some(())
                .ok_or_else(|| "it still exists".to_owned())
        });
        assert_eq!(queue.light_clean().await.unwrap().requeued, 1);
        assert!(queue.lease(Duration::ZERO, NO_WAIT).await.is_err());
    }
}

/// A leased item that an original cleaner returned, because it had checked before the lease was set.
async fn leased_and_requeued(layout: WorkQueueLayout) -> (Fixture, WorkQueue) {
    let fixture = Fixture::start(layout);
    let queue = fixture.queue_of(&["a"]).await;
    queue.lease(LONG, NO_WAIT).await.unwrap().unwrap();
    fixture.command(&["LREM", "p:processing", "0", "a"]);
    fixture.command(&["LPUSH", "p:queue", "a"]);
    (fixture, queue)
}

#[tokio::test]
async fn in_layout_0_3_a_leased_item_is_not_handed_out_again() {
    for is_cleaned in [true, false] {
        let (fixture, queue) = leased_and_requeued(WorkQueueLayout::V03).await;
        if is_cleaned {
            assert_eq!(queue.deep_clean().await.unwrap().held, 1);
        }
        assert_eq!(queue.lease(LONG, NO_WAIT).await.unwrap(), None);
        fixture.assert_consistent("it is in processing");
        assert_eq!(fixture.list("processing"), ["a"]);
        assert!(queue.complete("a").await.unwrap());
    }
}

#[tokio::test]
async fn in_layout_0_1_an_item_whose_holder_got_false_is_handed_out_again() {
    let (fixture, queue) = leased_and_requeued(WorkQueueLayout::V01).await;
    let mut peer = Peer::start(Kind::Python);
    let reply = peer.run(fixture.server.port(), &["complete", "a"]);
    assert_eq!(reply, ["False"], "and its lease stays");
    assert_eq!(queue.deep_clean().await.unwrap().held, 0);
    assert_eq!(queue.lease(LONG, NO_WAIT).await.unwrap(), Some(item("a")));
    fixture.assert_consistent("it is in processing");
}

#[tokio::test]
async fn only_the_session_that_holds_a_lease_renews_it() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let (queue, other) = (fixture.queue().await, fixture.queue().await);
        queue.add_item(&item("a")).await.unwrap();
        queue.lease(TIMEOUT, NO_WAIT).await.unwrap().unwrap();

        assert!(!other.renew("a", LONG).await.unwrap());
        assert!(queue.renew("a", LONG).await.unwrap());
        let left = fixture
            .command(&["PTTL", &fixture.lease_key("a")])
            .integer();
        assert!(left > i64::try_from(TIMEOUT.as_millis()).unwrap());

        let same: WorkQueue = other.with_session(queue.session());
        assert!(same.renew("a", LONG).await.unwrap());
        fixture.end_lease("a");
        assert!(!queue.renew("a", LONG).await.unwrap());
    }
}

#[tokio::test]
async fn a_released_item_is_the_next() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let (queue, other) = (fixture.queue().await, fixture.queue().await);
        for id in ["a", "b"] {
            queue.add_item(&item(id)).await.unwrap();
        }
        queue.lease(LONG, NO_WAIT).await.unwrap().unwrap();
        assert!(!other.release("a").await.unwrap());
        assert!(queue.release("a").await.unwrap());
        assert!(!queue.release("a").await.unwrap());
        fixture.assert_consistent("after the release");
        assert_eq!(ids(&lease_all(&other).await), ["a", "b"]);
    }
}

/// Waits until a client is blocked on the server.
async fn until_blocked(fixture: &Fixture) {
    let url = fixture.server.url();
    let address = fixture.server.address().clone();
    tokio::task::spawn_blocking(move || {
        windlass_testkit::redis::until("a client is blocked", || {
            let mut connection = windlass_testkit::redis::Connection::open(&address)
                .map_err(|error| error.to_string())?;
            let info = connection
                .command(&["INFO", "clients"])
                .map_err(|error| error.to_string())?;
            match info.field("blocked_clients").as_deref() {
                Some("1") => Ok(()),
                other => Err(format!("{url}: {other:?} blocked clients")),
            }
        });
    })
    .await
    .unwrap();
}
