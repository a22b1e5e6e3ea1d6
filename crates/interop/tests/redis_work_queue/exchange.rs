//! One by one: what a real client adds, ours leases and completes, and the other way round.

use crate::bench::{AT_ONCE, Bench, LAYOUTS, LONG, item};
use crate::peer::{Kind, Peer};

#[tokio::test]
async fn what_a_real_client_adds_is_leased_and_completed_by_ours() {
    for layout in LAYOUTS {
        for kind in Kind::of(layout) {
            let bench = Bench::start(layout);
            let (port, mut peer) = (bench.server.port(), Peer::start(*kind));
            let queue = bench.queue().await;
            peer.act(port, &["add", "a", "data of a"]);
            peer.act(port, &["add-unique", "b", "data of b"]);

            for id in ["a", "b"] {
                let leased = queue.lease(LONG, AT_ONCE).await.unwrap();
                assert_eq!(leased, Some(item(id)), "{kind:?}");
                assert_eq!(peer.act(port, &["counts"])[1], "1", "{kind:?} counts ours");
                assert!(queue.complete(id).await.unwrap());
            }
            assert!(bench.places().is_empty(), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn what_ours_adds_is_leased_and_completed_by_a_real_client() {
    for layout in LAYOUTS {
        for kind in Kind::of(layout) {
            let bench = Bench::start(layout);
            let (port, mut peer) = (bench.server.port(), Peer::start(*kind));
            let queue = bench.queue().await;
            assert!(queue.add_item(&item("a")).await.unwrap());
            queue.add_unique_item(&item("b")).await.unwrap();
            assert_eq!(peer.act(port, &["counts"]), ["2", "0"]);

            for id in ["a", "b"] {
                let leased = peer.act(port, &["lease", "600"]);
                assert_eq!(leased, ["item", id, &format!("data of {id}")], "{kind:?}");
                assert_eq!(queue.processing().await.unwrap(), 1);
                assert!(!queue.add_item(&item(id)).await.unwrap(), "it is there");
                let told = peer.act(port, &["complete", id]);
                assert!(told[0].eq_ignore_ascii_case("true"), "{kind:?}");
            }
            assert_eq!(peer.act(port, &["lease", "600"]), ["none"]);
            assert!(bench.places().is_empty(), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn a_lease_of_one_is_a_lease_to_the_other_and_one_of_them_completes() {
    for layout in LAYOUTS {
        for kind in Kind::of(layout) {
            let bench = Bench::start(layout);
            let (port, mut peer) = (bench.server.port(), Peer::start(*kind));
            let queue = bench.queue_of(&["theirs", "ours"]).await;
            assert_eq!(peer.act(port, &["lease", "600"])[1], "theirs");
            assert_eq!(
                queue.lease(LONG, AT_ONCE).await.unwrap(),
                Some(item("ours"))
            );

            // Neither cleaner takes what the other's lease protects.
            assert_eq!(queue.deep_clean().await.unwrap().requeued, 0);
            if *kind != Kind::Rust {
                peer.act(port, &["light-clean"]);
            }
            assert_eq!(queue.counts().await.unwrap().processing, 2);

            assert!(queue.complete("theirs").await.unwrap());
            let told = peer.act(port, &["complete", "theirs"]);
            assert!(told[0].eq_ignore_ascii_case("false"), "{kind:?}");
            let told = peer.act(port, &["complete", "ours"]);
            assert!(told[0].eq_ignore_ascii_case("true"), "{kind:?}");
            assert!(!queue.complete("ours").await.unwrap());
            assert!(bench.places().is_empty(), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn what_ours_gives_back_or_cleans_a_real_client_leases() {
    for layout in LAYOUTS {
        for kind in Kind::of(layout) {
            let bench = Bench::start(layout);
            let (port, mut peer) = (bench.server.port(), Peer::start(*kind));
            let queue = bench.queue().await;
            for id in ["a", "b"] {
                queue.add_item(&item(id)).await.unwrap();
                queue.lease(LONG, AT_ONCE).await.unwrap().unwrap();
            }
            assert!(queue.release("b").await.unwrap());
            bench.end_lease("a");
            assert_eq!(queue.light_clean().await.unwrap().requeued, 1);
            assert_eq!(peer.act(port, &["lease", "600"])[1], "b");
            assert_eq!(peer.act(port, &["lease", "600"])[1], "a");
        }
    }
}
