//! A server that is out of memory accepts no new work, but running work can be finished.

#![expect(clippy::unwrap_used, reason = "a panic is a test failure")]

use std::time::Duration;

use windlass_core::ErrorKind;
use windlass_interop::InteropServer;
use windlass_interop::blueque::{self, Blueque, ListenerOptions};
use windlass_interop::redis_work_queue::{self, Item, WorkQueue};
use windlass_interop::worqr::{Lifetime, ProcessEnd, Worqr, WorqrSettings};
use windlass_testkit::redis;

const LONG: Duration = Duration::from_secs(600);
const NO_WAIT: Duration = Duration::ZERO;

fn fill(server: &redis::Server) {
    server.command(&["CONFIG", "SET", "maxmemory", "1"]).ok();
}

async fn open(server: &redis::Server) -> InteropServer {
    // A short timeout, so that a full server is reported soon.
    InteropServer::open(&format!("{}?timeout=5s", server.url()))
        .await
        .unwrap()
}

#[tokio::test]
async fn an_item_can_be_completed_on_a_full_server() {
    let redis = redis::Server::start();
    let layout = redis_work_queue::WorkQueueLayout::V03;
    let queue = WorkQueue::new(open(&redis).await, "p", layout);
    queue.add_item(&Item::with_id("a", "data")).await.unwrap();
    queue.lease(LONG, Some(NO_WAIT)).await.unwrap().unwrap();
    fill(&redis);

    let added = queue.add_item(&Item::with_id("b", "data")).await;
    assert_eq!(added.unwrap_err().kind(), ErrorKind::StoreFull);
    assert!(queue.renew("a", LONG).await.unwrap());
    assert!(queue.complete("a").await.unwrap());
}

#[tokio::test]
async fn a_process_can_be_finished_on_a_full_server() {
    let redis = redis::Server::start();
    let worqr = Worqr::new(&open(&redis).await, WorqrSettings::default()).unwrap();
    worqr
        .start_worker("w", Lifetime::Expiring(LONG))
        .await
        .unwrap();
    worqr.start_work("w", "q").await.unwrap();
    worqr.enqueue("q", "task").await.unwrap();
    let process = worqr.start_task("w", "q").await.unwrap().unwrap();
    fill(&redis);

    let enqueued = worqr.enqueue("q", "another").await;
    assert_eq!(enqueued.unwrap_err().kind(), ErrorKind::StoreFull);
    assert!(worqr.keep_worker_alive("w", LONG).await.unwrap());
    let finished = worqr.finish_task("w", &process.id).await.unwrap();
    assert_eq!(finished, ProcessEnd::Ended);
}

#[tokio::test]
async fn a_task_can_be_completed_on_a_full_server() {
    let redis = redis::Server::start();
    let blueque = Blueque::new(open(&redis).await, blueque::BluequeLayout::Released);
    let queue = blueque.queue("q").unwrap();
    queue.enqueue("parameters").await.unwrap();
    let mut listener = queue.join(ListenerOptions::default()).await.unwrap();
    let task = listener.listen(NO_WAIT).await.unwrap().unwrap();
    let mut processor = blueque.processor(&task).unwrap();
    processor.start(7).await.unwrap();
    fill(&redis);

    let enqueued = queue.enqueue("another").await;
    assert_eq!(enqueued.unwrap_err().kind(), ErrorKind::StoreFull);
    listener.send_heartbeat().await.unwrap();
    processor.complete("result").await.unwrap();
}
