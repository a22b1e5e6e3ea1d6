//! Failovers by sentinels.

use tokio::time::timeout;
use windlass_core::ErrorKind;
use windlass_testkit::redis::Sentinels;

use super::*;
use crate::link::SubscriberEvent;

async fn started() -> Arc<Sentinels> {
    Arc::new(blocking(Sentinels::start).await)
}

async fn with_sentinels<T: Send + 'static>(
    sentinels: &Arc<Sentinels>,
    work: impl FnOnce(&Sentinels) -> T + Send + 'static,
) -> T {
    let sentinels = Arc::clone(sentinels);
    blocking(move || work(&sentinels)).await
}

/// Returns the port of the server that receives the link's calls.
async fn port_reached(link: &Link) -> u16 {
    let mut config = redis::cmd("CONFIG");
    config.arg("GET").arg("port");
    let value = link.ask(b"a", &config).await.expect("replies");
    let found: std::collections::HashMap<String, u16> =
        redis::from_redis_value(value).expect("a map");
    found["port"]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_primary_is_found_and_followed_when_it_is_replaced() {
    let sentinels = started().await;
    let link = open(&format!("{}?timeout=30s", sentinels.url()))
        .await
        .expect("opens");
    let first = with_sentinels(&sentinels, |all| all.primary().port()).await;
    assert_eq!(port_reached(&link).await, first);
    let channel = Bytes::from_static(b"{q}:hints");
    let mut subscriber = link
        .subscribe(ChannelKind::Sharded, vec![channel.clone()])
        .await
        .expect("subscribes");
    let call = call(count(), &["a"], &[]);
    let is_over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let load = tokio::spawn({
        let (link, is_over, call) = (link.clone(), Arc::clone(&is_over), call.clone());
        async move {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                link.run_idempotent(&call)
                    .await
                    .expect("no error reaches the caller");
            }
        }
    });
    let second = with_sentinels(&sentinels, |all| {
        let old = all.fail_over();
        all.wait_for_new_primary(old).port()
    })
    .await;
    link.run_idempotent(&call).await.expect("runs");
    assert_ne!(first, second);
    assert_eq!(port_reached(&link).await, second);
    let event = timeout(Duration::from_secs(30), subscriber.next()).await;
    assert_eq!(event, Ok(SubscriberEvent::Gap));
    let publish = script("return redis.call('SPUBLISH', KEYS[1], 'x')");
    let mut event = SubscriberEvent::Gap;
    while event == SubscriberEvent::Gap {
        let call = super::call(publish, &["{q}:hints"], &[]);
        link.run_idempotent(&call).await.expect("runs");
        event = timeout(Duration::from_secs(10), subscriber.next())
            .await
            .expect("received");
    }
    is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    load.await.expect("no panic");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_is_killed_or_hangs_is_replaced() {
    let sentinels = started().await;
    let link = open(&format!("{}?timeout=100s", sentinels.url()))
        .await
        .expect("opens");
    let call = call(count(), &["a"], &[]);
    for is_killed in [true, false] {
        link.run_idempotent(&call).await.expect("runs");
        let old = with_sentinels(&sentinels, move |all| {
            let old = all.primary();
            all.shorten_timeout();
            if is_killed {
                old.kill();
            } else {
                old.stop();
            }
            old.port()
        })
        .await;
        // The call hangs on the dead connection until a sentinel reports the new primary.
        let started = tokio::time::Instant::now();
        link.run_idempotent(&call)
            .await
            .expect("runs on the new primary");
        assert!(
            started.elapsed() < Duration::from_secs(45),
            "it did not wait for its own attempt timeout, which is half of its timeout"
        );
        assert_ne!(port_reached(&link).await, old);
        with_sentinels(&sentinels, move |all| {
            let old = all.servers().iter().find(|server| server.port() == old);
            let old = old.expect("a server of the group");
            all.wait_for_new_primary(old);
            if is_killed {
                old.restart();
            } else {
                old.resume();
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_sentinels_are_skipped_and_unknown_names_are_rejected() {
    let sentinels = started().await;
    with_sentinels(&sentinels, |all| all.sentinels()[0].kill()).await;
    let link = open(&sentinels.url()).await.expect("two are enough");
    link.run(&call(count(), &["a"], &[])).await.expect("runs");
    let hosts = format!("127.0.0.1:{}", sentinels.sentinels()[1].port());
    let error = open(&format!("redis-sentinel://{hosts}/nobody"))
        .await
        .expect_err("unknown name");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    // A sentinel does not store jobs.
    let error = open(&format!("redis://{hosts}"))
        .await
        .expect_err("stores no jobs");
    assert_eq!(error.kind(), ErrorKind::StoreUnsupported, "{error}");
}
