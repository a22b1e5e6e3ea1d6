//! The durability level that an enqueue reports is the one its job has reached, whatever happens to
//! the replicas.

use std::time::{Duration, Instant};

use tokio::time::sleep;
use windlass_core::store::DurabilityLevel;
use windlass_core::{Enqueued, JobId, NewJob, QueueName, Store};
use windlass_store_redis::RedisStore;
use windlass_testkit::redis::{Fsync, Server, ServerOptions, until};

use crate::support::{
    RepeatedCommand, counted, open, queue, replicated, rounds, with, with_options,
};

/// Replicas have half of the timeout to confirm: longer than a busy machine stalls.
const BOTH: &str = "durability=replicated:2&timeout=10s";

#[tokio::test(flavor = "multi_thread")]
async fn the_level_reported_is_the_level_reached() {
    let (primary, replicas) = replicated(2).await;
    let store = open(&with_options(&primary.url(), BOTH)).await;
    let q = queue("q");
    assert_eq!(
        enqueue(&store, &q, "two").await.level(),
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
    // The job exists, but only the primary has it: a repeated enqueue reports no higher level. Neither
    // does another process, whose connection has no write to wait for.
    let other = open(&with_options(&primary.url(), BOTH)).await;
    let again = tokio::join!(enqueue(&store, &q, "none"), enqueue(&other, &q, "none"));
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
    for id in ["none", "one", "two"] {
        let again = enqueue(&store, &q, id).await;
        assert!(again.is_duplicate());
        assert_eq!(again.level(), DurabilityLevel::Replicated(2), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_left_does_not_count() {
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

/// The pages of a batch share one wait, so that a replica that hangs does not multiply it.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_waits_for_replicas_once() {
    let (primary, replicas) = replicated(1).await;
    let url = with_options(&primary.url(), "durability=replicated:1&timeout=10s");
    let store = open(&url).await;
    let q = queue("q");
    // So that the server knows the script.
    for _ in 0..2 {
        let first = store.enqueue(&q, vec![NewJob::new("first")]).await;
        first.unwrap();
    }
    with(&replicas[0], Server::stop).await;
    let waits = || counted(&primary, "commandstats", "cmdstat_wait");
    let before = waits();

    let started = Instant::now();
    let jobs = (0..2_000).map(|_| NewJob::new("a job")).collect();
    let replies = store.enqueue(&q, jobs).await.unwrap();

    println!("2000 jobs took {:?}", started.elapsed());
    assert_eq!(waits() - before, 1);
    assert_eq!(replies.len(), 2_000);
    for reply in replies {
        assert!(!reply.is_duplicate());
        assert_eq!(reply.level(), DurabilityLevel::Memory);
    }
    with(&replicas[0], Server::resume).await;
}

/// While replication links break and recover, every reported level is true when it is reported.
#[tokio::test(flavor = "multi_thread")]
async fn no_level_is_reported_that_was_not_reached_while_links_are_cut() {
    let (primary, replicas) = replicated(2).await;
    let store = open(&with_options(&primary.url(), BOTH)).await;
    let q = queue("q");
    let cutting =
        RepeatedCommand::start(&primary, 5..120, &[&["CLIENT", "KILL", "TYPE", "replica"]]);
    let mut seen = [0; 3];
    for n in 0..60 * rounds() {
        let id = n.to_string();
        let reply = enqueue(&store, &q, &id).await;
        let mut holding = 0;
        for replica in &replicas {
            let id = id.clone();
            let has = with(replica, move |replica| has_job(replica, &id)).await;
            holding += usize::from(has);
        }
        let reported = match reply.level() {
            DurabilityLevel::Replicated(count) => count as usize,
            _ => 0,
        };
        seen[reported] += 1;
        assert!(
            reported <= holding,
            "{id}: reported {reported}, {holding} have it"
        );
        sleep(Duration::from_millis(fastrand::u64(..10))).await;
    }
    drop(cutting);
    println!(
        "levels reported: memory {}, one {}, two {}",
        seen[0], seen[1], seen[2]
    );
}

fn has_job(replica: &Server, id: &str) -> bool {
    // A replica that is loading a full copy has no data for a moment, and did not count then.
    until("the replica replies", || {
        let reply = replica.ask(&["HEXISTS", "windlass:{q}:jobs", id])?;
        Ok(reply.integer() == 1)
    })
}

async fn enqueue(store: &RedisStore, q: &QueueName, id: &str) -> Enqueued {
    let job = NewJob::new("a job").id(JobId::new(id).unwrap());
    store.enqueue(q, vec![job]).await.unwrap().remove(0)
}

/// The server's sync settings are read again after every write.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_reported_as_synced_by_a_server_that_no_longer_syncs() {
    let server = ServerOptions::new().append_only(Fsync::Always).start();
    let store = open(&with_options(&server.url(), "durability=synced")).await;
    let q = queue("q");
    assert_eq!(
        enqueue(&store, &q, "at first").await.level(),
        DurabilityLevel::Synced
    );

    let sync = |policy: &str| {
        server
            .command(&["CONFIG", "SET", "appendfsync", policy])
            .ok()
    };
    sync("everysec");
    assert_eq!(
        enqueue(&store, &q, "later").await.level(),
        DurabilityLevel::Memory
    );
    sync("always");
    let again = enqueue(&store, &q, "later").await;
    assert!(again.is_duplicate());
    assert_eq!(again.level(), DurabilityLevel::Synced);

    // It restarts without an append-only file.
    let config = server.folder().join("server.conf");
    let lines = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{lines}appendonly no\n")).unwrap();
    server.restart();
    assert_eq!(
        enqueue(&store, &q, "at last").await.level(),
        DurabilityLevel::Memory
    );
}
