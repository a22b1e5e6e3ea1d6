//! Sentinels that make another server primary.

use tokio::time::timeout;
use windlass_core::ErrorKind;
use windlass_testkit::redis::Sentinels;

use super::*;
use crate::link::Heard;

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

/// The port of the server that a link's calls reach.
async fn port_reached(link: &Link) -> u16 {
    let mut config = redis::cmd("CONFIG");
    config.arg("GET").arg("port");
    let value = link.ask(b"a", &config).await.expect("answers");
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
    let mut listener = link
        .listen(Channels::Sharded, vec![channel.clone()])
        .await
        .expect("listens");
    let call = call(count(), &["a"], &[]);
    let is_over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let load = tokio::spawn({
        let (link, is_over, call) = (link.clone(), Arc::clone(&is_over), call.clone());
        async move {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                link.run_repeating(&call).await.expect("no error is seen");
            }
        }
    });
    let second = with_sentinels(&sentinels, |all| {
        let old = all.fail_over();
        all.wait_for_new_primary(old).port()
    })
    .await;
    link.run_repeating(&call).await.expect("runs");
    assert_ne!(first, second);
    assert_eq!(port_reached(&link).await, second);
    let heard = timeout(Duration::from_secs(30), listener.next()).await;
    assert_eq!(heard, Ok(Heard::Gap));
    let say = script("say", "return redis.call('SPUBLISH', KEYS[1], 'x')");
    let mut heard = Heard::Gap;
    while heard == Heard::Gap {
        let call = super::call(say, &["{q}:hints"], &[]);
        link.run_repeating(&call).await.expect("runs");
        heard = timeout(Duration::from_secs(10), listener.next())
            .await
            .expect("heard");
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
        link.run_repeating(&call).await.expect("runs");
        let old = with_sentinels(&sentinels, move |all| {
            let old = all.primary();
            all.lose_patience();
            if is_killed {
                old.kill();
            } else {
                old.stop();
            }
            old.port()
        })
        .await;
        // The call hangs on the dead line until a sentinel says who is primary now.
        let started = tokio::time::Instant::now();
        link.run_repeating(&call)
            .await
            .expect("runs at the new one");
        assert!(
            started.elapsed() < Duration::from_secs(45),
            "not by its own patience, which is half the time it has"
        );
        assert_ne!(port_reached(&link).await, old);
        with_sentinels(&sentinels, move |all| {
            let old = all.servers().iter().find(|server| server.port() == old);
            let old = old.expect("one of them");
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
async fn dead_sentinels_are_passed_over_and_wrong_names_are_told() {
    let sentinels = started().await;
    with_sentinels(&sentinels, |all| all.sentinels()[0].kill()).await;
    let link = open(&sentinels.url()).await.expect("two are enough");
    link.run(&call(count(), &["a"], &[])).await.expect("runs");
    let hosts = format!("127.0.0.1:{}", sentinels.sentinels()[1].port());
    let error = open(&format!("redis-sentinel://{hosts}/nobody"))
        .await
        .expect_err("not known");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    // A sentinel is not a server of jobs.
    let error = open(&format!("redis://{hosts}"))
        .await
        .expect_err("holds no jobs");
    assert_eq!(error.kind(), ErrorKind::StoreUnsupported, "{error}");
}
