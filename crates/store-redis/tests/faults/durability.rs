//! The level that an enqueue names is the one its job has reached, whatever becomes of replicas.

use std::time::Duration;

use tokio::time::sleep;
use windlass_core::{DurabilityLevel, Enqueued, JobId, NewJob, QueueName, Store};
use windlass_store_redis::RedisStore;
use windlass_testkit::redis::{Fsync, Server, ServerOptions, until};

use crate::support::{Hand, open, queue, replicated, rounds, with, with_options};

/// Replicas have half of the time to confirm: more than a busy machine stands still.
const BOTH: &str = "durability=replicated:2&timeout=10s";

#[tokio::test(flavor = "multi_thread")]
async fn the_level_told_is_the_level_reached() {
    let (primary, replicas) = replicated(2).await;
    let store = open(&with_options(&primary.url(), BOTH)).await;
    let q = queue("q");
    assert_eq!(
        enqueue(&store, &q, "whole").await.level(),
        DurabilityLevel::Replicated(2)
    );

    with(&replicas[0], Server::stop).await;
    assert_eq!(
        enqueue(&store, &q, "one").await.level(),
        DurabilityLevel::Replicated(1)
    );
    with(&replicas[1], Server::stop).await;
    assert_eq!(
        enqueue(&store, &q, "none").await.level(),
        DurabilityLevel::Memory
    );
    // The job was there first, and nobody but the primary has it yet: said again, it is no safer.
    // Another process has written nothing that it could wait for: it must not be told otherwise.
    let stranger = open(&with_options(&primary.url(), BOTH)).await;
    let again = tokio::join!(enqueue(&store, &q, "none"), enqueue(&stranger, &q, "none"));
    for again in [again.0, again.1] {
        assert!(again.is_duplicate());
        assert_eq!(again.level(), DurabilityLevel::Memory);
    }

    with(&replicas[0], Server::resume).await;
    assert_eq!(
        enqueue(&store, &q, "none").await.level(),
        DurabilityLevel::Replicated(1)
    );
    with(&replicas[1], Server::resume).await;
    for id in ["none", "one", "whole"] {
        let again = enqueue(&store, &q, id).await;
        assert!(again.is_duplicate());
        assert_eq!(again.level(), DurabilityLevel::Replicated(2), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_went_its_own_way_does_not_count() {
    let (primary, replicas) = replicated(2).await;
    let store = open(&with_options(&primary.url(), BOTH)).await;
    let q = queue("q");
    enqueue(&store, &q, "first").await;

    for (replica, level) in replicas
        .iter()
        .zip([DurabilityLevel::Replicated(1), DurabilityLevel::Memory])
    {
        with(replica, |replica| {
            replica.command(&["REPLICAOF", "NO", "ONE"]).ok()
        })
        .await;
        let id = format!("{level:?}");
        assert_eq!(enqueue(&store, &q, &id).await.level(), level);
    }
    let port = primary.port().to_string();
    for replica in &replicas {
        let port = port.clone();
        with(replica, move |replica| {
            replica.command(&["REPLICAOF", "127.0.0.1", &port]).ok()
        })
        .await;
    }
    crate::support::eventually("a repeated enqueue reaches the level", async || {
        let again = enqueue(&store, &q, "Memory").await;
        assert!(again.is_duplicate());
        (again.level() == DurabilityLevel::Replicated(2))
            .then_some(())
            .ok_or_else(|| format!("{again:?}"))
    })
    .await;
}

/// While links break and heal, whatever level is told is true at that very moment.
#[tokio::test(flavor = "multi_thread")]
async fn no_level_is_told_that_was_not_reached_while_links_are_cut() {
    let (primary, replicas) = replicated(2).await;
    let store = open(&with_options(&primary.url(), BOTH)).await;
    let q = queue("q");
    let hand = Hand::start(&primary, 5..120, &[&["CLIENT", "KILL", "TYPE", "replica"]]);
    let mut seen = [0; 3];
    for n in 0..60 * rounds() {
        let id = n.to_string();
        let told = enqueue(&store, &q, &id).await;
        let mut holding = 0;
        for replica in &replicas {
            let id = id.clone();
            let has = with(replica, move |replica| has_job(replica, &id)).await;
            holding += usize::from(has);
        }
        let told = match told.level() {
            DurabilityLevel::Replicated(count) => count as usize,
            _ => 0,
        };
        seen[told] += 1;
        assert!(told <= holding, "{id}: told {told}, {holding} have it");
        sleep(Duration::from_millis(fastrand::u64(..10))).await;
    }
    drop(hand);
    println!(
        "levels told: memory {}, one {}, two {}",
        seen[0], seen[1], seen[2]
    );
}

fn has_job(replica: &Server, id: &str) -> bool {
    // A replica that loads a whole copy has nothing for a moment, and nobody counted it then.
    until("the replica answers", || {
        let reply = replica.ask(&["HEXISTS", "windlass:{q}:jobs", id])?;
        Ok(reply.integer() == 1)
    })
}

async fn enqueue(store: &RedisStore, q: &QueueName, id: &str) -> Enqueued {
    let job = NewJob::new("a job").id(JobId::new(id).unwrap());
    store.enqueue(q, vec![job]).await.unwrap().remove(0)
}

/// What a server was found to do about its disk is asked for again behind every write.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_told_as_synced_by_a_server_that_does_not_sync_any_more() {
    let server = ServerOptions::new().append_only(Fsync::Always).start();
    let store = open(&with_options(&server.url(), "durability=synced")).await;
    let q = queue("q");
    assert_eq!(
        enqueue(&store, &q, "at first").await.level(),
        DurabilityLevel::Synced
    );

    let sync = |word: &str| server.command(&["CONFIG", "SET", "appendfsync", word]).ok();
    sync("everysec");
    assert_eq!(
        enqueue(&store, &q, "later").await.level(),
        DurabilityLevel::Memory
    );
    sync("always");
    let again = enqueue(&store, &q, "later").await;
    assert!(again.is_duplicate());
    assert_eq!(again.level(), DurabilityLevel::Synced);

    // It comes back without its file.
    let config = server.folder().join("server.conf");
    let lines = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{lines}appendonly no\n")).unwrap();
    server.restart();
    assert_eq!(
        enqueue(&store, &q, "at last").await.level(),
        DurabilityLevel::Memory
    );
}
