//! Cleaning: what is returned, removed or left alone.

use windlass_interop::redis_work_queue::{WorkQueue, WorkQueueCleanReport, WorkQueueLayout};

use crate::fixture::{Fixture, LAYOUTS, LONG, Location, NO_WAIT, ids, item, lease_all};

const NOTHING: WorkQueueCleanReport = WorkQueueCleanReport {
    requeued: 0,
    held: 0,
    removed: 0,
    pending: 0,
};

#[tokio::test]
async fn an_abandoned_item_goes_to_the_back_and_one_under_lease_stays() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue_of(&["a", "b", "c"]).await;
        queue.lease(LONG, NO_WAIT).await.unwrap();
        queue.lease(LONG, NO_WAIT).await.unwrap();
        fixture.end_lease("a");

        let cleaned = queue.light_clean().await.unwrap();
        assert_eq!(
            cleaned,
            WorkQueueCleanReport {
                requeued: 1,
                ..NOTHING
            }
        );
        assert_eq!(fixture.list("processing"), ["b"]);
        assert_eq!(ids(&lease_all(&queue).await), ["c", "a"]);
        assert_eq!(queue.light_clean().await.unwrap(), NOTHING);
    }
}

/// Two items after the first of the two commands of an original's lease, checked once by a clean.
async fn two_half_leased(fixture: &Fixture) -> WorkQueue {
    let queue = fixture.queue().await.with_grace(LONG);
    for id in ["taken", "abandoned"] {
        queue.add_item(&item(id)).await.unwrap();
        fixture.command(&["RPOPLPUSH", "p:queue", "p:processing"]);
    }
    let seen = async {
        while fixture.command(&["HLEN", "p:windlass:marks"]).integer() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        cleaned = queue.light_clean() => panic!("the clean did not wait: {cleaned:?}"),
        () = seen => {}
    }
    assert_eq!(fixture.list("processing").len(), 2, "left alone");
    queue
}

/// Moves the marks into the past.
fn age_marks(fixture: &Fixture, millis: i64) {
    for id in ["taken", "abandoned"] {
        let back = format!("-{millis}");
        fixture.command(&["HINCRBY", "p:windlass:marks", id, &back]);
    }
}

#[tokio::test]
async fn an_item_that_is_just_being_taken_is_left_alone_and_an_abandoned_one_is_not() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = two_half_leased(&fixture).await;
        // The second command for one of them, and the end of the grace period.
        let lease = fixture.lease_key("taken");
        fixture.command(&["SET", &lease, "another", "PX", "600000"]);
        age_marks(&fixture, i64::try_from(LONG.as_millis()).unwrap());

        let cleaned = queue.light_clean().await.unwrap();
        let one_back = WorkQueueCleanReport {
            requeued: 1,
            ..NOTHING
        };
        assert_eq!(cleaned, one_back);
        assert_eq!(fixture.list("processing"), ["taken"]);
        assert_eq!(fixture.list("queue"), ["abandoned"]);
    }
}

#[tokio::test]
async fn an_old_mark_is_from_an_earlier_incident_and_is_ignored() {
    let fixture = Fixture::start(WorkQueueLayout::V03);
    let queue = two_half_leased(&fixture).await;
    age_marks(&fixture, 20 * i64::try_from(LONG.as_millis()).unwrap());
    let was = fixture.command(&["HVALS", "p:windlass:marks"]);
    let seen = async {
        while fixture.command(&["HVALS", "p:windlass:marks"]) == was {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        cleaned = queue.light_clean() => panic!("the clean did not wait: {cleaned:?}"),
        () = seen => {}
    }
    assert_eq!(fixture.list("processing").len(), 2, "left alone");
}

#[tokio::test]
async fn ids_without_data_are_removed() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue().await;
        fixture.command(&["LPUSH", "p:processing", "ghost", "ghost"]);
        fixture.command(&["LPUSH", "p:queue", "ghost", "other"]);
        queue.light_clean().await.unwrap();
        assert_eq!(
            fixture.list("queue"),
            ["other"],
            "a light clean checks only processing"
        );
        queue.deep_clean().await.unwrap();
        assert!(fixture.locations().is_empty());
    }
}

#[tokio::test]
async fn items_left_by_a_dead_cleaner_of_layout_0_1_are_returned() {
    let fixture = Fixture::start(WorkQueueLayout::V01);
    let queue = fixture.queue().await;
    // In cleaning only, also in the queue, also in processing, with a lease, and without data.
    for id in ["alone", "queued", "processed", "leased"] {
        fixture.command(&["SET", &format!("p:item:{id}"), &format!("data of {id}")]);
    }
    fixture.command(&[
        "LPUSH",
        "p:cleaning",
        "alone",
        "queued",
        "processed",
        "leased",
        "ghost",
    ]);
    fixture.command(&["LPUSH", "p:queue", "queued"]);
    fixture.command(&["LPUSH", "p:processing", "processed"]);
    fixture.command(&["SET", &fixture.lease_key("leased"), "another"]);

    queue.light_clean().await.unwrap();

    fixture.assert_consistent("after a light clean");
    assert_eq!(fixture.list("processing"), ["leased"]);
    let mut queued = fixture.list("queue");
    queued.sort();
    assert_eq!(queued, ["alone", "processed", "queued"]);
    assert!(queue.complete("leased").await.unwrap());
}

#[tokio::test]
async fn a_deep_clean_finds_unlisted_items_and_leaves_each_in_one_list() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue().await;
        for id in ["lost", "held", "twice", "both", "both-held", "well"] {
            fixture.command(&["SET", &format!("p:item:{id}"), &format!("data of {id}")]);
        }
        fixture.command(&[
            "LPUSH",
            "p:queue",
            "twice",
            "both",
            "both-held",
            "well",
            "twice",
        ]);
        fixture.command(&["LPUSH", "p:processing", "both", "both-held"]);
        for id in ["held", "both-held"] {
            fixture.command(&["SET", &fixture.lease_key(id), "another"]);
        }

        queue.deep_clean().await.unwrap();

        fixture.assert_consistent("after a deep clean");
        let queued: Vec<String> = fixture.list("queue").into_iter().rev().collect();
        assert_eq!(
            queued,
            ["twice", "both", "well", "lost"],
            "first in, first out"
        );
        let processed = Location {
            processing: 1,
            has_data: true,
            ..Location::default()
        };
        assert_eq!(fixture.locations()["held"], processed);
        assert_eq!(fixture.locations()["both-held"], processed);
        assert_eq!(queue.deep_clean().await.unwrap(), NOTHING);
    }
}

#[tokio::test]
async fn concurrent_cleaners_duplicate_nothing_while_others_complete() {
    const ITEMS: usize = 300;
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue().await;
        for number in 0..ITEMS {
            queue.add_item(&item(&number.to_string())).await.unwrap();
        }
        lease_all(&queue).await;
        fixture.end_leases();
        let mut tasks = tokio::task::JoinSet::new();
        for cleaner in 0..4 {
            let queue = fixture.queue().await;
            tasks.spawn(async move {
                let cleaned = if cleaner % 2 == 0 {
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
        fixture.assert_consistent("after four cleaners");
        assert_eq!(fixture.locations().len(), ITEMS - ITEMS / 3);
    }
}

#[tokio::test]
async fn more_than_a_page_is_cleaned_at_once() {
    const ITEMS: usize = 2_500;
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let script = "for i = 1, ARGV[1] do redis.call('SET', 'p:item:' .. i, i) \
                      redis.call('LPUSH', 'p:processing', i) redis.call('LPUSH', 'p:queue', 'g' .. i) end";
        fixture.command(&["EVAL", script, "0", &ITEMS.to_string()]);
        let queue = fixture.queue().await;
        let cleaned = queue.deep_clean().await.unwrap();
        assert_eq!(cleaned.requeued, u64::try_from(ITEMS).unwrap());
        assert_eq!(cleaned.removed, u64::try_from(ITEMS).unwrap());
        fixture.assert_consistent("after a deep clean");
        assert_eq!(fixture.locations().len(), ITEMS);
    }
}
