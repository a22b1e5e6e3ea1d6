//! A server whose replies never end costs an error and little memory, whichever command gets them.

use windlass_core::{Error, ErrorKind};

use super::fake_server::{Action, CHUNK, FakeServer};
use super::*;

/// The limit of a reply, and what the buffers of both sockets hold.
const SENT_MAX: u64 = 64 * 1024 * 1024;

fn assert_too_large(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::StoreUnsupported, "{error}");
    assert!(error.to_string().contains("larger than 32 MiB"), "{error}");
}

async fn opened(fake: &FakeServer) -> Link {
    let url = format!("{}?{LONG_TIMEOUT}", fake.url());
    open(&url).await.expect("opens")
}

#[tokio::test]
async fn a_script_with_an_endless_reply_fails_and_reads_little_of_it() {
    for start in ["$2000000000\r\n", "*2000000000\r\n$100000000\r\n", "+"] {
        let endless = Action::Endless(start, CHUNK, Duration::ZERO);
        let fake = FakeServer::start(vec![endless]);
        let link = opened(&fake).await;

        let error = link.run_idempotent(&call(count(), &["a"], &[])).await;

        assert_too_large(&error.expect_err(start));
        assert!(fake.sent() < SENT_MAX, "{start} {}", fake.sent());
    }
}

#[tokio::test]
async fn an_endless_reply_to_a_login_is_an_error() {
    let fake = FakeServer::endless_at("HELLO");
    let error = open(&format!("{}?{LONG_TIMEOUT}", fake.url())).await;
    assert_too_large(&error.expect_err("no complete reply"));
}

#[tokio::test]
async fn an_endless_reply_of_a_sentinel_or_of_a_cluster_node_is_an_error() {
    for (command, url) in [
        ("SENTINEL", "redis-sentinel://127.0.0.1:PORT/main/0"),
        ("CLUSTER", "redis-cluster://127.0.0.1:PORT"),
    ] {
        let fake = FakeServer::endless_at(command);
        let url = url.replace("PORT", &fake.port().to_string());
        let error = open(&format!("{url}?{LONG_TIMEOUT}")).await;
        assert_too_large(&error.expect_err(command));
    }
}

#[tokio::test]
async fn an_endless_reply_to_a_blocking_pop_or_a_subscription_is_an_error() {
    let fake = FakeServer::endless_at("BLPOP");
    let link = opened(&fake).await;
    let then = call(count(), &["a"], &[]);
    let waited = link.wait_then_run(WaitOn::Pop(b"a"), Duration::from_secs(1), &then);
    assert_too_large(&waited.await.expect_err("BLPOP"));

    let fake = FakeServer::endless_at("SSUBSCRIBE");
    let link = opened(&fake).await;
    let channels = vec![Bytes::from_static(b"a")];
    let subscribed = link.subscribe(ChannelKind::Sharded, channels).await;
    assert_too_large(&subscribed.expect_err("SSUBSCRIBE"));
}
