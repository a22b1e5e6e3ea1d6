//! All tasks of dead listeners are found and returned or failed exactly once.

use std::time::Duration;

use windlass_interop::blueque::{BluequeCleanReport, BluequeLayout, CleanOptions, ListenerOptions};
use windlass_testkit::redis::until;

use super::consistency::assert_consistent;
use super::fixture::{Fixture, clean_options, join_listener};

fn counts(report: BluequeCleanReport) -> (u64, u64, u64) {
    (report.requeued, report.failed, report.stale)
}

#[tokio::test(flavor = "multi_thread")]
async fn all_tasks_of_a_dead_listener_go_to_the_front_in_their_order() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(queue.enqueue("x").await.unwrap());
    }
    let mut listener = join_listener(&queue).await;
    for _ in 0..4 {
        listener.listen(Duration::ZERO).await.unwrap().unwrap();
    }
    let alive = queue.clean(&CleanOptions::default()).await.unwrap();
    assert_eq!(alive, BluequeCleanReport::default());

    let cleaned = queue
        .clean(&clean_options(&[listener.name()]))
        .await
        .unwrap();

    assert_eq!(counts(cleaned), (4, 0, 0));
    assert_eq!(cleaned.listeners, 1);
    ids.reverse();
    assert_eq!(fixture.list("blueque_pending_tasks_video"), ids);
    assert_eq!(fixture.field(&ids[4], "node"), None);
    assert_consistent(&fixture, "after the clean");
    let again = queue.clean(&CleanOptions::default()).await.unwrap();
    assert_eq!(again, BluequeCleanReport::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_without_heartbeats_is_lost_on_any_host() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let id = queue.enqueue("x").await.unwrap();
    let mut options = ListenerOptions::default();
    options.alive = Duration::from_secs(1);
    options.name = Some("far.example.org_7".to_owned());
    let mut listener = queue.join(options).await.unwrap();
    assert!(listener.listen(Duration::ZERO).await.unwrap().is_some());

    let runtime = tokio::runtime::Handle::current();
    let cleaned = tokio::task::block_in_place(|| {
        until("its lifetime is over", || {
            let cleaned = runtime.block_on(queue.clean(&CleanOptions::default()));
            match cleaned.unwrap() {
                cleaned if cleaned.requeued == 1 => Ok(cleaned),
                cleaned => Err(format!("{cleaned:?}")),
            }
        })
    });

    assert_eq!(cleaned.listeners, 1);
    assert_eq!(fixture.list("blueque_pending_tasks_video"), [id]);
    assert_consistent(&fixture, "after the clean");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_started_task_is_failed_or_retried_as_configured() {
    let fixture = Fixture::new();
    let blueque = fixture.blueque(BluequeLayout::Released).await;
    let queue = fixture.queue().await;
    for retry_lost in [false, true] {
        let id = queue.enqueue("x").await.unwrap();
        fixture.redis(&format!("HSET blueque_task_{id} billing 7"));
        let mut listener = join_listener(&queue).await;
        let task = listener.listen(Duration::ZERO).await.unwrap().unwrap();
        assert_eq!(task.id, id);
        let mut processor = blueque.processor(&task).unwrap();
        processor.start(1).await.unwrap();
        let mut options = clean_options(&[listener.name()]);
        options.retry_lost = retry_lost;

        let cleaned = queue.clean(&options).await.unwrap();

        let expected = if retry_lost { (1, 0, 0) } else { (0, 1, 0) };
        assert_eq!(counts(cleaned), expected);
        assert_consistent(&fixture, "after the clean");
        assert_eq!(fixture.field(&id, "billing").unwrap(), "7");
        if retry_lost {
            assert_eq!(fixture.list("blueque_pending_tasks_video"), [id.as_str()]);
        } else {
            assert_eq!(fixture.field(&id, "error").unwrap(), "worker_lost");
            assert_eq!(fixture.list("blueque_failed_tasks_video"), [id.as_str()]);
        }
        let refused = processor.complete("late").await.unwrap_err();
        assert_eq!(refused.code(), "conflict");
        assert_consistent(&fixture, "after the late call");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_another_listener_got_is_lost_to_the_first() {
    let fixture = Fixture::new();
    let blueque = fixture.blueque(BluequeLayout::Released).await;
    let queue = fixture.queue().await;
    queue.enqueue("x").await.unwrap();
    let mut first = join_listener(&queue).await;
    let task = first.listen(Duration::ZERO).await.unwrap().unwrap();
    let mut late = blueque.processor(&task).unwrap();
    late.start(1).await.unwrap();
    let mut options = clean_options(&[first.name()]);
    options.retry_lost = true;
    queue.clean(&options).await.unwrap();
    let mut second = join_listener(&queue).await;
    let task = second.listen(Duration::ZERO).await.unwrap().unwrap();
    let mut processor = blueque.processor(&task).unwrap();
    processor.start(2).await.unwrap();

    let refused = late.complete("late").await.unwrap_err();
    assert!(
        refused.to_string().contains("another listener"),
        "{refused}"
    );
    let refused = late.start(1).await.unwrap_err();
    assert_eq!(refused.code(), "conflict");
    processor.complete("done").await.unwrap();
    assert_eq!(fixture.field(&task.id, "result").unwrap(), "done");
    assert_consistent(&fixture, "at the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_with_ambiguous_names_are_distinguished() {
    let fixture = Fixture::new();
    let blueque = fixture.blueque(BluequeLayout::Released).await;
    // The list of host_1 in `a_b` has the same key as the list of b_host_1 in `a`.
    let (short, long) = (blueque.queue("a").unwrap(), blueque.queue("a_b").unwrap());
    let id = long.enqueue("x").await.unwrap();
    let mut options = ListenerOptions::default();
    options.name = Some("host_1".to_owned());
    let mut listener = long.join(options).await.unwrap();
    listener.listen(Duration::ZERO).await.unwrap().unwrap();

    let cleaned = short.clean(&clean_options(&["b_host_1"])).await.unwrap();
    assert_eq!(counts(cleaned), (0, 0, 0));
    assert_eq!(fixture.list("blueque_reserved_tasks_a_b_host_1"), [id]);
    assert!(fixture.list("blueque_pending_tasks_a").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_number_of_listeners_is_repaired() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let _listener = join_listener(&queue).await;
    fixture.redis("ZADD blueque_queues 5 video");
    let cleaned = queue.clean(&clean_options(&[])).await.unwrap();
    assert!(cleaned.is_recounted);
    assert_eq!(fixture.recorded_listeners(), "1");
    let cleaned = queue.clean(&clean_options(&[])).await.unwrap();
    assert!(!cleaned.is_recounted);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_cleaners_at_once_bring_each_task_back_once() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    for _ in 0..50 {
        queue.enqueue("x").await.unwrap();
    }
    let mut listener = join_listener(&queue).await;
    for _ in 0..50 {
        listener.listen(Duration::ZERO).await.unwrap().unwrap();
    }
    let options = clean_options(&[listener.name()]);
    let other = fixture.queue().await;
    let both = tokio::join!(queue.clean(&options), other.clean(&options));
    let (one, two) = (both.0.unwrap(), both.1.unwrap());
    assert_eq!(one.requeued + two.requeued, 50);
    assert_eq!(fixture.list("blueque_pending_tasks_video").len(), 50);
    assert_consistent(&fixture, "after both");
}
