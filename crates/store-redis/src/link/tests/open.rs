//! What is refused when a link is opened, and what is noticed later.

use windlass_core::ErrorKind;
use windlass_testkit::redis::{Fsync, Port, ServerOptions};

use super::*;
use crate::link::check;

async fn refused(url: &str) -> windlass_core::Error {
    open(url).await.expect_err("the server is not fit")
}

#[tokio::test]
async fn a_server_that_throws_keys_away_is_refused() {
    let server = ServerOptions::new()
        .line("maxmemory-policy allkeys-lru")
        .start();
    let error = refused(&server.url()).await;
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
    check::now(&link.inner).await;
    let trouble = link.health().expect("trouble");
    assert_eq!(trouble.kind(), ErrorKind::StoreUnsupported);
    server.command(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    check::now(&link.inner).await;
    assert!(link.health().is_none());
}

#[tokio::test]
async fn a_server_that_hides_its_settings_is_asked_otherwise() {
    let server = Server::start();
    for word in ["-config", "-info"] {
        server.command(&[
            "ACL", "SETUSER", "joe", "on", ">pw", "~*", "&*", "+@all", word,
        ]);
        let url = format!("{}?user=joe&password=pw", server.url());
        open(&url).await.expect("unreadable is no fault");
    }
    server.command(&["ACL", "SETUSER", "joe", "+info"]);
    server.command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let error = refused(&format!("{}?user=joe&password=pw", server.url())).await;
    assert_eq!(error.kind(), ErrorKind::StoreUnsupported);
}

#[tokio::test]
async fn a_wrong_password_is_told_at_once_and_never_repeated() {
    let server = ServerOptions::new().line("requirepass hunter2").start();
    for (login, said) in [
        ("&password=hunter3", "does not accept"),
        ("&user=joe&password=hunter3", "does not accept"),
        ("", "asks for a password"),
    ] {
        let started = std::time::Instant::now();
        let error = refused(&format!("{}?{FOR_EVER}{login}", server.url())).await;
        assert!(started.elapsed() < AT_ONCE);
        assert_eq!(error.kind(), ErrorKind::StoreUnreachable);
        assert!(error.to_string().contains(said), "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter"));
    }
    open(&format!("{}?password=hunter2", server.url()))
        .await
        .expect("the right password");
}

#[tokio::test]
async fn nobody_there_is_told_at_once() {
    let port = Port::reserve();
    for url in [
        format!("redis://127.0.0.1:{}", port.number()),
        "redis+unix:///nonexistent/redis.sock".to_owned(),
    ] {
        let started = std::time::Instant::now();
        let error = refused(&format!("{url}?{FOR_EVER}")).await;
        assert!(started.elapsed() < AT_ONCE, "{url}");
        assert_eq!(error.kind(), ErrorKind::StoreUnreachable);
    }
    let error = refused("redis://no-such-host.invalid?timeout=300ms").await;
    assert_eq!(error.kind(), ErrorKind::StoreUnreachable);
}

#[tokio::test]
async fn a_replica_and_a_database_that_is_not_there_are_refused() {
    let server = ServerOptions::new().tcp().start();
    let replica = ServerOptions::new()
        .line(format!("replicaof 127.0.0.1 {}", server.port()))
        .start();
    let error = refused(&replica.url()).await;
    assert_eq!(error.kind(), ErrorKind::StoreReadOnly);
    let error = refused(&format!("redis://127.0.0.1:{}/99", server.port())).await;
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let link = open(&format!("redis://127.0.0.1:{}/3", server.port()))
        .await
        .expect("database 3 is there");
    link.run(&call(count(), &["a"], &[])).await.expect("runs");
    assert_eq!(server.command(&["EXISTS", "a"]).integer(), 0);
}

#[tokio::test]
async fn a_node_of_a_cluster_is_not_taken_for_a_single_server() {
    let node = ServerOptions::new().line("cluster-enabled yes").start();
    let error = refused(&node.url()).await;
    assert_eq!(error.kind(), ErrorKind::StoreUnsupported);
    assert!(error.help().contains("redis-cluster://"));
}

#[tokio::test]
async fn synced_is_refused_where_a_server_cannot_promise_it() {
    let memory = Server::start();
    let everysec = ServerOptions::new().append_only(Fsync::EverySecond).start();
    let sloppy = ServerOptions::new()
        .append_only(Fsync::Always)
        .line("no-appendfsync-on-rewrite yes")
        .start();
    let has_waitaof = !memory
        .command(&["COMMAND", "INFO", "WAITAOF"])
        .array()
        .iter()
        .all(|reply| matches!(reply, windlass_testkit::redis::Reply::Nil));
    for (server, is_fit) in [
        (&memory, false),
        (&everysec, has_waitaof),
        (&sloppy, has_waitaof),
    ] {
        let opened = open(&format!("{}?durability=synced", server.url())).await;
        match opened {
            Ok(_) => assert!(is_fit),
            Err(error) => {
                assert!(!is_fit, "{error}");
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
    link.park(Awaited::Marker(b"wake"), Duration::ZERO, &one)
        .await
        .expect("runs");
    let listener = link
        .listen(Channels::Sharded, vec![Bytes::from_static(b"c")])
        .await;
    drop((link, listener));
    with(&server, |server| {
        windlass_testkit::redis::until("nobody is connected", || {
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
async fn servers_tell_of_themselves_without_secrets() {
    let server = ServerOptions::new()
        .line("requirepass hunter2")
        .max_memory(100_000_000)
        .start();
    let link = linked(&server, "?password=hunter2").await;
    let facts = link.facts().await.expect("told");
    assert!(!format!("{facts:?} {link:?}").contains("hunter2"));
    let [facts] = facts.try_into().expect("one server");
    assert!(facts.version.expect("a version").contains('.'));
    assert_eq!(facts.role.as_deref(), Some("master"));
    assert_eq!(facts.policy.as_deref(), Some("noeviction"));
    assert!(facts.used_memory.expect("some memory") > 0);
    assert_eq!(facts.max_memory, Some(100_000_000));
    assert_eq!(facts.is_append_only, Some(false));
    assert_eq!(facts.fsync.as_deref(), Some("everysec"));
    assert_eq!(facts.replicas, Some(0));
    assert!(facts.error.is_none());
}
