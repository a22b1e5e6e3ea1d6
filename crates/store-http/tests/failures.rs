//! Servers that refuse, fail, or are no Windlass servers; and what must arrive unchanged.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use windlass_core::{
    BootId, ClaimRequest, Error, ErrorKind, JobId, NewJob, QueueName, Store, SystemClock,
};
use windlass_server::{CancellationToken, HttpServer, Options, Tokens};
use windlass_store_http::RemoteStore;
use windlass_store_memory::MemoryStore;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn mail() -> QueueName {
    QueueName::new("mail").unwrap()
}

fn shown(error: &Error) -> String {
    format!("{error} {} {error:?}", error.help())
}

/// Serves a memory store. Returns the URL and what stops it.
async fn serve(tokens: Tokens) -> (String, CancellationToken) {
    let mut options = Options::new("127.0.0.1:0".parse().unwrap()).unwrap();
    options.tokens = tokens;
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let server = HttpServer::bind(store, options).await.unwrap();
    let (url, stop) = (server.url(), CancellationToken::new());
    tokio::spawn(server.run(stop.clone()));
    (url, stop)
}

/// Answers the first `answers.len()` connections with these bytes after one request each, then closes them.
async fn answer(answers: Vec<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(&answer).await;
        }
    });
    url
}

fn store(url: &str) -> RemoteStore {
    RemoteStore::with_token(url, TOKEN).unwrap()
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = store(&url).set_paused(&mail(), true).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreUnreachable, "{error}");
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_leaves_a_write_unknown_and_a_read_harmless() {
    let url = answer(vec![
        vec![],
        b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec(),
    ])
    .await;
    let remote = store(&url);
    for _ in 0..2 {
        let error = remote.enqueue(&mail(), vec![NewJob::new("x")]).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    }
    let url = answer(vec![vec![]]).await;
    let error = store(&url).stats(&mail()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreUnreachable, "{error}");
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_replaced() {
    let empty = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]".to_vec();
    let url = answer(vec![empty.clone(), empty]).await;
    let remote = store(&url);
    assert!(remote.queues().await.unwrap().is_empty());
    // The server closes the connection after its answer.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(
        remote
            .claim(&mail(), ClaimRequest::single(1))
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn a_server_of_another_kind_is_foreign() {
    for answer_text in [
        "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>",
        "HTTP/1.1 404 Not Found\r\ncontent-length: 6\r\n\r\n<html>",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{\"a\":\"b\"}",
        "HTTP/1.1 302 Found\r\nlocation: http://evil\r\ncontent-length: 0\r\n\r\n",
    ] {
        let url = answer(vec![answer_text.into()]).await;
        let error = store(&url).get(&mail(), &JobId::new("a").unwrap()).await;
        let error = error.unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::StoreForeign,
            "{answer_text}: {error}"
        );
    }
}

#[tokio::test]
async fn a_huge_reply_is_not_read_to_its_end() {
    let mut huge = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n".to_vec();
    huge.resize(65 * 1024 * 1024, b'x');
    let url = answer(vec![huge]).await;
    let error = store(&url).queues().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreUnreachable, "{error}");
}

#[tokio::test]
async fn a_wrong_token_and_a_missing_scope_are_forbidden_and_no_token_is_shown() {
    let (url, stop) = serve(Tokens::single(TOKEN).unwrap()).await;
    let wrong = "hunter2-0123456789abcdef0123456789";
    let remote = RemoteStore::with_token(&url, wrong).unwrap();
    let error = remote.queues().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden, "{error}");
    let shown = shown(&error);
    assert!(
        !shown.contains("hunter2") && !format!("{remote:?}").contains("hunter2"),
        "{shown}"
    );
    assert!(!error.is_transient());
    stop.cancel();

    // The SHA-256 of `TOKEN`.
    let line = "ann 3eb1bd439947eb762998e566ccc2e099c791118b2f40579cc4f7da2b5061b7f9 read mail";
    let (url, _stop) = serve(Tokens::parse(line).unwrap()).await;
    let remote = store(&url);
    assert!(remote.stats(&mail()).await.unwrap().is_none());
    let error = remote.set_paused(&mail(), true).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden, "{error}");
    assert!(error.to_string().contains("scope operate"), "{error}");
}

#[tokio::test]
async fn payloads_arrive_byte_for_byte_and_large_batches_in_parts() {
    let (url, _stop) = serve(Tokens::single(TOKEN).unwrap()).await;
    let remote = store(&url);
    let all: Vec<u8> = (0..=255).collect();
    let control = vec![1_u8; 1024 * 1024];
    let binary = vec![0xff_u8; 1024 * 1024];
    let text = "\"å\n\\ é".to_owned().into_bytes();
    let mut payloads = vec![vec![], all, text, control];
    payloads.resize(15, binary);
    let jobs = payloads.iter().map(|payload| NewJob::new(payload.clone()));

    let enqueued = remote.enqueue(&mail(), jobs.collect()).await.unwrap();

    assert_eq!(enqueued.len(), payloads.len());
    for (enqueued, payload) in enqueued.iter().zip(&payloads) {
        let job = remote.get(&mail(), enqueued.id()).await.unwrap().unwrap();
        assert_eq!(job.payload.as_deref(), Some(payload.as_slice()));
        assert!(!job.is_named);
    }
    let claim = remote
        .claim(&mail(), ClaimRequest::single(3))
        .await
        .unwrap()
        .unwrap();
    let found: Vec<_> = claim.jobs.iter().map(|job| job.payload.to_vec()).collect();
    assert_eq!(found, payloads[..3]);
}

#[tokio::test]
async fn a_waiting_claim_of_a_worker_gets_its_number_back() {
    let (url, _stop) = serve(Tokens::single(TOKEN).unwrap()).await;
    let (remote, other) = (store(&url), store(&url));
    let boot = BootId::new("w-1").unwrap();
    let mut request = ClaimRequest::worker(boot, 1, 1);
    let waiting = async {
        let wait = Duration::from_secs(60);
        remote.claim_waiting(&mail(), &mut request, wait).await
    };
    let enqueueing = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        other.enqueue(&mail(), vec![NewJob::new("x")]).await
    };
    let (claim, enqueued) = tokio::join!(waiting, enqueueing);
    enqueued.unwrap();
    let claim = claim.unwrap().expect("the job is claimed");
    assert!(request.claimer.seq() > 1, "{request:?}");
    // The same number repeats the same claim.
    let again = remote.claim(&mail(), request).await.unwrap();
    assert_eq!(again.map(|again| again.token), Some(claim.token));
}
