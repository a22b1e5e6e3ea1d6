//! Adds, completes and counts items.

use windlass_interop::redis_work_queue::{Counts, Pipeline, WorkQueueLayout};

use crate::fixture::{Fixture, LAYOUTS, LONG, NO_WAIT, PREFIX, ids, item, lease_all};

#[tokio::test]
async fn an_item_is_stored_as_the_originals_store_it() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue().await;
        assert!(queue.add_item(&item("a")).await.unwrap());
        assert!(queue.add_item(&item("b")).await.unwrap());

        assert_eq!(fixture.list("queue"), ["b", "a"]);
        let data = fixture.command(&["GET", &format!("{PREFIX}:item:a")]);
        assert_eq!(data.text(), "data of a");

        let leased = queue.lease(LONG, NO_WAIT).await.unwrap().unwrap();
        assert_eq!(leased, item("a"));
        assert_eq!(fixture.list("processing"), ["a"]);
        let lease = fixture.command(&["GET", &fixture.lease_key("a")]);
        assert_eq!(lease.text(), queue.session());

        assert!(queue.complete("a").await.unwrap());
        let mut keys: Vec<String> = fixture
            .command(&["KEYS", "*"])
            .array()
            .iter()
            .map(|key| key.text())
            .collect();
        keys.sort();
        assert_eq!(keys, ["p:item:b", "p:queue"]);
    }
}

#[tokio::test]
async fn a_duplicate_is_rejected_in_every_state_of_the_first() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue().await;
        assert!(queue.add_item(&item("a")).await.unwrap());
        assert!(!queue.add_item(&item("a")).await.unwrap(), "it waits");
        queue.lease(LONG, NO_WAIT).await.unwrap().unwrap();
        assert!(!queue.add_item(&item("a")).await.unwrap(), "it is leased");
        assert_eq!(queue.counts().await.unwrap().queue, 0);
        assert!(queue.complete("a").await.unwrap());
        assert!(queue.add_item(&item("a")).await.unwrap(), "it is done");
    }
}

#[tokio::test]
async fn in_layout_0_1_an_id_in_a_list_is_an_item_even_without_data() {
    let fixture = Fixture::start(WorkQueueLayout::V01);
    let queue = fixture.queue().await;
    for list in ["queue", "processing", "cleaning"] {
        let key = format!("{PREFIX}:{list}");
        fixture.command(&["LPUSH", &key, list]);
        assert!(!queue.add_item(&item(list)).await.unwrap());
    }
}

#[tokio::test]
async fn unique_items_are_added_alone_and_in_a_pipeline() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue().await;
        queue.add_unique_item(&item("a")).await.unwrap();

        let mut pipeline = Pipeline::new();
        pipeline.atomic();
        queue.add_unique_item_to_pipeline(&mut pipeline, &item("b"));
        queue.add_unique_item_to_pipeline(&mut pipeline, &item("c"));
        let mut commands = fixture.server.connect().unwrap();
        for command in pipeline.cmd_iter() {
            let args: Vec<Vec<u8>> = command
                .args_iter()
                .map(|arg| match arg {
                    redis::Arg::Simple(bytes) => bytes.to_vec(),
                    _ => Vec::new(),
                })
                .collect();
            commands.command(&args).unwrap().ok();
        }
        assert_eq!(lease_all(&queue).await, [item("a"), item("b"), item("c")]);
    }
}

#[tokio::test]
async fn exactly_one_of_many_completes_returns_true() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue_of(&["a"]).await;
        queue.lease(LONG, NO_WAIT).await.unwrap();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let other = fixture.queue().await;
            calls.spawn(async move { other.complete("a").await.unwrap() });
        }
        let replies = calls.join_all().await;
        assert_eq!(
            replies.iter().filter(|is_completed| **is_completed).count(),
            1
        );
        assert!(!queue.complete("never there").await.unwrap());
    }
}

#[tokio::test]
async fn a_returned_item_can_still_be_completed_and_leaves_nothing() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue_of(&["a"]).await;
        queue.lease(LONG, NO_WAIT).await.unwrap();
        fixture.end_lease("a");
        queue.light_clean().await.unwrap();
        assert_eq!(fixture.list("queue"), ["a"]);

        assert!(queue.complete("a").await.unwrap());
        assert!(fixture.locations().is_empty());
    }
}

#[tokio::test]
async fn in_layout_0_1_an_item_that_an_original_is_completing_is_not_completed_twice() {
    let fixture = Fixture::start(WorkQueueLayout::V01);
    let queue = fixture.queue_of(&["a"]).await;
    queue.lease(LONG, NO_WAIT).await.unwrap();
    // The first command of the originals; the second one deletes the data.
    fixture.command(&["LREM", "p:processing", "0", "a"]);
    assert!(!queue.complete("a").await.unwrap());
}

#[tokio::test]
async fn counts_include_abandoned_items() {
    for layout in LAYOUTS {
        let fixture = Fixture::start(layout);
        let queue = fixture.queue_of(&["a", "b", "c"]).await;
        queue.lease(LONG, NO_WAIT).await.unwrap();
        fixture.end_lease("a");
        let counts = Counts {
            queue: 2,
            processing: 1,
        };
        assert_eq!(queue.counts().await.unwrap(), counts);
        assert_eq!(queue.queue_len().await.unwrap(), 2);
        assert_eq!(queue.processing().await.unwrap(), 1);
    }
}

#[tokio::test]
async fn any_bytes_are_data_and_a_prefix_may_look_like_a_pattern() {
    let fixture = Fixture::start(WorkQueueLayout::V03);
    let server = windlass_interop::InteropServer::open(&fixture.server.url())
        .await
        .unwrap();
    let unusual =
        windlass_interop::redis_work_queue::WorkQueue::new(server, "p*[x]", WorkQueueLayout::V03)
            .with_grace(std::time::Duration::ZERO);
    let bytes = windlass_interop::redis_work_queue::Item::with_id("a", vec![0, 255, b'\r', b'\n']);
    unusual.add_item(&bytes).await.unwrap();
    fixture.command(&["SET", "pxx:item:other", "1"]);
    fixture.command(&["DEL", "p*[x]:queue"]);
    assert_eq!(unusual.deep_clean().await.unwrap().requeued, 1);
    let leased = lease_all(&unusual).await;
    assert_eq!((ids(&leased), &leased[0].data), (vec!["a"], &bytes.data));
}
