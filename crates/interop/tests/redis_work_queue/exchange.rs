//! A real client and Windlass process each other's items.

use crate::fixture::{Fixture, LAYOUTS, LONG, NO_WAIT, item};
use crate::peer::{Kind, Peer};

#[tokio::test]
async fn items_of_a_real_client_are_leased_and_completed_by_windlass() {
    for layout in LAYOUTS {
        for kind in Kind::of(layout) {
            let fixture = Fixture::start(layout);
            let (port, mut peer) = (fixture.server.port(), Peer::start(*kind));
            let queue = fixture.queue().await;
            peer.run(port, &["add", "a", "data of a"]);
            peer.run(port, &["add-unique", "b", "data of b"]);

            for id in ["a", "b"] {
                let leased = queue.lease(LONG, NO_WAIT).await.unwrap();
                assert_eq!(leased, Some(item(id)), "{kind:?}");
                assert_eq!(
                    peer.run(port, &["counts"])[1],
                    "1",
                    "{kind:?} counts items leased by Windlass"
                );
                assert!(queue.complete(id).await.unwrap());
            }
            assert!(fixture.locations().is_empty(), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn items_of_windlass_are_leased_and_completed_by_a_real_client() {
    for layout in LAYOUTS {
        for kind in Kind::of(layout) {
            let fixture = Fixture::start(layout);
            let (port, mut peer) = (fixture.server.port(), Peer::start(*kind));
            let queue = fixture.queue().await;
            assert!(queue.add_item(&item("a")).await.unwrap());
            queue.add_unique_item(&item("b")).await.unwrap();
            assert_eq!(peer.run(port, &["counts"]), ["2", "0"]);

            for id in ["a", "b"] {
                let leased = peer.run(port, &["lease", "600"]);
                assert_eq!(leased, ["item", id, &format!("data of {id}")], "{kind:?}");
                assert_eq!(queue.processing().await.unwrap(), 1);
                assert!(!queue.add_item(&item(id)).await.unwrap(), "it exists");
                let reply = peer.run(port, &["complete", id]);
                assert!(reply[0].eq_ignore_ascii_case("true"), "{kind:?}");
            }
            assert_eq!(peer.run(port, &["lease", "600"]), ["none"]);
            assert!(fixture.locations().is_empty(), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn a_lease_of_one_client_is_respected_by_the_other_and_one_of_them_completes() {
    for layout in LAYOUTS {
        for kind in Kind::of(layout) {
            let fixture = Fixture::start(layout);
            let (port, mut peer) = (fixture.server.port(), Peer::start(*kind));
            let queue = fixture.queue_of(&["theirs", "ours"]).await;
            assert_eq!(peer.run(port, &["lease", "600"])[1], "theirs");
            assert_eq!(
                queue.lease(LONG, NO_WAIT).await.unwrap(),
                Some(item("ours"))
            );

            // Neither cleaner returns items that the other client leased.
            assert_eq!(queue.deep_clean().await.unwrap().requeued, 0);
            if *kind != Kind::Rust {
                peer.run(port, &["light-clean"]);
            }
            assert_eq!(queue.counts().await.unwrap().processing, 2);

            assert!(queue.complete("theirs").await.unwrap());
            let reply = peer.run(port, &["complete", "theirs"]);
            assert!(reply[0].eq_ignore_ascii_case("false"), "{kind:?}");
            let reply = peer.run(port, &["complete", "ours"]);
            assert!(reply[0].eq_ignore_ascii_case("true"), "{kind:?}");
            assert!(!queue.complete("ours").await.unwrap());
            assert!(fixture.locations().is_empty(), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn items_released_or_cleaned_by_windlass_are_leased_by_a_real_client() {
    for layout in LAYOUTS {
        for kind in Kind::of(layout) {
            let fixture = Fixture::start(layout);
            let (port, mut peer) = (fixture.server.port(), Peer::start(*kind));
            let queue = fixture.queue().await;
            for id in ["a", "b"] {
                queue.add_item(&item(id)).await.unwrap();
                queue.lease(LONG, NO_WAIT).await.unwrap().unwrap();
            }
            assert!(queue.release("b").await.unwrap());
            fixture.end_lease("a");
            assert_eq!(queue.light_clean().await.unwrap().requeued, 1);
            assert_eq!(peer.run(port, &["lease", "600"])[1], "b");
            assert_eq!(peer.run(port, &["lease", "600"])[1], "a");
        }
    }
}
