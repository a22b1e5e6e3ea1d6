//! A Cluster whose slots move and whose nodes die.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::time::timeout;
use windlass_core::ErrorKind;
use windlass_testkit::redis::Cluster;

use super::*;
use crate::link::{SubscriberEvent, slot_of};

async fn started() -> Arc<Cluster> {
    Arc::new(blocking(Cluster::start).await)
}

async fn with_cluster<T: Send + 'static>(
    cluster: &Arc<Cluster>,
    work: impl FnOnce(&Cluster) -> T + Send + 'static,
) -> T {
    let cluster = Arc::clone(cluster);
    blocking(move || work(&cluster)).await
}

/// Increments the first key. The second key never exists, so that it is missing on both nodes
/// while the slot migrates.
fn count_with_more_keys(queue: &str) -> Call {
    let script = script("redis.call('EXISTS', KEYS[2]) return redis.call('INCR', KEYS[1])");
    call(
        script,
        &[&format!("{{{queue}}}:count"), &format!("{{{queue}}}:none")],
        &[],
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn every_queue_is_found_on_its_node() {
    let cluster = started().await;
    let link = open(&cluster.url()).await.expect("opens");
    for n in 0..50 {
        let key = format!("{{q{n}}}:count");
        let one = call(count(), &[&key], &[]);
        assert_eq!(number(&link.run(&one).await.expect("runs")), 1);
        let value = link
            .wait_then_run(
                WaitOn::Pop(format!("{{q{n}}}:wake").as_bytes()),
                Duration::ZERO,
                &one,
            )
            .await;
        assert_eq!(number(&value.expect("replies").0), 2);
        assert_eq!(number(&run_durable(&link, &one).await.0), 3);
    }
    let info = link.info().await.expect("returned");
    assert_eq!(info.len(), 3, "{info:?}");
    assert!(
        info.iter()
            .all(|info| info.role.as_deref() == Some("master"))
    );
    // One seed is enough.
    let port = cluster.nodes()[0].port();
    let link = open(&format!("redis-cluster://127.0.0.1:{port}")).await;
    let link = link.expect("opens");
    for n in 0..50 {
        let call = call(count(), &[&format!("{{q{n}}}:count")], &[]);
        assert_eq!(number(&link.run(&call).await.expect("runs")), 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_back_and_forth_under_load_is_not_noticed() {
    let cluster = started().await;
    let link = open(&format!("{}?timeout=20s", cluster.url()))
        .await
        .expect("opens");
    let is_over = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..8)
        .map(|n| {
            let (link, is_over) = (link.clone(), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut turns: i64 = 0;
                let queue = if n % 2 == 0 { "moving" } else { "staying" };
                while !is_over.load(Ordering::Relaxed) {
                    let call = count_with_more_keys(queue);
                    link.run(&call).await.expect("no error reaches the caller");
                    turns += 1;
                }
                turns
            })
        })
        .collect();
    with_cluster(&cluster, |cluster| {
        let slot = slot_of(b"{moving}:count");
        for _ in 0..6 {
            let to = cluster.other_primary(slot);
            cluster.move_slot(slot, to);
        }
    })
    .await;
    is_over.store(true, Ordering::Relaxed);
    let mut turns = [0, 0];
    for (n, worker) in workers.into_iter().enumerate() {
        turns[n % 2] += worker.await.expect("no panic");
    }
    for (queue, turns) in ["moving", "staying"].iter().zip(turns) {
        let after = link.run(&count_with_more_keys(queue)).await.expect("runs");
        assert_eq!(number(&after), turns + 1, "each counted once");
        assert!(turns > 10, "{queue} {turns}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_has_already_moved_is_found_on_its_new_node() {
    let cluster = started().await;
    let link = open(&cluster.url()).await.expect("opens");
    let slot = slot_of(b"{q}:count");
    let one = call(count(), &["{q}:count"], &[]);
    // The slot is migrating and its keys are already gone: the old node replies with ASK.
    let (from, to) = with_cluster(&cluster, move |cluster| {
        let (from, to) = (cluster.node_of_slot(slot), cluster.other_primary(slot));
        let id = |server: &Server| server.command(&["CLUSTER", "MYID"]).text();
        let (slot, from_id, to_id) = (slot.to_string(), id(from), id(to));
        let set = ["CLUSTER", "SETSLOT", &slot];
        to.command(&[&set[..], &["IMPORTING", &from_id]].concat())
            .ok();
        from.command(&[&set[..], &["MIGRATING", &to_id]].concat())
            .ok();
        (from.port(), to.port())
    })
    .await;
    assert_eq!(number(&link.run(&one).await.expect("runs")), 1);
    assert_eq!(number(&run_durable(&link, &one).await.0), 2);
    let reply = link
        .wait_then_run(WaitOn::Pop(b"{q}:wake"), Duration::from_secs(9), &one)
        .await;
    assert_eq!(number(&reply.expect("replies").0), 3);
    let durable = open(&format!("{}?durability=replicated:1", cluster.url())).await;
    let durable = durable.expect("opens");
    assert_eq!(number(&run_durable(&durable, &one).await.0), 4);
    let keys = with_cluster(&cluster, move |cluster| {
        [from, to].map(|port| {
            let server = cluster.nodes().iter().find(|server| server.port() == port);
            let count = ["CLUSTER", "COUNTKEYSINSLOT", &slot.to_string()];
            server
                .expect("a node of the cluster")
                .command(&count)
                .integer()
        })
    })
    .await;
    assert_eq!(keys, [0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_dies_is_replaced_and_others_keep_working() {
    let cluster = started().await;
    let link = open(&format!("{}?timeout=30s", cluster.url()))
        .await
        .expect("opens");
    let slot = slot_of(b"{dying}:count");
    let other = (0..100)
        .map(|n| format!("{{q{n}}}:count"))
        .find(|key| {
            let here = cluster.node_of_slot(slot_of(key.as_bytes())).port();
            here != cluster.node_of_slot(slot).port()
        })
        .expect("three primaries");
    let dying = call(count(), &["{dying}:count"], &[]);
    link.run(&dying).await.expect("runs");
    let is_over = Arc::new(AtomicBool::new(false));
    let other_calls = Arc::new(AtomicUsize::new(0));
    let others = tokio::spawn({
        let (link, is_over, other_calls) =
            (link.clone(), Arc::clone(&is_over), Arc::clone(&other_calls));
        async move {
            while !is_over.load(Ordering::Relaxed) {
                let call = call(count(), &[&other], &[]);
                link.run(&call).await.expect("other nodes keep working");
                other_calls.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let failing = with_cluster(&cluster, move |cluster| {
        let old = cluster.kill_primary(slot);
        cluster.wait_for_new_primary(slot, old).port()
    });
    failing.await;
    link.run_idempotent(&dying)
        .await
        .expect("runs on the new primary");
    is_over.store(true, Ordering::Relaxed);
    others.await.expect("no panic");
    assert!(other_calls.load(Ordering::Relaxed) > 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_hangs_delays_only_its_own_queues() {
    let cluster = started().await;
    let link = open(&format!("{}?timeout=16s", cluster.url()))
        .await
        .expect("opens");
    let hanging = slot_of(b"{hanging}:count");
    let port = cluster.node_of_slot(hanging).port();
    let others: Vec<String> = (0..100)
        .map(|n| format!("{{q{n}}}:count"))
        .filter(|key| cluster.node_of_slot(slot_of(key.as_bytes())).port() != port)
        .collect();
    for key in &others {
        link.run(&call(count(), &[key], &[])).await.expect("runs");
    }
    let one = call(count(), &["{hanging}:count"], &[]);
    link.run(&one).await.expect("runs");
    with_cluster(&cluster, move |cluster| {
        cluster.node_of_slot(hanging).stop();
    })
    .await;
    let delayed: Vec<_> = (0..20)
        .map(|_| {
            let (link, one) = (link.clone(), one.clone());
            tokio::spawn(async move { link.run_idempotent(&one).await })
        })
        .collect();
    let mut slowest = Duration::ZERO;
    while !delayed.iter().all(tokio::task::JoinHandle::is_finished) {
        for key in &others {
            let started = tokio::time::Instant::now();
            link.run(&call(count(), &[key], &[])).await.expect("runs");
            slowest = slowest.max(started.elapsed());
        }
        // Leave the CPU to the nodes.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // A call that waited with them would take as long as one of their attempts: 8 s.
    assert!(slowest < Duration::from_secs(6), "{slowest:?}");
    for call in delayed {
        let error = call.await.expect("no panic").expect_err("no reply");
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    }
    with_cluster(&cluster, move |cluster| {
        let server = cluster.nodes().iter().find(|server| server.port() == port);
        server.expect("a node of the cluster").resume();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_call_follows_a_slot_that_moves() {
    let cluster = started().await;
    let link = open(&cluster.url()).await.expect("opens");
    let slot = slot_of(b"{q}:wake");
    let blocked = tokio::spawn({
        let link = link.clone();
        async move {
            let then = call(count(), &["{q}:count"], &[]);
            link.wait_then_run(WaitOn::Pop(b"{q}:wake"), Duration::from_secs(30), &then)
                .await
        }
    });
    with_cluster(&cluster, move |cluster| {
        let until_blocked = |cluster: &Cluster| {
            windlass_testkit::redis::until("a client is blocked", || {
                let info = cluster
                    .node_of_slot(slot)
                    .command(&["INFO", "clients"])
                    .text();
                let is_blocked = info.lines().any(|line| line == "blocked_clients:1");
                is_blocked.then_some(()).ok_or(info)
            });
        };
        until_blocked(cluster);
        let to = cluster.other_primary(slot);
        cluster.move_slot(slot, to);
        until_blocked(cluster);
        cluster
            .node_of_slot(slot)
            .command(&["RPUSH", "{q}:wake", "1"])
            .ok();
    })
    .await;
    let reply = timeout(Duration::from_secs(20), blocked).await;
    let reply = reply.expect("woken").expect("no panic");
    assert_eq!(number(&reply.expect("replies").0), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_received_from_the_node_of_each_slot_and_after_it_moved() {
    let cluster = started().await;
    let link = open(&cluster.url()).await.expect("opens");
    let channels: Vec<Bytes> = (0..6).map(|n| format!("{{q{n}}}:hints").into()).collect();
    let mut subscriber = link
        .subscribe(ChannelKind::Sharded, channels.clone())
        .await
        .expect("subscribes");
    let publish = script("return redis.call('SPUBLISH', KEYS[1], ARGV[1])");
    for channel in &channels {
        let call = Call {
            script: publish,
            keys: vec![channel.clone()],
            args: vec![Bytes::from_static(b"x")],
        };
        let receivers = link.run(&call).await.expect("runs");
        assert_eq!(number(&receivers), 1);
        let event = timeout(Duration::from_secs(10), subscriber.next()).await;
        let Ok(SubscriberEvent::Message { channel: on, .. }) = event else {
            panic!("{event:?}");
        };
        assert_eq!(on, *channel);
    }
    let slot = slot_of(&channels[0]);
    with_cluster(&cluster, move |cluster| {
        let to = cluster.other_primary(slot);
        cluster.move_slot(slot, to);
    })
    .await;
    let event = timeout(Duration::from_secs(10), subscriber.next()).await;
    assert_eq!(event, Ok(SubscriberEvent::Gap));
    let call = Call {
        script: publish,
        keys: vec![channels[0].clone()],
        args: vec![Bytes::from_static(b"y")],
    };
    // Publish until a message is received again, however often the slot map changes meanwhile.
    let mut event = SubscriberEvent::Gap;
    while event == SubscriberEvent::Gap {
        link.run_idempotent(&call).await.expect("runs");
        event = timeout(Duration::from_secs(10), subscriber.next())
            .await
            .expect("received");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_server_is_not_accepted_as_a_cluster() {
    let server = windlass_testkit::redis::ServerOptions::new().tcp().start();
    let url = format!("redis-cluster://127.0.0.1:{}", server.port());
    let error = open(&url).await.expect_err("not a cluster");
    assert_eq!(error.kind(), ErrorKind::StoreUnsupported, "{error}");
    assert!(error.help().contains("redis://"));
}
