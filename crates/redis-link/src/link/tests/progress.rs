//! Which bytes count as progress of a call, and when a call is given up all the same.

use tokio::time::Instant;
use windlass_core::ErrorKind;

use super::fake_server::{Action, FakeServer};
use super::*;

#[tokio::test]
async fn a_server_that_sends_a_byte_now_and_then_does_not_hold_a_call_forever() {
    let drip = Action::Endless("$1000000\r\n", 1, Duration::from_millis(10));
    let fake = FakeServer::start(vec![drip]);
    let link = with_short_timeout(&format!("{}?timeout=300ms", fake.url())).await;
    let started = Instant::now();

    let error = link.run(&call(count(), &["a"], &[])).await;

    let error = error.expect_err("no complete reply");
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    // Ten times the timeout; all bytes would take hours.
    assert!(started.elapsed() < IMMEDIATELY);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_written_to_a_server_that_does_not_read_are_no_progress() {
    let server = Arc::new(Server::start());
    let link = linked(&server, "?timeout=3s").await;
    let call = call(count(), &["a"], &[]);
    with(&server, Server::stop).await;
    let sender = tokio::spawn({
        let (link, call) = (link.clone(), call.clone());
        async move {
            loop {
                let (link, call) = (link.clone(), call.clone());
                tokio::spawn(async move { link.run(&call).await });
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    });
    let started = Instant::now();

    let error = link.run(&call).await.expect_err("no reply");

    sender.abort();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    // With progress it would take ten times the timeout.
    assert!(started.elapsed() < Duration::from_secs(20));
    with(&server, Server::resume).await;
}
