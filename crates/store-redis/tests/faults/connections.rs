//! Ways to connect: Unix socket, TCP, TLS, an ACL user with minimal permissions, separate prefixes.

use std::sync::Arc;

use windlass_core::{
    ClaimRequest, Clock, ErrorKind, JobLease, ManualClock, NewJob, Store, SystemClock, Timestamp,
};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::{Port, Server, ServerOptions};

use crate::contents;
use crate::fixture::Fixture;
use crate::support::{open, queue, with_options};
use crate::verbs;

/// The operator documentation, whose ACL rule is tested literally.
const PAGE: &str = include_str!("../../../../docs/redis.md");

/// Returns the documented lines.
fn documented_rules() -> impl Iterator<Item = &'static str> {
    PAGE.lines()
        .filter(|line| line.starts_with("ACL SETUSER windlass"))
}

/// A server with a TLS port and an unencrypted socket.
fn encrypted() -> (Server, Port) {
    let file = |name: &str| {
        format!(
            "{}/../redis-link/tests/tls/{name}",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    let port = Port::reserve();
    let server = ServerOptions::new()
        .line("bind 127.0.0.1")
        .line(format!("tls-port {}", port.number()))
        .line(format!("tls-cert-file {}", file("server.pem")))
        .line(format!("tls-key-file {}", file("server.key")))
        .line(format!("tls-ca-cert-file {}", file("ca.pem")))
        .line("tls-auth-clients no")
        .start();
    (server, port)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_works_over_a_socket_tcp_and_tls() {
    let socket = Server::start();
    every_verb(&socket.url()).await;
    let tcp = ServerOptions::new().tcp().start();
    every_verb(&tcp.url()).await;
    let (_server, port) = encrypted();
    let ca = format!(
        "{}/../redis-link/tests/tls/ca.pem",
        env!("CARGO_MANIFEST_DIR")
    );
    every_verb(&format!("rediss://127.0.0.1:{}/0?ca={ca}", port.number())).await;
}

/// Every operation works with the documented permissions, and the server logs no denial.
#[tokio::test(flavor = "multi_thread")]
async fn every_operation_works_for_a_user_with_minimal_permissions() {
    let server = ServerOptions::new().tcp().start();
    for rule in documented_rules() {
        server
            .command(&rule.split_whitespace().collect::<Vec<_>>())
            .ok();
    }
    let url = server.url().replace("redis://", "redis://windlass:SECRET@");

    every_verb(&url).await;

    let refused = server.command(&["ACL", "LOG"]);
    assert_eq!(refused.array(), [], "{refused:?}");
    // It has no other permissions: another prefix is denied.
    let error = RedisStore::open(&with_options(&url, "prefix=other"), Options::default()).await;
    let error = error.expect_err("the prefix is denied");
    assert_eq!(error.kind(), ErrorKind::StoreReadOnly, "{error}");
    assert!(!format!("{error} {}", error.help()).contains("SECRET"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_reported_and_not_shown() {
    let server = ServerOptions::new().tcp().line("requirepass right").start();
    let url = server.url().replace("redis://", "redis://:wrong@");
    let error = RedisStore::open(&url, Options::default())
        .await
        .expect_err("wrong");
    assert_eq!(error.kind(), ErrorKind::StoreUnreachable);
    assert!(!format!("{error} {} {error:?}", error.help()).contains("wrong@"));
    let url = server.url().replace("redis://", "redis://:right@");
    open(&url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_prefixes_on_one_server_do_not_see_each_other() {
    let server = Server::start();
    let (one, two) = (
        open(&with_options(&server.url(), "prefix=one")).await,
        open(&with_options(&server.url(), "prefix=two")).await,
    );
    let q = queue("q");
    one.enqueue(&q, vec![NewJob::new("mine")]).await.unwrap();
    assert_eq!(two.queues().await.unwrap(), []);
    assert_eq!(two.stats(&q).await.unwrap(), None);
    assert_eq!(two.claim(&q, ClaimRequest::single(1)).await.unwrap(), None);
    two.enqueue(&q, vec![NewJob::new("yours"), NewJob::new("yours")])
        .await
        .unwrap();
    let claim = one
        .claim(&q, ClaimRequest::single(9))
        .await
        .unwrap()
        .expect("mine");
    assert_eq!(claim.jobs.len(), 1);
    assert_eq!(claim.jobs[0].payload.as_ref(), b"mine");
    // A token of one store is unknown to the other.
    let lease = JobLease::new(claim.jobs[0].id.clone(), claim.token);
    let reply = two
        .complete(&q, vec![lease.completion()], None)
        .await
        .unwrap();
    assert_eq!(reply.statuses[0].as_str(), "gone");
    let contents = contents::read(&mut server.connect().unwrap());
    let outside = contents
        .keys()
        .filter(|key| !key.starts_with("one:{") && !key.starts_with("two:{"));
    assert_eq!(outside.count(), 0, "{contents:?}");
}

/// Calls every operation on a queue with jobs in every state.
async fn every_verb(url: &str) {
    let clock = Arc::new(ManualClock::new(Timestamp::from_ms(
        SystemClock.now_us() / 1000,
    )));
    let options = Options {
        clock: Some(clock.clone()),
        ..Options::default()
    };
    let store = RedisStore::open(url, options).await.unwrap();
    let fixture = Fixture::build(&store, &clock).await;
    for verb in verbs::all() {
        let outcome = verb.call(&store, &fixture).await;
        outcome.unwrap_or_else(|error| panic!("{}: {error}", verb.name));
    }
    // With the server's clock, other scripts are used.
    let store = open(url).await;
    let q = queue("server-clock");
    store.enqueue(&q, vec![NewJob::new("a job")]).await.unwrap();
    let claim = store.claim(&q, ClaimRequest::single(1)).await.unwrap();
    assert_eq!(claim.expect("a job waits").jobs.len(), 1);
}
