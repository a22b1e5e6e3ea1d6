//! Waiting for a marker with a script right behind it.

use tokio::time::{Instant, timeout};
use windlass_core::ErrorKind;
use windlass_testkit::redis::until;

use super::*;

const WAKE: &[u8] = b"{q}:wake";
const LONG: Duration = Duration::from_secs(30);

/// Takes what is in the list of jobs.
fn take() -> Call {
    let take = script("take", "return redis.call('LPOP', KEYS[1]) or 'none'");
    call(take, &["{q}:jobs"], &[])
}

fn parked(link: &Link, wait: Duration) -> tokio::task::JoinHandle<Result<Value>> {
    let link = link.clone();
    tokio::spawn(async move { link.park(Awaited::Marker(WAKE), wait, &take()).await })
}

/// Waits until this many clients are parked.
pub(super) async fn until_parked(server: &Arc<Server>, count: i64) {
    with(server, move |server| {
        until("clients are parked", || {
            let told = server.command(&["INFO", "clients"]).text();
            let blocked = told
                .lines()
                .find_map(|line| line.strip_prefix("blocked_clients:"));
            match blocked.and_then(|number| number.trim().parse::<i64>().ok()) {
                Some(blocked) if blocked == count => Ok(()),
                other => Err(format!("{other:?}")),
            }
        });
    })
    .await;
}

fn bulk(text: &str) -> Value {
    Value::BulkString(text.as_bytes().to_vec())
}

async fn answer(parked: tokio::task::JoinHandle<Result<Value>>) -> Result<Value> {
    timeout(LONG, parked)
        .await
        .expect("answered in time")
        .expect("no panic")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_marker_wakes_one_and_the_script_runs_behind_it() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let parked = parked(&link, LONG);
    until_parked(&server, 1).await;
    // The shared connection is not held up.
    link.run(&call(count(), &["a"], &[])).await.expect("runs");
    with(&server, |server| {
        server.command(&["RPUSH", "{q}:jobs", "job"]);
        server.command(&["SCRIPT", "FLUSH"]);
        server.command(&["RPUSH", "{q}:wake", "1"]);
    })
    .await;
    assert_eq!(answer(parked).await.expect("answers"), bulk("job"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_marker_the_script_runs_when_the_wait_is_over() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    with(&server, |server| {
        server.command(&["RPUSH", "{q}:jobs", "job"])
    })
    .await;
    for (wait, said) in [(100, "job"), (0, "none"), (20, "none")] {
        let started = Instant::now();
        let wait = Duration::from_millis(wait);
        let value = link
            .park(Awaited::Marker(WAKE), wait, &take())
            .await
            .expect("answers");
        assert_eq!(value, bulk(said));
        assert!(started.elapsed() >= wait);
        assert!(started.elapsed() < AT_ONCE);
    }
    // One connection served them all: that of the test, the shared one and the parked one.
    let clients = with(&server, |server| {
        server.command(&["CLIENT", "LIST"]).text().lines().count()
    })
    .await;
    assert!(clients <= 4, "{clients}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_goes_away_leaves_no_wait_behind() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let first = parked(&link, LONG);
    until_parked(&server, 1).await;
    first.abort();
    until_parked(&server, 0).await;
    let second = parked(&link, LONG);
    until_parked(&server, 1).await;
    with(&server, |server| {
        server.command(&["RPUSH", "{q}:wake", "1"])
    })
    .await;
    assert_eq!(answer(second).await.expect("answers"), bulk("none"));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_park_at_once_and_a_lost_connection_is_unknown() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let all: Vec<_> = (0..20).map(|_| parked(&link, LONG)).collect();
    until_parked(&server, 20).await;
    with(&server, |server| {
        server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])
    })
    .await;
    for parked in all {
        let error = answer(parked).await.expect_err("cut off");
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    }
    let again = parked(&link, LONG);
    until_parked(&server, 1).await;
    with(&server, |server| {
        server.command(&["RPUSH", "{q}:wake", "1"])
    })
    .await;
    answer(again).await.expect("answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_cannot_be_is_an_error_and_not_a_quick_answer() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    with(&server, |server| {
        server.command(&["SET", "{q}:wake", "text"])
    })
    .await;
    let error = link
        .park(Awaited::Marker(WAKE), LONG, &take())
        .await
        .expect_err("not a list");
    assert_eq!(error.kind(), ErrorKind::StoreDamaged);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_falls_silent_is_given_up_soon_after_the_wait() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let parked = parked(&link, Duration::from_millis(300));
    with(&server, Server::stop).await;
    let error = answer(parked).await.expect_err("no answer");
    assert!(error.is_transient(), "{error}");
    with(&server, Server::resume).await;
}
