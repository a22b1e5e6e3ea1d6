//! What dead listeners held is found, all of it, and each task finds one place.

use std::time::Duration;

use windlass_interop::blueque::{CleanOptions, Cleaned, Layout, ListenerOptions};
use windlass_testkit::redis::until;

use super::place::{Place, joined, knowing};
use super::soundness::assert_sound;

fn figures(cleaned: Cleaned) -> (u64, u64, u64) {
    (cleaned.requeued, cleaned.failed, cleaned.stale)
}

#[tokio::test(flavor = "multi_thread")]
async fn all_tasks_of_a_dead_listener_go_to_the_front_in_their_order() {
    let place = Place::new();
    let queue = place.queue().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(queue.enqueue("x").await.unwrap());
    }
    let mut listener = joined(&queue).await;
    for _ in 0..4 {
        listener.listen(Duration::ZERO).await.unwrap().unwrap();
    }
    let alive = queue.clean(&CleanOptions::default()).await.unwrap();
    assert_eq!(alive, Cleaned::default());

    let cleaned = queue.clean(&knowing(&[listener.name()])).await.unwrap();

    assert_eq!(figures(cleaned), (4, 0, 0));
    assert_eq!(cleaned.listeners, 1);
    ids.reverse();
    assert_eq!(place.list("blueque_pending_tasks_video"), ids);
    assert_eq!(place.field(&ids[4], "node"), None);
    assert_sound(&place, "after the clean");
    let again = queue.clean(&CleanOptions::default()).await.unwrap();
    assert_eq!(again, Cleaned::default());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_without_a_sign_of_life_is_lost_on_any_host() {
    let place = Place::new();
    let queue = place.queue().await;
    let id = queue.enqueue("x").await.unwrap();
    let mut options = ListenerOptions::default();
    options.alive = Duration::from_secs(1);
    options.name = Some("far.example.org_7".to_owned());
    let mut listener = queue.join(options).await.unwrap();
    assert!(listener.listen(Duration::ZERO).await.unwrap().is_some());

    let runtime = tokio::runtime::Handle::current();
    let cleaned = tokio::task::block_in_place(|| {
        until("its time is over", || {
            let cleaned = runtime.block_on(queue.clean(&CleanOptions::default()));
            match cleaned.unwrap() {
                cleaned if cleaned.requeued == 1 => Ok(cleaned),
                cleaned => Err(format!("{cleaned:?}")),
            }
        })
    });

    assert_eq!(cleaned.listeners, 1);
    assert_eq!(place.list("blueque_pending_tasks_video"), [id]);
    assert_sound(&place, "after the clean");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_was_started_is_failed_or_retried_as_told() {
    let place = Place::new();
    let blueque = place.blueque(Layout::Released).await;
    let queue = place.queue().await;
    for retry_lost in [false, true] {
        let id = queue.enqueue("x").await.unwrap();
        place.redis(&format!("HSET blueque_task_{id} billing 7"));
        let mut listener = joined(&queue).await;
        let task = listener.listen(Duration::ZERO).await.unwrap().unwrap();
        assert_eq!(task.id, id);
        let mut processor = blueque.processor(&task).unwrap();
        processor.start(1).await.unwrap();
        let mut options = knowing(&[listener.name()]);
        options.retry_lost = retry_lost;

        let cleaned = queue.clean(&options).await.unwrap();

        let expected = if retry_lost { (1, 0, 0) } else { (0, 1, 0) };
        assert_eq!(figures(cleaned), expected);
        assert_sound(&place, "after the clean");
        assert_eq!(place.field(&id, "billing").unwrap(), "7");
        if retry_lost {
            assert_eq!(place.list("blueque_pending_tasks_video"), [id.as_str()]);
        } else {
            assert_eq!(place.field(&id, "error").unwrap(), "worker_lost");
            assert_eq!(place.list("blueque_failed_tasks_video"), [id.as_str()]);
        }
        let refused = processor.complete("late").await.unwrap_err();
        assert_eq!(refused.code(), "conflict");
        assert_sound(&place, "after the late word");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_another_listener_got_is_lost_to_the_first() {
    let place = Place::new();
    let blueque = place.blueque(Layout::Released).await;
    let queue = place.queue().await;
    queue.enqueue("x").await.unwrap();
    let mut first = joined(&queue).await;
    let task = first.listen(Duration::ZERO).await.unwrap().unwrap();
    let mut late = blueque.processor(&task).unwrap();
    late.start(1).await.unwrap();
    let mut options = knowing(&[first.name()]);
    options.retry_lost = true;
    queue.clean(&options).await.unwrap();
    let mut second = joined(&queue).await;
    let task = second.listen(Duration::ZERO).await.unwrap().unwrap();
    let mut processor = blueque.processor(&task).unwrap();
    processor.start(2).await.unwrap();

    let refused = late.complete("late").await.unwrap_err();
    assert!(refused.to_string().contains("somebody else"), "{refused}");
    let refused = late.start(1).await.unwrap_err();
    assert_eq!(refused.code(), "conflict");
    processor.complete("done").await.unwrap();
    assert_eq!(place.field(&task.id, "result").unwrap(), "done");
    assert_sound(&place, "at the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_whose_names_run_into_each_other_are_told_apart() {
    let place = Place::new();
    let blueque = place.blueque(Layout::Released).await;
    // The list of `a_b` and host_1 has the name that `a` and b_host_1 would have.
    let (short, long) = (blueque.queue("a").unwrap(), blueque.queue("a_b").unwrap());
    let id = long.enqueue("x").await.unwrap();
    let mut options = ListenerOptions::default();
    options.name = Some("host_1".to_owned());
    let mut listener = long.join(options).await.unwrap();
    listener.listen(Duration::ZERO).await.unwrap().unwrap();

    let cleaned = short.clean(&knowing(&["b_host_1"])).await.unwrap();
    assert_eq!(figures(cleaned), (0, 0, 0));
    assert_eq!(place.list("blueque_reserved_tasks_a_b_host_1"), [id]);
    assert!(place.list("blueque_pending_tasks_a").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_number_of_listeners_is_mended() {
    let place = Place::new();
    let queue = place.queue().await;
    let _listener = joined(&queue).await;
    place.redis("ZADD blueque_queues 5 video");
    let cleaned = queue.clean(&knowing(&[])).await.unwrap();
    assert!(cleaned.is_recounted);
    assert_eq!(place.figure(), "1");
    let cleaned = queue.clean(&knowing(&[])).await.unwrap();
    assert!(!cleaned.is_recounted);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_cleaners_at_once_bring_each_task_back_once() {
    let place = Place::new();
    let queue = place.queue().await;
    for _ in 0..50 {
        queue.enqueue("x").await.unwrap();
    }
    let mut listener = joined(&queue).await;
    for _ in 0..50 {
        listener.listen(Duration::ZERO).await.unwrap().unwrap();
    }
    let options = knowing(&[listener.name()]);
    let other = place.queue().await;
    let both = tokio::join!(queue.clean(&options), other.clean(&options));
    let (one, two) = (both.0.unwrap(), both.1.unwrap());
    assert_eq!(one.requeued + two.requeued, 50);
    assert_eq!(place.list("blueque_pending_tasks_video").len(), 50);
    assert_sound(&place, "after both");
}
