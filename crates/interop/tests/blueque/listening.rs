//! Listening: waiting, waking, and being believed alive.

use std::time::{Duration, Instant};

use windlass_core::ErrorKind;
use windlass_interop::blueque::ListenerOptions;
use windlass_testkit::redis::{Cut, Steps, until};

use super::place::{Place, QUEUE, at, joined, knowing};
use windlass_interop::blueque::Layout;

/// Far more than a busy machine needs.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_waits_gets_the_task_that_comes() {
    let place = Place::new();
    let queue = place.queue().await;
    let mut listener = joined(&queue).await;
    let waiting = tokio::spawn(async move { listener.listen(LONG).await.unwrap() });
    until("it waits at the server", || {
        let clients = place.redis("CLIENT LIST").text();
        if clients.contains("cmd=blmove") {
            Ok(())
        } else {
            Err(clients)
        }
    });

    let id = queue.enqueue("x").await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().id, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_comes_and_the_wait_ends() {
    let place = Place::new();
    let mut listener = joined(&place.queue().await).await;
    let wait = Duration::from_millis(1500);
    let begun = Instant::now();
    assert_eq!(listener.listen(wait).await.unwrap(), None);
    assert!(begun.elapsed() >= wait);
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_without_a_task_and_ended_ones_are_passed_over() {
    let place = Place::new();
    let queue = place.queue().await;
    place.redis("RPUSH blueque_pending_tasks_video ended");
    place.redis("HSET blueque_task_ended status complete queue video");
    for number in 0..250 {
        place.redis(&format!(
            "RPUSH blueque_pending_tasks_video nothing-{number}"
        ));
    }
    let id = queue.enqueue("x").await.unwrap();
    let mut listener = joined(&queue).await;
    let task = listener.listen(Duration::ZERO).await.unwrap();
    assert_eq!(task.unwrap().id, id);
    assert!(place.list("blueque_pending_tasks_video").is_empty());
    assert_eq!(place.redis("EXISTS blueque_task_nothing-1").integer(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_is_counted_once_and_named_so_that_originals_can_read_it() {
    let place = Place::new();
    let queue = place.queue().await;
    let mut options = ListenerOptions::default();
    options.name = Some("web_7".to_owned());
    let first = queue.join(options.clone()).await.unwrap();
    let second = queue.join(options).await.unwrap();
    assert_eq!(place.figure(), "1");
    let other = joined(&queue).await;
    assert_eq!(place.figure(), "2");
    let (host, pid) = other.name().rsplit_once('_').unwrap();
    assert_eq!(pid, std::process::id().to_string());
    assert!(host.contains('+'), "{host}");
    assert!(first.leave().await.unwrap());
    assert!(second.leave().await.unwrap());
    assert!(other.leave().await.unwrap());
    assert_eq!(place.figure(), "0");
    assert!(place.list("blueque_beats_video").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_each_listener_expires_with_its_beat() {
    let place = Place::new();
    let queue = place.queue().await;
    let listener = joined(&queue).await;
    let key = format!("blueque_worker_{}", listener.name());
    let record: serde_json::Value =
        serde_json::from_str(&place.redis(&format!("GET {key}")).text()).unwrap();
    assert_eq!(record["id"], listener.name());
    assert_eq!(record["pid"], std::process::id());
    assert_eq!(record["queue"], QUEUE);
    let left = place.redis(&format!("PTTL {key}")).integer();
    assert!((1..=30_000).contains(&left), "{left}");
    place.redis(&format!("DEL {key}"));
    listener.beat().await.unwrap();
    assert_eq!(place.redis(&format!("EXISTS {key}")).integer(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_was_declared_lost_hears_so_and_takes_nothing() {
    let place = Place::new();
    let queue = place.queue().await;
    let mut listener = joined(&queue).await;
    let mut heartbeat = listener.heartbeat();
    let cleaned = queue.clean(&knowing(&[listener.name()])).await.unwrap();
    assert_eq!(cleaned.listeners, 1);
    queue.enqueue("x").await.unwrap();

    let refused = listener.listen(Duration::ZERO).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(listener.beat().await.is_err());
    assert_eq!(queue.figures().await.unwrap().pending, 1);
    tokio::time::timeout(LONG, heartbeat.lost()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_keeps_a_listener_alive_beyond_its_time() {
    let place = Place::new();
    let queue = place.queue().await;
    let listener = joined(&queue).await;
    let score = || {
        let line = format!("ZSCORE blueque_beats_video {}", listener.name());
        place.redis(&line).text().parse::<f64>().unwrap()
    };
    let before = score();
    let _heartbeat = listener.heartbeat();
    until("a beat is heard", || {
        if score() > before {
            Ok(())
        } else {
            Err("no beat".to_owned())
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_answer_was_lost_is_told_the_same_task_again() {
    let place = Place::new();
    let steps = Steps::before(&place.server);
    let queue = at(&steps.url(), Layout::Released)
        .await
        .queue(QUEUE)
        .unwrap();
    let first = queue.enqueue("x").await.unwrap();
    let second = queue.enqueue("x").await.unwrap();
    let mut listener = joined(&queue).await;
    // The script is known to the server from now on: it is one command.
    assert!(listener.listen(Duration::ZERO).await.unwrap().is_some());
    let entries = || place.list("blueque_pending_tasks_video");
    assert_eq!(entries(), [second.as_str()]);

    steps.arm(Cut::After(0));
    tokio::select! {
        found = listener.listen(Duration::ZERO) => panic!("nobody answers, yet {found:?}"),
        () = cut(&steps) => {}
    }
    assert!(entries().is_empty());
    queue_more(&place).await;
    steps.arm(Cut::Never);

    let task = listener.listen(Duration::ZERO).await.unwrap().unwrap();
    assert_eq!(task.id, second);
    let next = listener.listen(Duration::ZERO).await.unwrap().unwrap();
    assert!(next.id != first && next.id != second);
}

async fn queue_more(place: &Place) {
    place.queue().await.enqueue("more").await.unwrap();
}

/// Waits until the proxy has cut its client off.
pub(crate) async fn cut(steps: &Steps) {
    while !steps.was_cut() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
