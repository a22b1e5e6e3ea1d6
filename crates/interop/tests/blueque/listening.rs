//! Listening: waiting, wake-ups and heartbeats.

use std::time::{Duration, Instant};

use windlass_core::ErrorKind;
use windlass_interop::blueque::ListenerOptions;
use windlass_testkit::redis::{CutPoint, FaultProxy, until};

use super::fixture::{Fixture, QUEUE, clean_options, connect, join_listener};
use windlass_interop::blueque::BluequeLayout;

/// Longer than needed on any busy machine.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_waits_gets_the_task_that_comes() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let mut listener = join_listener(&queue).await;
    let waiting = tokio::spawn(async move { listener.listen(LONG).await.unwrap() });
    until("it waits at the server", || {
        let clients = fixture.redis("CLIENT LIST").text();
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
async fn a_wait_without_a_task_ends() {
    let fixture = Fixture::new();
    let mut listener = join_listener(&fixture.queue().await).await;
    let wait = Duration::from_millis(1500);
    let begun = Instant::now();
    assert_eq!(listener.listen(wait).await.unwrap(), None);
    assert!(begun.elapsed() >= wait);
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_without_a_task_and_ended_tasks_are_skipped() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    fixture.redis("RPUSH blueque_pending_tasks_video ended");
    fixture.redis("HSET blueque_task_ended status complete queue video");
    for number in 0..250 {
        fixture.redis(&format!(
            "RPUSH blueque_pending_tasks_video nothing-{number}"
        ));
    }
    let id = queue.enqueue("x").await.unwrap();
    let mut listener = join_listener(&queue).await;
    let task = listener.listen(Duration::ZERO).await.unwrap();
    assert_eq!(task.unwrap().id, id);
    assert!(fixture.list("blueque_pending_tasks_video").is_empty());
    assert_eq!(fixture.redis("EXISTS blueque_task_nothing-1").integer(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_is_counted_once_and_originals_can_parse_its_name() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let mut options = ListenerOptions::default();
    options.name = Some("web_7".to_owned());
    let first = queue.join(options.clone()).await.unwrap();
    let second = queue.join(options).await.unwrap();
    assert_eq!(fixture.recorded_listeners(), "1");
    let other = join_listener(&queue).await;
    assert_eq!(fixture.recorded_listeners(), "2");
    let (host, pid) = other.name().rsplit_once('_').unwrap();
    assert_eq!(pid, std::process::id().to_string());
    assert!(host.contains('+'), "{host}");
    assert!(first.leave().await.unwrap());
    assert!(second.leave().await.unwrap());
    assert!(other.leave().await.unwrap());
    assert_eq!(fixture.recorded_listeners(), "0");
    assert!(fixture.list("blueque_beats_video").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_each_listener_expires_with_its_heartbeat() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let listener = join_listener(&queue).await;
    let key = format!("blueque_worker_{}", listener.name());
    let record: serde_json::Value =
        serde_json::from_str(&fixture.redis(&format!("GET {key}")).text()).unwrap();
    assert_eq!(record["id"], listener.name());
    assert_eq!(record["pid"], std::process::id());
    assert_eq!(record["queue"], QUEUE);
    let left = fixture.redis(&format!("PTTL {key}")).integer();
    assert!((1..=30_000).contains(&left), "{left}");
    fixture.redis(&format!("DEL {key}"));
    listener.send_heartbeat().await.unwrap();
    assert_eq!(fixture.redis(&format!("EXISTS {key}")).integer(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_was_declared_lost_gets_an_error_and_no_task() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let mut listener = join_listener(&queue).await;
    let mut heartbeat = listener.start_heartbeat();
    let cleaned = queue
        .clean(&clean_options(&[listener.name()]))
        .await
        .unwrap();
    assert_eq!(cleaned.listeners, 1);
    queue.enqueue("x").await.unwrap();

    let refused = listener.listen(Duration::ZERO).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(listener.send_heartbeat().await.is_err());
    assert_eq!(queue.stats().await.unwrap().pending, 1);
    tokio::time::timeout(LONG, heartbeat.lost()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_keeps_a_listener_alive_beyond_its_lifetime() {
    let fixture = Fixture::new();
    let queue = fixture.queue().await;
    let listener = join_listener(&queue).await;
    let score = || {
        let line = format!("ZSCORE blueque_beats_video {}", listener.name());
        fixture.redis(&line).text().parse::<f64>().unwrap()
    };
    let before = score();
    let _heartbeat = listener.start_heartbeat();
    until("a heartbeat arrives", || {
        if score() > before {
            Ok(())
        } else {
            Err("no heartbeat".to_owned())
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_reply_was_lost_gets_the_same_task_again() {
    let fixture = Fixture::new();
    let steps = FaultProxy::before(&fixture.server);
    let queue = connect(&steps.url(), BluequeLayout::Released)
        .await
        .queue(QUEUE)
        .unwrap();
    let first = queue.enqueue("x").await.unwrap();
    let second = queue.enqueue("x").await.unwrap();
    let mut listener = join_listener(&queue).await;
    // The script is loaded now, so that each call is one command.
    assert!(listener.listen(Duration::ZERO).await.unwrap().is_some());
    let entries = || fixture.list("blueque_pending_tasks_video");
    assert_eq!(entries(), [second.as_str()]);

    steps.arm(CutPoint::After(0));
    tokio::select! {
        found = listener.listen(Duration::ZERO) => panic!("unexpected reply {found:?}"),
        () = cut(&steps) => {}
    }
    assert!(entries().is_empty());
    queue_more(&fixture).await;
    steps.arm(CutPoint::Never);

    let task = listener.listen(Duration::ZERO).await.unwrap().unwrap();
    assert_eq!(task.id, second);
    let next = listener.listen(Duration::ZERO).await.unwrap().unwrap();
    assert!(next.id != first && next.id != second);
}

async fn queue_more(fixture: &Fixture) {
    fixture.queue().await.enqueue("more").await.unwrap();
}

/// Waits until the proxy has cut its client off.
pub(crate) async fn cut(steps: &FaultProxy) {
    while !steps.was_cut() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
