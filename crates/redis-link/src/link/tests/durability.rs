//! Writes that wait for replicas or the disk.

use tokio::time::Instant;
use windlass_testkit::redis::{Fsync, ServerOptions, until};

use super::blocking_pop::until_blocked;
use super::*;

/// A write waits for half of this and must be answered within another quarter: longer than a busy
/// machine stalls.
const LONG_WAIT: &str = "timeout=12s";

fn replica_of(server: &Server) -> Server {
    ServerOptions::new()
        .line(format!("replicaof 127.0.0.1 {}", server.port()))
        .line("repl-diskless-sync-delay 0")
        .start()
}

/// Waits until this many replicas confirm a write.
fn until_replicas(server: &Server, count: i64) {
    until("replicas confirm writes", || {
        let mut conn = server.connect().map_err(|error| error.to_string())?;
        let mut send = |command: &[&str]| conn.command(command).map_err(|error| error.to_string());
        send(&["SET", "probe", "x"])?;
        let confirmed = send(&["WAIT", &count.to_string(), "5000"])?.integer();
        if confirmed == count {
            Ok(())
        } else {
            Err(confirmed.to_string())
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_level_reached_is_returned() {
    let server = Arc::new(ServerOptions::new().tcp().start());
    let call = call(count(), &["a"], &[]);
    let plain = linked(&server, "").await;
    let (_, level) = run_durable(&plain, &call).await;
    assert_eq!(level, DurabilityLevel::Memory);
    let link = linked(&server, &format!("?durability=replicated:2&{LONG_WAIT}")).await;
    let started = Instant::now();
    let (value, level) = run_durable(&link, &call).await;
    assert_eq!((number(&value), level), (2, DurabilityLevel::Memory));
    assert!(started.elapsed() >= Duration::from_secs(1), "it waited");
    assert!(started.elapsed() < IMMEDIATELY);
    let replica = with(&server, |server| {
        let replica = replica_of(server);
        until_replicas(server, 1);
        replica
    })
    .await;
    let (value, level) = run_durable(&link, &call).await;
    assert_eq!((number(&value), level), (3, DurabilityLevel::Replicated(1)));
    let second = with(&server, |server| {
        let replica = replica_of(server);
        until_replicas(server, 2);
        replica
    })
    .await;
    with(&server, |server| server.command(&["SCRIPT", "FLUSH"])).await;
    let (value, level) = run_durable(&link, &call).await;
    assert_eq!((number(&value), level), (4, DurabilityLevel::Replicated(2)));
    for replica in [&replica, &second] {
        assert_eq!(replica.command(&["GET", "a"]).text(), "4");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_hangs_is_not_counted() {
    let server = Arc::new(ServerOptions::new().tcp().start());
    let replica = Arc::new(
        with(&server, |server| {
            let replica = replica_of(server);
            until_replicas(server, 1);
            replica
        })
        .await,
    );
    let link = linked(&server, &format!("?durability=replicated:1&{LONG_WAIT}")).await;
    let call = call(count(), &["a"], &[]);
    let (_, level) = run_durable(&link, &call).await;
    assert_eq!(level, DurabilityLevel::Replicated(1));
    with(&replica, Server::stop).await;
    let (_, level) = run_durable(&link, &call).await;
    assert_eq!(level, DurabilityLevel::Memory);
    // Other calls are not delayed.
    let mut get = redis::cmd("GET");
    get.arg("a");
    let durable = tokio::spawn({
        let (link, call) = (link.clone(), call.clone());
        async move { run_durable(&link, &call).await }
    });
    until_blocked(&server, 1).await;
    let started = Instant::now();
    link.ask(b"a", &get).await.expect("replies");
    // Behind the write on the same connection it would wait as long: 6 s.
    let elapsed = started.elapsed();
    assert!(elapsed < Duration::from_secs(4), "{elapsed:?}");
    let (_, level) = durable.await.expect("no panic");
    assert_eq!(level, DurabilityLevel::Memory);
    with(&replica, Server::resume).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_synced_write_survives_a_crash() {
    let server = Arc::new(ServerOptions::new().append_only(Fsync::Always).start());
    let link = linked(&server, "?durability=synced").await;
    let call = call(count(), &["a"], &[]);
    let (value, level) = run_durable(&link, &call).await;
    assert_eq!((number(&value), level), (1, DurabilityLevel::Synced));
    with(&server, |server| {
        server.kill();
        server.restart();
    })
    .await;
    let (value, level) = run_durable(&link, &call).await;
    assert_eq!((number(&value), level), (2, DurabilityLevel::Synced));
}

#[tokio::test]
async fn a_level_that_is_no_longer_guaranteed_is_not_reported() {
    let server = ServerOptions::new().append_only(Fsync::Always).start();
    let link = linked(&server, "?durability=synced").await;
    server.command(&["CONFIG", "SET", "appendonly", "no"]);
    crate::link::check::recheck(&link.inner).await;
    assert!(link.health().is_some());
    let call = call(count(), &["a"], &[]);
    let (_, level) = run_durable(&link, &call).await;
    assert_eq!(level, DurabilityLevel::Memory);
}
