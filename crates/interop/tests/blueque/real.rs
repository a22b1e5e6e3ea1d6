//! The real client and Windlass on the same keys, one operation after the other.

use std::time::Duration;

use serde_json::json;
use windlass_interop::blueque::BluequeLayout;
use windlass_testkit::redis::until;

use super::consistency::assert_consistent;
use super::fixture::{Fixture, QUEUE, join_listener};
use super::peer::{Peer, Worker};

#[tokio::test(flavor = "multi_thread")]
async fn an_original_task_is_run_by_windlass_and_the_original_reads_the_result() {
    let fixture = Fixture::new();
    let mut peer = Peer::start();
    let made = peer.run(&fixture.server, &json!([["enqueue", QUEUE, "{\"a\": 1}"]]));
    let blueque = fixture.blueque(BluequeLayout::Released).await;
    let queue = fixture.queue().await;
    let mut listener = join_listener(&queue).await;

    let task = listener.listen(Duration::ZERO).await.unwrap().unwrap();
    assert_eq!(task.id, made[0]);
    assert_eq!(task.parameters.as_deref(), Some(&b"{\"a\": 1}"[..]));
    assert!(task.created.is_some() && task.updated >= task.created);
    let mut processor = blueque.processor(&task).unwrap();
    processor.start(77).await.unwrap();
    let read = peer.run(&fixture.server, &json!([["get", task.id]]));
    assert_eq!(read[0]["status"], "started");
    assert_eq!(read[0]["pid"], 77);
    assert_eq!(read[0]["node"], listener.name());
    processor.complete("42").await.unwrap();

    let read = peer.run(
        &fixture.server,
        &json!([["get", task.id], ["delete", QUEUE, task.id]]),
    );
    assert_eq!(read[0]["status"], "complete");
    assert_eq!(read[0]["result"], "42");
    assert!(blueque.get_task(&task.id).await.unwrap().is_none());
    assert!(listener.leave().await.unwrap());
    assert_consistent(&fixture, "at the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_windlass_task_is_run_by_the_original_and_windlass_reads_the_result() {
    let fixture = Fixture::new();
    let mut peer = Peer::start();
    let blueque = fixture.blueque(BluequeLayout::Released).await;
    let queue = fixture.queue().await;
    let good = queue.enqueue("good").await.unwrap();
    let bad = queue.enqueue("bad").await.unwrap();
    let operations = json!([
        ["join", QUEUE],
        ["listen"],
        ["start"],
        ["complete", "42"],
        ["listen"],
        ["start"],
        ["fail", "no"]
    ]);
    let replies = peer.run(&fixture.server, &operations);
    assert_eq!(replies[1]["id"], good.as_str());
    assert_eq!(replies[1]["parameters"], "good");

    let task = blueque.get_task(&good).await.unwrap().unwrap();
    assert_eq!(task.status, "complete");
    assert_eq!(task.result.unwrap(), "42");
    assert_eq!(task.node.as_deref(), replies[0].as_str());
    let task = blueque.get_task(&bad).await.unwrap().unwrap();
    assert_eq!(task.error.unwrap(), "no");
    queue.delete_task(&bad).await.unwrap();
    queue.delete_task(&good).await.unwrap();
    assert!(fixture.list("blueque_complete_tasks_video").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn due_tasks_are_moved_by_either() {
    let fixture = Fixture::new();
    let mut peer = Peer::start();
    let queue = fixture.queue().await;
    let made = peer.run(
        &fixture.server,
        &json!([["schedule", QUEUE, "theirs", 99_999_999_999.5]]),
    );
    let theirs = made[0].as_str().unwrap();
    let (ours, _) = queue.schedule("ours", 99_999_999_999.5).await.unwrap();
    assert_eq!(fixture.list("blueque_scheduled_tasks_video").len(), 2);

    fixture.redis(&format!("ZADD blueque_scheduled_tasks_video 1 {theirs}"));
    assert_eq!(queue.enqueue_due_tasks().await.unwrap(), 1);
    fixture.redis(&format!("ZADD blueque_scheduled_tasks_video 1 {ours}"));
    peer.run(&fixture.server, &json!([["due", QUEUE]]));

    assert_eq!(
        fixture.list("blueque_pending_tasks_video"),
        [ours.as_str(), theirs]
    );
    assert_consistent(&fixture, "at the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forking_runner_runs_tasks_enqueued_by_windlass() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let _runner = Worker::start("run", &fixture.server, QUEUE);
    let id = queue.enqueue("x").await.unwrap();
    until("it is complete", || match fixture.field(&id, "status") {
        Some(status) if status == "complete" => Ok(()),
        status => Err(format!("{status:?}")),
    });
    assert_eq!(fixture.field(&id, "result").unwrap(), "theirs x");
}
