//! The document layout: tasks are started as they are popped and announced on a channel.

use std::time::Duration;

use windlass_interop::blueque::{Blueque, BluequeLayout, BluequeListener};
use windlass_testkit::redis::{Reply, until};

use super::fixture::{Fixture, QUEUE, clean_options, join_listener};

/// Longer than needed on any busy machine.
const LONG: Duration = Duration::from_secs(60);

async fn document(fixture: &Fixture) -> Blueque {
    fixture.blueque(BluequeLayout::Document).await
}

fn subscribers(fixture: &Fixture) -> String {
    let reply = fixture.redis("PUBSUB NUMSUB bluequeue_channel_video");
    reply.array()[1].integer().to_string()
}

/// Returns whether a short wait finds no task.
async fn finds_none(listener: &mut BluequeListener) -> bool {
    let wait = Duration::from_millis(50);
    listener.listen(wait).await.unwrap().is_none()
}

/// Enqueues a task as another client of the document layout would, with additional fields.
fn enqueue_by_other_client(fixture: &Fixture, id: &str) {
    let command = ["HSET", &format!("bluequeue_task_{id}"), "status", "pending"];
    fixture
        .server
        .command(&[&command[..], &["parameters", "[1]", "owner", "x"]].concat())
        .ok();
    fixture.redis(&format!("RPUSH bluequeue_pending_tasks_{QUEUE} {id}"));
    fixture.redis(&format!("PUBLISH bluequeue_channel_{QUEUE} more"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_goes_in_on_the_right_and_out_on_the_left_as_started() {
    let fixture = Fixture::new();
    let blueque = document(&fixture).await;
    let queue = blueque.queue(QUEUE).unwrap();
    let first = queue.enqueue("{\"a\": 1}").await.unwrap();
    let second = queue.enqueue("plain words").await.unwrap();
    let pending = fixture.list("bluequeue_pending_tasks_video");
    assert_eq!(pending, [first.clone(), second.clone()]);
    let key = format!("bluequeue_task_{first}");
    assert_eq!(fixture.hash(&key, "status").unwrap(), "pending");
    assert_eq!(fixture.hash(&key, "parameters").unwrap(), "{\"a\": 1}");

    let mut listener = join_listener(&queue).await;
    let task = listener.listen(Duration::ZERO).await.unwrap().unwrap();

    assert_eq!(
        (task.id.as_str(), task.status.as_str()),
        (first.as_str(), "started")
    );
    let worker = format!("{} {}", listener.name(), std::process::id());
    assert_eq!(fixture.hash(&key, "worker").unwrap(), worker);
    let mut processor = blueque.processor(&task).unwrap();
    processor.start(4711).await.unwrap();
    let worker = format!("{} 4711", listener.name());
    assert_eq!(fixture.hash(&key, "worker").unwrap(), worker);
    processor.complete("[true]").await.unwrap();
    assert_eq!(fixture.hash(&key, "status").unwrap(), "succeeded");
    assert_eq!(fixture.hash(&key, "result").unwrap(), "[true]");
    let again = processor.complete("[true]").await.unwrap_err();
    assert_eq!(again.code(), "conflict");

    let task = listener.listen(Duration::ZERO).await.unwrap().unwrap();
    assert_eq!(task.parameters.as_deref(), Some(&b"\"plain words\""[..]));
    blueque.processor(&task).unwrap().fail("no").await.unwrap();
    let key = format!("bluequeue_task_{second}");
    assert_eq!(fixture.hash(&key, "error").unwrap(), "\"no\"");
    queue.delete_task(&second).await.unwrap();
    assert_eq!(fixture.redis(&format!("EXISTS {key}")).integer(), 0);
    assert!(listener.leave().await.unwrap());
    assert!(fixture.list("bluequeue_started_tasks_video").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_does_not_name_the_task() {
    let fixture = Fixture::new();
    let queue = document(&fixture).await.queue(QUEUE).unwrap();
    let mut subscriber = fixture.server.connect().unwrap();
    subscriber
        .command(&["SUBSCRIBE", "bluequeue_channel_video"])
        .unwrap();
    let id = queue.enqueue("1").await.unwrap();
    let message = subscriber.receive().unwrap();
    let parts: Vec<_> = message.array().iter().map(Reply::text).collect();
    assert_eq!(parts[..2], ["message", "bluequeue_channel_video"]);
    assert!(!parts[2].contains(&id), "{parts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_subscribes_when_it_found_nothing_and_stays_until_it_gets_a_task() {
    let fixture = Fixture::new();
    let queue = document(&fixture).await.queue(QUEUE).unwrap();
    let mut listener = join_listener(&queue).await;
    queue.enqueue("1").await.unwrap();
    assert!(listener.listen(LONG).await.unwrap().is_some());
    assert_eq!(subscribers(&fixture), "0", "it found one at once");

    assert!(finds_none(&mut listener).await);
    assert_eq!(subscribers(&fixture), "1", "it found none, and stays");
    // A message without a task: another listener was faster.
    fixture.redis("PUBLISH bluequeue_channel_video more");
    assert!(finds_none(&mut listener).await);
    assert_eq!(subscribers(&fixture), "1", "it got none, and stays");

    enqueue_by_other_client(&fixture, "77");
    let task = listener.listen(LONG).await.unwrap().unwrap();
    assert_eq!(task.id, "77");
    assert_eq!(task.others["owner"], "x");
    until("it has unsubscribed", || match subscribers(&fixture) {
        none if none == "0" => Ok(()),
        some => Err(some),
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_announced_wakes_the_listener() {
    let fixture = Fixture::new();
    let queue = document(&fixture).await.queue(QUEUE).unwrap();
    let mut listener = join_listener(&queue).await;
    let waiting = tokio::spawn(async move { listener.listen(LONG).await.unwrap() });
    until("it has subscribed", || match subscribers(&fixture) {
        one if one == "1" => Ok(()),
        none => Err(none),
    });
    let id = queue.enqueue("1").await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().id, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_workers_tasks_are_failed_or_retried_at_the_front() {
    let fixture = Fixture::new();
    let blueque = document(&fixture).await;
    let queue = blueque.queue(QUEUE).unwrap();
    for retry_lost in [false, true] {
        fixture.redis("FLUSHALL");
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(queue.enqueue("1").await.unwrap());
        }
        let mut listener = join_listener(&queue).await;
        for _ in 0..2 {
            listener.listen(Duration::ZERO).await.unwrap().unwrap();
        }
        let record = format!("bluequeue_worker_{}", listener.name());
        assert_eq!(fixture.redis(&format!("EXISTS {record}")).integer(), 1);
        let mut options = clean_options(&[listener.name()]);
        options.retry_lost = retry_lost;

        let cleaned = queue.clean(&options).await.unwrap();

        let pending = fixture.list("bluequeue_pending_tasks_video");
        if retry_lost {
            assert_eq!(cleaned.requeued, 2);
            assert_eq!(pending, ids);
        } else {
            assert_eq!(cleaned.failed, 2);
            assert_eq!(pending, ids[2..]);
            let key = format!("bluequeue_task_{}", ids[0]);
            assert_eq!(fixture.hash(&key, "status").unwrap(), "failed");
            assert_eq!(fixture.hash(&key, "error").unwrap(), "\"worker_lost\"");
        }
        assert!(fixture.list("bluequeue_started_tasks_video").is_empty());
        assert_eq!(fixture.redis(&format!("EXISTS {record}")).integer(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_worker_of_another_client_is_found_by_its_task_records() {
    let fixture = Fixture::new();
    let queue = document(&fixture).await.queue(QUEUE).unwrap();
    for (id, worker) in [("1", "there 7"), ("2", "there 8"), ("3", "elsewhere 7")] {
        let command = ["HSET", &format!("bluequeue_task_{id}"), "status", "started"];
        let more = ["parameters", "[1]", "worker", worker];
        fixture
            .server
            .command(&[&command[..], &more[..]].concat())
            .ok();
    }
    let cleaned = queue.clean(&clean_options(&["there"])).await.unwrap();
    assert_eq!(cleaned.failed, 2);
    assert_eq!(
        fixture.hash("bluequeue_task_1", "status").unwrap(),
        "failed"
    );
    assert_eq!(
        fixture.hash("bluequeue_task_3", "status").unwrap(),
        "started"
    );

    let mut options = clean_options(&["elsewhere"]);
    options.retry_lost = true;
    let cleaned = queue.clean(&options).await.unwrap();
    assert_eq!(cleaned.requeued, 1);
    assert_eq!(fixture.list("bluequeue_pending_tasks_video"), ["3"]);
}
