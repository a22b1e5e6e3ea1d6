//! Cleaning: what comes back, what goes away, and what is left alone.

use windlass_interop::redis_work_queue::{Cleaned, Layout, WorkQueue};

use crate::bench::{AT_ONCE, Bench, LAYOUTS, LONG, Place, ids, item, lease_all};

const NOTHING: Cleaned = Cleaned {
    requeued: 0,
    held: 0,
    removed: 0,
    pending: 0,
};

#[tokio::test]
async fn an_abandoned_item_goes_to_the_back_and_one_under_lease_stays() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue_of(&["a", "b", "c"]).await;
        queue.lease(LONG, AT_ONCE).await.unwrap();
        queue.lease(LONG, AT_ONCE).await.unwrap();
        bench.end_lease("a");

        let cleaned = queue.light_clean().await.unwrap();
        assert_eq!(
            cleaned,
            Cleaned {
                requeued: 1,
                ..NOTHING
            }
        );
        assert_eq!(bench.list("processing"), ["b"]);
        assert_eq!(ids(&lease_all(&queue).await), ["c", "a"]);
        assert_eq!(queue.light_clean().await.unwrap(), NOTHING);
    }
}

/// Two items that originals took with the first of the two steps of a lease, seen by a clean once.
async fn two_on_their_way(bench: &Bench) -> WorkQueue {
    let queue = bench.queue().await.with_grace(LONG);
    for id in ["taken", "abandoned"] {
        queue.add_item(&item(id)).await.unwrap();
        bench.command(&["RPOPLPUSH", "p:queue", "p:processing"]);
    }
    let seen = async {
        while bench.command(&["HLEN", "p:windlass:marks"]).integer() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        cleaned = queue.light_clean() => panic!("it did not wait: {cleaned:?}"),
        () = seen => {}
    }
    assert_eq!(bench.list("processing").len(), 2, "left alone");
    queue
}

/// Moves what was seen into the past.
fn age_marks(bench: &Bench, millis: i64) {
    for id in ["taken", "abandoned"] {
        let back = format!("-{millis}");
        bench.command(&["HINCRBY", "p:windlass:marks", id, &back]);
    }
}

#[tokio::test]
async fn an_item_that_is_just_being_taken_is_left_alone_and_an_abandoned_one_is_not() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = two_on_their_way(&bench).await;
        // The second step of one of them, and the grace is over.
        let lease = bench.lease_key("taken");
        bench.command(&["SET", &lease, "somebody", "PX", "600000"]);
        age_marks(&bench, i64::try_from(LONG.as_millis()).unwrap());

        let cleaned = queue.light_clean().await.unwrap();
        let one_back = Cleaned {
            requeued: 1,
            ..NOTHING
        };
        assert_eq!(cleaned, one_back);
        assert_eq!(bench.list("processing"), ["taken"]);
        assert_eq!(bench.list("queue"), ["abandoned"]);
    }
}

#[tokio::test]
async fn what_was_seen_long_ago_was_an_earlier_stay_and_counts_for_nothing() {
    let bench = Bench::start(Layout::V03);
    let queue = two_on_their_way(&bench).await;
    age_marks(&bench, 20 * i64::try_from(LONG.as_millis()).unwrap());
    let was = bench.command(&["HVALS", "p:windlass:marks"]);
    let seen = async {
        while bench.command(&["HVALS", "p:windlass:marks"]) == was {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        cleaned = queue.light_clean() => panic!("it did not wait: {cleaned:?}"),
        () = seen => {}
    }
    assert_eq!(bench.list("processing").len(), 2, "left alone");
}

#[tokio::test]
async fn ids_of_no_item_are_removed() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue().await;
        bench.command(&["LPUSH", "p:processing", "ghost", "ghost"]);
        bench.command(&["LPUSH", "p:queue", "ghost", "other"]);
        queue.light_clean().await.unwrap();
        assert_eq!(
            bench.list("queue"),
            ["other"],
            "a light clean sees processing"
        );
        queue.deep_clean().await.unwrap();
        assert!(bench.places().is_empty());
    }
}

#[tokio::test]
async fn what_a_dead_cleaner_of_layout_0_1_left_is_brought_back() {
    let bench = Bench::start(Layout::V01);
    let queue = bench.queue().await;
    // In cleaning alone, and beside the queue, beside processing, under a lease, and as no item.
    for id in ["alone", "queued", "processed", "leased"] {
        bench.command(&["SET", &format!("p:item:{id}"), &format!("data of {id}")]);
    }
    bench.command(&[
        "LPUSH",
        "p:cleaning",
        "alone",
        "queued",
        "processed",
        "leased",
        "ghost",
    ]);
    bench.command(&["LPUSH", "p:queue", "queued"]);
    bench.command(&["LPUSH", "p:processing", "processed"]);
    bench.command(&["SET", &bench.lease_key("leased"), "somebody"]);

    queue.light_clean().await.unwrap();

    bench.assert_sound("after a light clean");
    assert_eq!(bench.list("processing"), ["leased"]);
    let mut queued = bench.list("queue");
    queued.sort();
    assert_eq!(queued, ["alone", "processed", "queued"]);
    assert!(queue.complete("leased").await.unwrap());
}

#[tokio::test]
async fn a_deep_clean_finds_what_is_in_no_list_and_leaves_one_of_each() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue().await;
        for id in ["lost", "held", "twice", "both", "both-held", "well"] {
            bench.command(&["SET", &format!("p:item:{id}"), &format!("data of {id}")]);
        }
        bench.command(&[
            "LPUSH",
            "p:queue",
            "twice",
            "both",
            "both-held",
            "well",
            "twice",
        ]);
        bench.command(&["LPUSH", "p:processing", "both", "both-held"]);
        for id in ["held", "both-held"] {
            bench.command(&["SET", &bench.lease_key(id), "somebody"]);
        }

        queue.deep_clean().await.unwrap();

        bench.assert_sound("after a deep clean");
        let queued: Vec<String> = bench.list("queue").into_iter().rev().collect();
        assert_eq!(
            queued,
            ["twice", "both", "well", "lost"],
            "first come first"
        );
        let processed = Place {
            processing: 1,
            has_data: true,
            ..Place::default()
        };
        assert_eq!(bench.places()["held"], processed);
        assert_eq!(bench.places()["both-held"], processed);
        assert_eq!(queue.deep_clean().await.unwrap(), NOTHING);
    }
}

#[tokio::test]
async fn cleaners_side_by_side_double_nothing_while_others_complete() {
    const ITEMS: usize = 300;
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue().await;
        for number in 0..ITEMS {
            queue.add_item(&item(&number.to_string())).await.unwrap();
        }
        lease_all(&queue).await;
        bench.end_leases();
        let mut tasks = tokio::task::JoinSet::new();
        for place in 0..4 {
            let queue = bench.queue().await;
            tasks.spawn(async move {
                let cleaned = if place % 2 == 0 {
                    queue.light_clean().await
                } else {
                    queue.deep_clean().await
                };
                cleaned.unwrap().requeued
            });
        }
        let completed = (0..ITEMS).step_by(3).map(|number| number.to_string());
        for id in completed {
            assert!(queue.complete(&id).await.unwrap(), "{id}");
        }
        tasks.join_all().await;
        bench.assert_sound("after four cleaners");
        assert_eq!(bench.places().len(), ITEMS - ITEMS / 3);
    }
}

#[tokio::test]
async fn more_than_a_page_is_cleaned_at_once() {
    const ITEMS: usize = 2_500;
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let script = "for i = 1, ARGV[1] do redis.call('SET', 'p:item:' .. i, i) \
                      redis.call('LPUSH', 'p:processing', i) redis.call('LPUSH', 'p:queue', 'g' .. i) end";
        bench.command(&["EVAL", script, "0", &ITEMS.to_string()]);
        let queue = bench.queue().await;
        let cleaned = queue.deep_clean().await.unwrap();
        assert_eq!(cleaned.requeued, u64::try_from(ITEMS).unwrap());
        assert_eq!(cleaned.removed, u64::try_from(ITEMS).unwrap());
        bench.assert_sound("after a deep clean");
        assert_eq!(bench.places().len(), ITEMS);
    }
}
