//! The life cycle of tasks in the released layout.

use windlass_core::ErrorKind;
use windlass_interop::blueque::BluequeLayout;
use windlass_testkit::redis::Reply;

use super::fixture::{Fixture, join_listener};

/// Times in the past and far in the future, in seconds.
const PAST: f64 = 1.5;
const FUTURE: f64 = 99_999_999_999.5;

#[tokio::test(flavor = "multi_thread")]
async fn an_enqueued_task_has_the_record_of_the_original() {
    let fixture = Fixture::new();
    let id = fixture.queue().await.enqueue("a b").await.unwrap();

    let fields = fixture.redis(&format!("HKEYS blueque_task_{id}"));
    let mut names: Vec<_> = fields.array().iter().map(Reply::text).collect();
    names.sort();
    assert_eq!(
        names,
        ["created", "parameters", "queue", "status", "updated"]
    );
    assert_eq!(fixture.field(&id, "status").unwrap(), "pending");
    assert_eq!(fixture.field(&id, "queue").unwrap(), "video");
    assert_eq!(fixture.field(&id, "parameters").unwrap(), "a b");
    let created: f64 = fixture.field(&id, "created").unwrap().parse().unwrap();
    assert!(created > 1e9, "{created}");
    assert_eq!(fixture.list("blueque_pending_tasks_video"), [id]);
    assert_eq!(fixture.recorded_listeners(), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_leave_in_the_order_they_came() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let mut listener = join_listener(&queue).await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(queue.enqueue(number.to_string()).await.unwrap());
    }

    let mut taken = Vec::new();
    while let Some(task) = listener.listen(std::time::Duration::ZERO).await.unwrap() {
        assert_eq!(task.status, "reserved");
        assert_eq!(task.node.as_deref(), Some(listener.name()));
        taken.push(task.id);
    }
    assert_eq!(taken, ids);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_scheduled_and_moves_when_it_is_due() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let (late, status) = queue.schedule("late", FUTURE).await.unwrap();
    assert_eq!(status, "scheduled");
    assert_eq!(fixture.field(&late, "eta").unwrap(), "99999999999.5");
    assert_eq!(
        fixture.list("blueque_scheduled_tasks_video"),
        [late.as_str()]
    );
    let (early, status) = queue.schedule("early", PAST).await.unwrap();
    assert_eq!(status, "pending");
    assert_eq!(queue.enqueue_due_tasks().await.unwrap(), 0);

    fixture.redis(&format!("ZADD blueque_scheduled_tasks_video 5 {late}"));
    fixture.redis("ZADD blueque_scheduled_tasks_video 5 without-record");

    assert_eq!(queue.enqueue_due_tasks().await.unwrap(), 1);
    assert_eq!(
        fixture.list("blueque_pending_tasks_video"),
        [late.clone(), early]
    );
    assert_eq!(fixture.field(&late, "status").unwrap(), "pending");
    assert!(fixture.list("blueque_scheduled_tasks_video").is_empty());
    assert_eq!(
        fixture
            .redis("EXISTS blueque_task_without-record")
            .integer(),
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn more_due_tasks_than_a_page_all_move_the_earliest_first() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let mut ids = Vec::new();
    for number in 0..450 {
        let (id, _) = queue.schedule("x", FUTURE).await.unwrap();
        fixture.redis(&format!("ZADD blueque_scheduled_tasks_video {number} {id}"));
        ids.push(id);
    }
    assert_eq!(queue.enqueue_due_tasks().await.unwrap(), 450);
    ids.reverse();
    assert_eq!(fixture.list("blueque_pending_tasks_video"), ids);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_started_and_completed_once() {
    let fixture = Fixture::new();
    let blueque = fixture.blueque(BluequeLayout::Released).await;
    let queue = fixture.queue().await;
    let id = queue.enqueue("x").await.unwrap();
    fixture.redis(&format!("HSET blueque_task_{id} billing 7"));
    let mut listener = join_listener(&queue).await;
    let task = listener.listen(std::time::Duration::ZERO).await.unwrap();
    let mut processor = blueque.processor(&task.unwrap()).unwrap();

    processor.start(4711).await.unwrap();
    processor.start(4711).await.unwrap();
    let entry = format!("{} 4711 {id}", listener.name());
    // Originals parse the parts of the entry.
    let members = fixture.list("blueque_started_tasks_video");
    assert_eq!(members, [entry]);
    assert_eq!(fixture.field(&id, "status").unwrap(), "started");
    assert_eq!(fixture.field(&id, "pid").unwrap(), "4711");

    processor.complete("").await.unwrap();
    let again = processor.complete("other").await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Conflict);
    assert!(again.to_string().contains("is complete"), "{again}");
    let fail = processor.fail("other").await.unwrap_err();
    assert_eq!(fail.kind(), ErrorKind::Conflict);

    assert_eq!(fixture.field(&id, "status").unwrap(), "complete");
    assert_eq!(fixture.field(&id, "result").unwrap(), "");
    assert_eq!(fixture.field(&id, "billing").unwrap(), "7");
    assert_eq!(fixture.list("blueque_complete_tasks_video"), [id.as_str()]);
    assert!(fixture.list("blueque_started_tasks_video").is_empty());
    let task = blueque.get_task(&id).await.unwrap().unwrap();
    assert_eq!(task.result.unwrap(), "");
    assert_eq!(task.others["billing"], "7");
    assert!(listener.leave().await.unwrap());
    assert_eq!(fixture.recorded_listeners(), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_not_started_cannot_be_completed_but_can_fail() {
    let fixture = Fixture::new();
    let blueque = fixture.blueque(BluequeLayout::Released).await;
    let queue = fixture.queue().await;
    let id = queue.enqueue("x").await.unwrap();
    let pending = blueque.get_task(&id).await.unwrap().unwrap();
    let refused = blueque.processor(&pending).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    let mut listener = join_listener(&queue).await;
    let task = listener.listen(std::time::Duration::ZERO).await.unwrap();
    let mut processor = blueque.processor(&task.unwrap()).unwrap();

    let refused = processor.complete("x").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    processor.fail("no").await.unwrap();

    assert_eq!(fixture.field(&id, "error").unwrap(), "no");
    assert_eq!(fixture.list("blueque_failed_tasks_video"), [id]);
    assert!(listener.leave().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_finished_tasks_of_the_queue_are_deleted() {
    let fixture = Fixture::new();
    let blueque = fixture.blueque(BluequeLayout::Released).await;
    let queue = fixture.queue().await;
    let id = queue.enqueue("x").await.unwrap();
    let refused = queue.delete_task(&id).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    let mut listener = join_listener(&queue).await;
    let task = listener.listen(std::time::Duration::ZERO).await.unwrap();
    let mut processor = blueque.processor(&task.unwrap()).unwrap();
    processor.start(1).await.unwrap();
    processor.complete("x").await.unwrap();
    // The original lists an id twice if the task is completed twice.
    fixture.redis(&format!("LPUSH blueque_complete_tasks_video {id}"));

    let other = blueque.queue("other").unwrap();
    let refused = other.delete_task(&id).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    queue.delete_task(&id).await.unwrap();

    assert!(blueque.get_task(&id).await.unwrap().is_none());
    assert!(fixture.list("blueque_complete_tasks_video").is_empty());
    let refused = queue.delete_task(&id).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_and_listeners_are_listed() {
    let fixture = Fixture::new();
    let blueque = fixture.blueque(BluequeLayout::Released).await;
    let queue = fixture.queue().await;
    queue.enqueue("x").await.unwrap();
    blueque.queue("audio").unwrap().enqueue("x").await.unwrap();
    let mut listener = join_listener(&queue).await;
    listener.listen(std::time::Duration::ZERO).await.unwrap();
    fixture.redis("SADD blueque_listeners_video far.example.org_7");

    assert_eq!(blueque.queues().await.unwrap(), ["audio", "video"]);
    let stats = queue.stats().await.unwrap();
    assert_eq!((stats.listeners, stats.pending), (2, 0));
    let known = queue.listeners().await.unwrap();
    let far = known.iter().find(|one| one.name == "far.example.org_7");
    assert_eq!(far.unwrap().host.as_deref(), Some("far.example.org"));
    assert_eq!(far.unwrap().is_alive, None);
    let own = known.iter().find(|one| one.name == listener.name());
    assert_eq!(own.unwrap().tasks, 1);
    assert_eq!(own.unwrap().is_alive, Some(true));
}
