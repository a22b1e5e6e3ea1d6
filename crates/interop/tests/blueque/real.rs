//! The real client and ours on the same keys, one operation after the other.

use std::time::Duration;

use serde_json::json;
use windlass_interop::blueque::Layout;
use windlass_testkit::redis::until;

use super::peer::{Peer, Worker};
use super::place::{Place, QUEUE, joined};
use super::soundness::assert_sound;

#[tokio::test(flavor = "multi_thread")]
async fn their_task_is_run_by_ours_and_they_read_the_result() {
    let place = Place::new();
    let mut peer = Peer::start();
    let made = peer.does(&place.server, &json!([["enqueue", QUEUE, "{\"a\": 1}"]]));
    let blueque = place.blueque(Layout::Released).await;
    let queue = place.queue().await;
    let mut listener = joined(&queue).await;

    let task = listener.listen(Duration::ZERO).await.unwrap().unwrap();
    assert_eq!(task.id, made[0]);
    assert_eq!(task.parameters.as_deref(), Some(&b"{\"a\": 1}"[..]));
    assert!(task.created.is_some() && task.updated >= task.created);
    let mut processor = blueque.processor(&task).unwrap();
    processor.start(77).await.unwrap();
    let read = peer.does(&place.server, &json!([["get", task.id]]));
    assert_eq!(read[0]["status"], "started");
    assert_eq!(read[0]["pid"], 77);
    assert_eq!(read[0]["node"], listener.name());
    processor.complete("42").await.unwrap();

    let read = peer.does(
        &place.server,
        &json!([["get", task.id], ["delete", QUEUE, task.id]]),
    );
    assert_eq!(read[0]["status"], "complete");
    assert_eq!(read[0]["result"], "42");
    assert!(blueque.get_task(&task.id).await.unwrap().is_none());
    assert!(listener.leave().await.unwrap());
    assert_sound(&place, "at the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn our_task_is_run_by_theirs_and_ours_reads_the_result() {
    let place = Place::new();
    let mut peer = Peer::start();
    let blueque = place.blueque(Layout::Released).await;
    let queue = place.queue().await;
    let good = queue.enqueue("good").await.unwrap();
    let bad = queue.enqueue("bad").await.unwrap();
    let words = json!([
        ["join", QUEUE],
        ["listen"],
        ["start"],
        ["complete", "42"],
        ["listen"],
        ["start"],
        ["fail", "no"]
    ]);
    let answers = peer.does(&place.server, &words);
    assert_eq!(answers[1]["id"], good.as_str());
    assert_eq!(answers[1]["parameters"], "good");

    let task = blueque.get_task(&good).await.unwrap().unwrap();
    assert_eq!(task.status, "complete");
    assert_eq!(task.result.unwrap(), "42");
    assert_eq!(task.node.as_deref(), answers[0].as_str());
    let task = blueque.get_task(&bad).await.unwrap().unwrap();
    assert_eq!(task.error.unwrap(), "no");
    queue.delete_task(&bad).await.unwrap();
    queue.delete_task(&good).await.unwrap();
    assert!(place.list("blueque_complete_tasks_video").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn schedules_are_moved_by_either() {
    let place = Place::new();
    let mut peer = Peer::start();
    let queue = place.queue().await;
    let made = peer.does(
        &place.server,
        &json!([["schedule", QUEUE, "theirs", 99_999_999_999.5]]),
    );
    let theirs = made[0].as_str().unwrap();
    let (ours, _) = queue.schedule("ours", 99_999_999_999.5).await.unwrap();
    assert_eq!(place.list("blueque_scheduled_tasks_video").len(), 2);

    place.redis(&format!("ZADD blueque_scheduled_tasks_video 1 {theirs}"));
    assert_eq!(queue.enqueue_due_tasks().await.unwrap(), 1);
    place.redis(&format!("ZADD blueque_scheduled_tasks_video 1 {ours}"));
    peer.does(&place.server, &json!([["due", QUEUE]]));

    assert_eq!(
        place.list("blueque_pending_tasks_video"),
        [ours.as_str(), theirs]
    );
    assert_sound(&place, "at the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forking_runner_runs_what_ours_enqueues() {
    let place = Place::new();
    let queue = place.queue().await;
    let _runner = Worker::start("run", &place.server, QUEUE);
    let id = queue.enqueue("x").await.unwrap();
    until("it is complete", || match place.field(&id, "status") {
        Some(status) if status == "complete" => Ok(()),
        status => Err(format!("{status:?}")),
    });
    assert_eq!(place.field(&id, "result").unwrap(), "theirs x");
}
