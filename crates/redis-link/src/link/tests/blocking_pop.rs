//! Blocking on a list, followed by a script.

use tokio::time::{Instant, timeout};
use windlass_core::ErrorKind;
use windlass_testkit::redis::until;

use super::*;

const WAKE: &[u8] = b"{q}:wake";
const LONG: Duration = Duration::from_secs(30);

/// Pops from the list of jobs.
fn pop() -> Call {
    let pop = script("return redis.call('LPOP', KEYS[1]) or 'none'");
    call(pop, &["{q}:jobs"], &[])
}

fn blocked(link: &Link, wait: Duration) -> tokio::task::JoinHandle<Result<Value>> {
    let link = link.clone();
    tokio::spawn(async move {
        let reply = link.wait_then_run(WaitOn::Pop(WAKE), wait, &pop()).await;
        reply.map(|(value, _)| value)
    })
}

/// Waits until this many clients are blocked.
pub(super) async fn until_blocked(server: &Arc<Server>, count: i64) {
    with(server, move |server| {
        until("clients are blocked", || {
            let info = server.command(&["INFO", "clients"]).text();
            let count_text = info
                .lines()
                .find_map(|line| line.strip_prefix("blocked_clients:"));
            match count_text.and_then(|number| number.trim().parse::<i64>().ok()) {
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

async fn reply(blocked: tokio::task::JoinHandle<Result<Value>>) -> Result<Value> {
    timeout(LONG, blocked)
        .await
        .expect("a reply in time")
        .expect("no panic")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_element_wakes_one_client_and_the_script_runs_after_it() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let blocked = blocked(&link, LONG);
    until_blocked(&server, 1).await;
    // The shared connection is not blocked.
    link.run(&call(count(), &["a"], &[])).await.expect("runs");
    with(&server, |server| {
        server.command(&["RPUSH", "{q}:jobs", "job"]);
        server.command(&["SCRIPT", "FLUSH"]);
        server.command(&["RPUSH", "{q}:wake", "1"]);
    })
    .await;
    assert_eq!(reply(blocked).await.expect("replies"), bulk("job"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_element_the_script_runs_when_the_wait_is_over() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    with(&server, |server| {
        server.command(&["RPUSH", "{q}:jobs", "job"])
    })
    .await;
    for (wait, expected) in [(100, "job"), (0, "none"), (20, "none")] {
        let started = Instant::now();
        let wait = Duration::from_millis(wait);
        let (value, _) = link
            .wait_then_run(WaitOn::Pop(WAKE), wait, &pop())
            .await
            .expect("replies");
        assert_eq!(value, bulk(expected));
        assert!(started.elapsed() >= wait);
        assert!(started.elapsed() < IMMEDIATELY);
    }
    // All waits used one connection, besides the shared one and that of the test.
    let clients = with(&server, |server| {
        server.command(&["CLIENT", "LIST"]).text().lines().count()
    })
    .await;
    assert!(clients <= 4, "{clients}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_caller_leaves_no_blocked_client() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let first = blocked(&link, LONG);
    until_blocked(&server, 1).await;
    first.abort();
    until_blocked(&server, 0).await;
    let second = blocked(&link, LONG);
    until_blocked(&server, 1).await;
    with(&server, |server| {
        server.command(&["RPUSH", "{q}:wake", "1"])
    })
    .await;
    assert_eq!(reply(second).await.expect("replies"), bulk("none"));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_clients_block_at_once_and_a_lost_connection_is_unknown() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let all: Vec<_> = (0..20).map(|_| blocked(&link, LONG)).collect();
    until_blocked(&server, 20).await;
    with(&server, |server| {
        server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])
    })
    .await;
    for blocked in all {
        let error = reply(blocked).await.expect_err("cut off");
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    }
    let again = blocked(&link, LONG);
    until_blocked(&server, 1).await;
    with(&server, |server| {
        server.command(&["RPUSH", "{q}:wake", "1"])
    })
    .await;
    reply(again).await.expect("replies");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_on_a_wrong_type_is_an_error_and_not_an_immediate_reply() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    with(&server, |server| {
        server.command(&["SET", "{q}:wake", "text"])
    })
    .await;
    let error = link
        .wait_then_run(WaitOn::Pop(WAKE), LONG, &pop())
        .await
        .expect_err("not a list");
    assert_eq!(error.kind(), ErrorKind::StoreDamaged);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_abandoned_soon_after_the_wait() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "").await;
    let blocked = blocked(&link, Duration::from_millis(300));
    with(&server, Server::stop).await;
    let error = reply(blocked).await.expect_err("no reply");
    assert!(error.is_transient(), "{error}");
    with(&server, Server::resume).await;
}
