//! The design note's layout: started as it is popped, announced on a channel.

use std::time::Duration;

use windlass_interop::blueque::{Blueque, Layout, Listener};
use windlass_testkit::redis::{Reply, until};

use super::place::{Place, QUEUE, joined, knowing};

/// Far more than a busy machine needs.
const LONG: Duration = Duration::from_secs(60);

async fn document(place: &Place) -> Blueque {
    place.blueque(Layout::Document).await
}

fn subscribers(place: &Place) -> String {
    let reply = place.redis("PUBSUB NUMSUB bluequeue_channel_video");
    reply.array()[1].integer().to_string()
}

/// Whether a short look finds no task.
async fn finds_none(listener: &mut Listener) -> bool {
    let look = Duration::from_millis(50);
    listener.listen(look).await.unwrap().is_none()
}

/// A task as another peer of the note would enqueue it, with a worker's own fields.
fn enqueue_by_note(place: &Place, id: &str) {
    let words = ["HSET", &format!("bluequeue_task_{id}"), "status", "pending"];
    place
        .server
        .command(&[&words[..], &["parameters", "[1]", "owner", "x"]].concat())
        .ok();
    place.redis(&format!("RPUSH bluequeue_pending_tasks_{QUEUE} {id}"));
    place.redis(&format!("PUBLISH bluequeue_channel_{QUEUE} more"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_goes_in_on_the_right_and_out_on_the_left_as_started() {
    let place = Place::new();
    let blueque = document(&place).await;
    let queue = blueque.queue(QUEUE).unwrap();
    let first = queue.enqueue("{\"a\": 1}").await.unwrap();
    let second = queue.enqueue("plain words").await.unwrap();
    let pending = place.list("bluequeue_pending_tasks_video");
    assert_eq!(pending, [first.clone(), second.clone()]);
    let key = format!("bluequeue_task_{first}");
    assert_eq!(place.hash(&key, "status").unwrap(), "pending");
    assert_eq!(place.hash(&key, "parameters").unwrap(), "{\"a\": 1}");

    let mut listener = joined(&queue).await;
    let task = listener.listen(Duration::ZERO).await.unwrap().unwrap();

    assert_eq!(
        (task.id.as_str(), task.status.as_str()),
        (first.as_str(), "started")
    );
    let worker = format!("{} {}", listener.name(), std::process::id());
    assert_eq!(place.hash(&key, "worker").unwrap(), worker);
    let mut processor = blueque.processor(&task).unwrap();
    processor.start(4711).await.unwrap();
    let worker = format!("{} 4711", listener.name());
    assert_eq!(place.hash(&key, "worker").unwrap(), worker);
    processor.complete("[true]").await.unwrap();
    assert_eq!(place.hash(&key, "status").unwrap(), "succeeded");
    assert_eq!(place.hash(&key, "result").unwrap(), "[true]");
    let again = processor.complete("[true]").await.unwrap_err();
    assert_eq!(again.code(), "conflict");

    let task = listener.listen(Duration::ZERO).await.unwrap().unwrap();
    assert_eq!(task.parameters.as_deref(), Some(&b"\"plain words\""[..]));
    blueque.processor(&task).unwrap().fail("no").await.unwrap();
    let key = format!("bluequeue_task_{second}");
    assert_eq!(place.hash(&key, "error").unwrap(), "\"no\"");
    queue.delete_task(&second).await.unwrap();
    assert_eq!(place.redis(&format!("EXISTS {key}")).integer(), 0);
    assert!(listener.leave().await.unwrap());
    assert!(place.list("bluequeue_started_tasks_video").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_says_nothing_of_the_task() {
    let place = Place::new();
    let queue = document(&place).await.queue(QUEUE).unwrap();
    let mut ear = place.server.connect().unwrap();
    ear.command(&["SUBSCRIBE", "bluequeue_channel_video"])
        .unwrap();
    let id = queue.enqueue("1").await.unwrap();
    let heard = ear.receive().unwrap();
    let words: Vec<_> = heard.array().iter().map(Reply::text).collect();
    assert_eq!(words[..2], ["message", "bluequeue_channel_video"]);
    assert!(!words[2].contains(&id), "{words:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_subscribes_when_it_found_nothing_and_stays_until_it_got_a_task() {
    let place = Place::new();
    let queue = document(&place).await.queue(QUEUE).unwrap();
    let mut listener = joined(&queue).await;
    queue.enqueue("1").await.unwrap();
    assert!(listener.listen(LONG).await.unwrap().is_some());
    assert_eq!(subscribers(&place), "0", "it found one at once");

    assert!(finds_none(&mut listener).await);
    assert_eq!(subscribers(&place), "1", "it found none, and stays");
    // A message without a task behind it: somebody else was faster.
    place.redis("PUBLISH bluequeue_channel_video more");
    assert!(finds_none(&mut listener).await);
    assert_eq!(subscribers(&place), "1", "it got none, and stays");

    enqueue_by_note(&place, "77");
    let task = listener.listen(LONG).await.unwrap().unwrap();
    assert_eq!(task.id, "77");
    assert_eq!(task.others["owner"], "x");
    until("it has unsubscribed", || match subscribers(&place) {
        none if none == "0" => Ok(()),
        some => Err(some),
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_announced_wakes_the_listener() {
    let place = Place::new();
    let queue = document(&place).await.queue(QUEUE).unwrap();
    let mut listener = joined(&queue).await;
    let waiting = tokio::spawn(async move { listener.listen(LONG).await.unwrap() });
    until("it has subscribed", || match subscribers(&place) {
        one if one == "1" => Ok(()),
        none => Err(none),
    });
    let id = queue.enqueue("1").await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().id, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_workers_tasks_are_failed_or_retried_at_the_front() {
    let place = Place::new();
    let blueque = document(&place).await;
    let queue = blueque.queue(QUEUE).unwrap();
    for retry_lost in [false, true] {
        place.redis("FLUSHALL");
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(queue.enqueue("1").await.unwrap());
        }
        let mut listener = joined(&queue).await;
        for _ in 0..2 {
            listener.listen(Duration::ZERO).await.unwrap().unwrap();
        }
        let record = format!("bluequeue_worker_{}", listener.name());
        assert_eq!(place.redis(&format!("EXISTS {record}")).integer(), 1);
        let mut options = knowing(&[listener.name()]);
        options.retry_lost = retry_lost;

        let cleaned = queue.clean(&options).await.unwrap();

        let pending = place.list("bluequeue_pending_tasks_video");
        if retry_lost {
            assert_eq!(cleaned.requeued, 2);
            assert_eq!(pending, ids);
        } else {
            assert_eq!(cleaned.failed, 2);
            assert_eq!(pending, ids[2..]);
            let key = format!("bluequeue_task_{}", ids[0]);
            assert_eq!(place.hash(&key, "status").unwrap(), "failed");
            assert_eq!(place.hash(&key, "error").unwrap(), "\"worker_lost\"");
        }
        assert!(place.list("bluequeue_started_tasks_video").is_empty());
        assert_eq!(place.redis(&format!("EXISTS {record}")).integer(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_worker_of_another_kind_is_found_by_the_records_of_its_tasks() {
    let place = Place::new();
    let queue = document(&place).await.queue(QUEUE).unwrap();
    for (id, worker) in [("1", "there 7"), ("2", "there 8"), ("3", "elsewhere 7")] {
        let words = ["HSET", &format!("bluequeue_task_{id}"), "status", "started"];
        let more = ["parameters", "[1]", "worker", worker];
        place.server.command(&[&words[..], &more[..]].concat()).ok();
    }
    let cleaned = queue.clean(&knowing(&["there"])).await.unwrap();
    assert_eq!(cleaned.failed, 2);
    assert_eq!(place.hash("bluequeue_task_1", "status").unwrap(), "failed");
    assert_eq!(place.hash("bluequeue_task_3", "status").unwrap(), "started");

    let mut options = knowing(&["elsewhere"]);
    options.retry_lost = true;
    let cleaned = queue.clean(&options).await.unwrap();
    assert_eq!(cleaned.requeued, 1);
    assert_eq!(place.list("bluequeue_pending_tasks_video"), ["3"]);
}
