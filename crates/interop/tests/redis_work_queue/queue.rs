//! Adding, completing and counting.

use windlass_interop::redis_work_queue::{Counts, Layout, Pipeline};

use crate::bench::{AT_ONCE, Bench, LAYOUTS, LONG, PREFIX, ids, item, lease_all};

#[tokio::test]
async fn an_item_is_stored_as_the_originals_store_it() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue().await;
        assert!(queue.add_item(&item("a")).await.unwrap());
        assert!(queue.add_item(&item("b")).await.unwrap());

        assert_eq!(bench.list("queue"), ["b", "a"]);
        let data = bench.command(&["GET", &format!("{PREFIX}:item:a")]);
        assert_eq!(data.text(), "data of a");

        let leased = queue.lease(LONG, AT_ONCE).await.unwrap().unwrap();
        assert_eq!(leased, item("a"));
        assert_eq!(bench.list("processing"), ["a"]);
        let lease = bench.command(&["GET", &bench.lease_key("a")]);
        assert_eq!(lease.text(), queue.session());

        assert!(queue.complete("a").await.unwrap());
        let mut keys: Vec<String> = bench
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
async fn a_duplicate_is_refused_wherever_the_first_one_is() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue().await;
        assert!(queue.add_item(&item("a")).await.unwrap());
        assert!(!queue.add_item(&item("a")).await.unwrap(), "it waits");
        queue.lease(LONG, AT_ONCE).await.unwrap().unwrap();
        assert!(!queue.add_item(&item("a")).await.unwrap(), "it is leased");
        assert_eq!(queue.counts().await.unwrap().queue, 0);
        assert!(queue.complete("a").await.unwrap());
        assert!(queue.add_item(&item("a")).await.unwrap(), "it is done");
    }
}

#[tokio::test]
async fn in_layout_0_1_an_id_in_a_list_is_an_item_even_without_data() {
    let bench = Bench::start(Layout::V01);
    let queue = bench.queue().await;
    for list in ["queue", "processing", "cleaning"] {
        let key = format!("{PREFIX}:{list}");
        bench.command(&["LPUSH", &key, list]);
        assert!(!queue.add_item(&item(list)).await.unwrap());
    }
}

#[tokio::test]
async fn unique_items_are_added_alone_and_with_other_commands() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue().await;
        queue.add_unique_item(&item("a")).await.unwrap();

        let mut pipeline = Pipeline::new();
        pipeline.atomic();
        queue.add_unique_item_to_pipeline(&mut pipeline, &item("b"));
        queue.add_unique_item_to_pipeline(&mut pipeline, &item("c"));
        let mut commands = bench.server.connect().unwrap();
        for command in pipeline.cmd_iter() {
            let words: Vec<Vec<u8>> = command
                .args_iter()
                .map(|word| match word {
                    redis::Arg::Simple(bytes) => bytes.to_vec(),
                    _ => Vec::new(),
                })
                .collect();
            commands.command(&words).unwrap().ok();
        }
        assert_eq!(lease_all(&queue).await, [item("a"), item("b"), item("c")]);
    }
}

#[tokio::test]
async fn of_many_that_complete_an_item_one_is_told_so() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue_of(&["a"]).await;
        queue.lease(LONG, AT_ONCE).await.unwrap();
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let other = bench.queue().await;
            calls.spawn(async move { other.complete("a").await.unwrap() });
        }
        let told = calls.join_all().await;
        assert_eq!(told.iter().filter(|is_mine| **is_mine).count(), 1);
        assert!(!queue.complete("never there").await.unwrap());
    }
}

#[tokio::test]
async fn an_item_that_was_taken_back_can_still_be_completed_and_leaves_nothing() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue_of(&["a"]).await;
        queue.lease(LONG, AT_ONCE).await.unwrap();
        bench.end_lease("a");
        queue.light_clean().await.unwrap();
        assert_eq!(bench.list("queue"), ["a"]);

        assert!(queue.complete("a").await.unwrap());
        assert!(bench.places().is_empty());
    }
}

#[tokio::test]
async fn in_layout_0_1_an_item_that_an_original_is_completing_is_not_completed_twice() {
    let bench = Bench::start(Layout::V01);
    let queue = bench.queue_of(&["a"]).await;
    queue.lease(LONG, AT_ONCE).await.unwrap();
    // What the originals do first; the data goes in a second step.
    bench.command(&["LREM", "p:processing", "0", "a"]);
    assert!(!queue.complete("a").await.unwrap());
}

#[tokio::test]
async fn counts_are_those_of_both_lists_with_what_was_abandoned() {
    for layout in LAYOUTS {
        let bench = Bench::start(layout);
        let queue = bench.queue_of(&["a", "b", "c"]).await;
        queue.lease(LONG, AT_ONCE).await.unwrap();
        bench.end_lease("a");
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
    let bench = Bench::start(Layout::V03);
    let server = windlass_interop::Server::open(&bench.server.url())
        .await
        .unwrap();
    let odd = windlass_interop::redis_work_queue::WorkQueue::new(server, "p*[x]", Layout::V03)
        .with_grace(std::time::Duration::ZERO);
    let bytes = windlass_interop::redis_work_queue::Item::with_id("a", vec![0, 255, b'\r', b'\n']);
    odd.add_item(&bytes).await.unwrap();
    bench.command(&["SET", "pxx:item:other", "1"]);
    bench.command(&["DEL", "p*[x]:queue"]);
    assert_eq!(odd.deep_clean().await.unwrap().requeued, 1);
    let leased = lease_all(&odd).await;
    assert_eq!((ids(&leased), &leased[0].data), (vec!["a"], &bytes.data));
}
