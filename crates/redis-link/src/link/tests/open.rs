//! Servers that are rejected when a link is opened, and settings that change later.

use windlass_core::ErrorKind;
use windlass_testkit::redis::{Fsync, Port, ServerOptions};

use super::*;
use crate::link::check;

async fn rejected(url: &str) -> windlass_core::Error {
    open(url).await.expect_err("the server is not supported")
}

#[tokio::test]
async fn a_server_that_evicts_keys_is_rejected() {
    let server = ServerOptions::new()
        .line("maxmemory-policy allkeys-lru")
        .start();
    let error = rejected(&server.url()).await;
    assert_eq!(error.kind(), ErrorKind::StoreUnsupported);
    assert!(error.to_string().contains("allkeys-lru"), "{error}");
    assert!(error.help().contains("noeviction"));
}

#[tokio::test]
async fn a_policy_that_changes_is_noticed() {
    let server = Server::start();
    let link = linked(&server, "").await;
    assert!(link.health().is_none());
    server.command(&["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"]);
    check::recheck(&link.inner).await;
    let error = link.health().expect("an error");
    assert_eq!(error.kind(), ErrorKind::StoreUnsupported);
    server.command(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    check::recheck(&link.inner).await;
    assert!(link.health().is_none());
}

#[tokio::test]
async fn a_server_that_hides_its_settings_is_checked_with_info() {
    let server = Server::start();
    for rule in ["-config", "-info"] {
        server.command(&[
            "ACL", "SETUSER", "joe", "on", ">pw", "~*", "&*", "+@all", rule,
        ]);
        let url = format!("{}?user=joe&password=pw", server.url());
        open(&url)
            .await
            .expect("unreadable settings are not an error");
    }
    server.command(&["ACL", "SETUSER", "joe", "+info"]);
    server.command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let error = rejected(&format!("{}?user=joe&password=pw", server.url())).await;
    assert_eq!(error.kind(), ErrorKind::StoreUnsupported);
}

#[tokio::test]
async fn a_wrong_password_is_reported_at_once_and_never_shown() {
    let server = ServerOptions::new().line("requirepass hunter2").start();
    for (login, message) in [
        ("&password=hunter3", "rejected the user or password"),
        (
            "&user=joe&password=hunter3",
            "rejected the user or password",
        ),
        ("", "requires a password"),
    ] {
        let started = std::time::Instant::now();
        let error = rejected(&format!("{}?{LONG_TIMEOUT}{login}", server.url())).await;
        assert!(started.elapsed() < IMMEDIATELY);
        assert_eq!(error.kind(), ErrorKind::StoreUnreachable);
        assert!(error.to_string().contains(message), "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter"));
    }
    open(&format!("{}?password=hunter2", server.url()))
        .await
        .expect("the right password");
}

#[tokio::test]
async fn a_refused_connection_is_reported_at_once() {
    let port = Port::reserve();
    for url in [
        format!("redis://127.0.0.1:{}", port.number()),
        "redis+unix:///nonexistent/redis.sock".to_owned(),
    ] {
        let started = std::time::Instant::now();
        let error = rejected(&format!("{url}?{LONG_TIMEOUT}")).await;
        assert!(started.elapsed() < IMMEDIATELY, "{url}");
        assert_eq!(error.kind(), ErrorKind::StoreUnreachable);
    }
    let error = rejected("redis://no-such-host.invalid?timeout=300ms").await;
    assert_eq!(error.kind(), ErrorKind::StoreUnreachable);
}

#[tokio::test]
async fn a_replica_and_a_missing_database_are_rejected() {
    let server = ServerOptions::new().tcp().start();
    let replica = ServerOptions::new()
        .line(format!("replicaof 127.0.0.1 {}", server.port()))
        .start();
    let error = rejected(&replica.url()).await;
    assert_eq!(error.kind(), ErrorKind::StoreReadOnly);
    let error = rejected(&format!("redis://127.0.0.1:{}/99", server.port())).await;
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let link = open(&format!("redis://127.0.0.1:{}/3", server.port()))
        .await
        .expect("database 3 exists");
    link.run(&call(count(), &["a"], &[])).await.expect("runs");
    assert_eq!(server.command(&["EXISTS", "a"]).integer(), 0);
}

#[tokio::test]
async fn a_node_of_a_cluster_is_not_accepted_as_a_single_server() {
    let node = ServerOptions::new().line("cluster-enabled yes").start();
    let error = rejected(&node.url()).await;
    assert_eq!(error.kind(), ErrorKind::StoreUnsupported);
    assert!(error.help().contains("redis-cluster://"));
}

#[tokio::test]
async fn synced_is_rejected_if_a_server_cannot_guarantee_it() {
    let memory = Server::start();
    let everysec = ServerOptions::new().append_only(Fsync::EverySecond).start();
    let no_sync_on_rewrite = ServerOptions::new()
        .append_only(Fsync::Always)
        .line("no-appendfsync-on-rewrite yes")
        .start();
    let has_waitaof = !memory
        .command(&["COMMAND", "INFO", "WAITAOF"])
        .array()
        .iter()
        .all(|reply| matches!(reply, windlass_testkit::redis::Reply::Nil));
    for (server, is_supported) in [
        (&memory, false),
        (&everysec, has_waitaof),
        (&no_sync_on_rewrite, has_waitaof),
    ] {
        let opened = open(&format!("{}?durability=synced", server.url())).await;
        match opened {
            Ok(link) => {
                assert!(is_supported);
                let (_, level) = run_durable(&link, &call(count(), &["a"], &[])).await;
                assert_eq!(level, DurabilityLevel::Synced);
            }
            Err(error) => {
                assert!(!is_supported, "{error}");
                assert_eq!(error.kind(), ErrorKind::StoreUnsupported);
            }
        }
    }
    let always = ServerOptions::new().append_only(Fsync::Always).start();
    linked(&always, "?durability=synced").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_is_dropped_leaves_no_connection_behind() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let one = call(count(), &["a"], &[]);
    link.run(&one).await.expect("runs");
    link.wait_then_run(WaitOn::Pop(b"wake"), Duration::ZERO, &one)
        .await
        .expect("runs");
    let subscriber = link
        .subscribe(ChannelKind::Sharded, vec![Bytes::from_static(b"c")])
        .await;
    drop((link, subscriber));
    with(&server, |server| {
        windlass_testkit::redis::until("no client is connected", || {
            let clients = server.command(&["CLIENT", "LIST"]).text();
            if clients.lines().count() == 1 {
                Ok(())
            } else {
                Err(clients)
            }
        });
    })
    .await;
}

#[tokio::test]
async fn server_facts_contain_no_secrets() {
    let server = ServerOptions::new()
        .line("requirepass hunter2")
        .max_memory(100_000_000)
        .start();
    let link = linked(&server, "?password=hunter2").await;
    let info = link.info().await.expect("returned");
    assert!(!format!("{info:?} {link:?}").contains("hunter2"));
    let [info] = info.try_into().expect("one server");
    assert!(info.version.expect("a version").contains('.'));
    assert_eq!(info.role.as_deref(), Some("master"));
    assert_eq!(info.policy.as_deref(), Some("noeviction"));
    assert!(info.used_memory.expect("some memory") > 0);
    assert_eq!(info.max_memory, Some(100_000_000));
    assert_eq!(info.is_append_only, Some(false));
    assert_eq!(info.fsync.as_deref(), Some("everysec"));
    assert_eq!(info.replicas, Some(0));
    assert!(info.error.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_goes_on_without_its_replicas_is_logged() {
    let server = Arc::new(Server::start());
    let guard = |count: &'static str| {
        with(&server, move |server| {
            server.command(&["CONFIG", "SET", "min-replicas-to-write", count])
        })
    };
    let logged = async |options: &str| {
        let link = linked(&server, options).await;
        link.inner.health.log_unguarded()
    };
    assert!(logged("").await.is_empty());
    guard("1").await;
    assert!(logged("?durability=replicated:1").await.is_empty());
    // Once per process and server.
    assert_eq!(logged("?durability=replicated:2").await.len(), 1);
    assert!(logged("?durability=replicated:2").await.is_empty());
}
