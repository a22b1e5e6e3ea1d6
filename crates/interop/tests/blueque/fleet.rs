//! Mixed fleets run every task exactly once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;
use windlass_interop::blueque::BluequeLayout;
use windlass_testkit::redis::until;

use super::consistency::assert_consistent;
use super::fixture::{Fixture, QUEUE, join_listener};
use super::peer::{Peer, Worker};

/// Tasks enqueued by each side.
const TASKS: usize = 1000;

/// Progress is checked in steps of this many tasks.
const STRIDE: usize = 200;

/// Workers on each side.
const WORKERS: usize = 2;

/// How long one call waits for a task.
const WAIT: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_fleet_runs_two_thousand_tasks_each_once() {
    let fixture = Fixture::new();
    let mut theirs: Vec<_> = (0..WORKERS)
        .map(|_| Worker::start("work", &fixture.server, QUEUE))
        .collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let ours = workers(&fixture, &is_over).await;
    let url = super::peer::url(&fixture.server);
    let producer = std::thread::spawn(move || {
        let steps: Vec<_> = (0..TASKS)
            .map(|n| json!(["enqueue", QUEUE, n.to_string()]))
            .collect();
        Peer::start().try_run(&url, &json!(steps))
    });
    let queue = fixture.queue().await;
    let mut ids = BTreeSet::new();
    for number in 0..TASKS {
        ids.insert(queue.enqueue(number.to_string()).await.unwrap());
    }
    let (made, is_complete) = producer.join().unwrap();
    assert!(is_complete);
    ids.extend(made.iter().map(|id| id.as_str().unwrap().to_owned()));
    assert_eq!(ids.len(), 2 * TASKS);

    // A busy machine may be slow, as long as there is progress.
    for goal in (STRIDE..=2 * TASKS).step_by(STRIDE) {
        until("more are complete", || {
            let done = fixture.redis("LLEN blueque_complete_tasks_video").integer();
            if usize::try_from(done).unwrap() >= goal {
                Ok(())
            } else {
                Err(format!("{done} of {goal}"))
            }
        });
    }

    is_over.store(true, Ordering::Release);
    let mut ran = Vec::new();
    for worker in &mut theirs {
        worker.kill();
        let lines = worker.lines();
        let shown = |line: String| serde_json::from_str::<String>(&line).unwrap();
        ran.extend(lines.into_iter().map(shown));
    }
    let by_theirs = ran.len();
    for worker in ours {
        ran.extend(worker.await.unwrap());
    }
    assert_eq!(ran.len(), 2 * TASKS, "{by_theirs} by theirs");
    assert_eq!(ran.into_iter().collect::<BTreeSet<_>>(), ids);
    let done: BTreeSet<_> = fixture
        .list("blueque_complete_tasks_video")
        .into_iter()
        .collect();
    assert_eq!(done, ids);
    assert_consistent(&fixture, "at the end");
}

/// Starts Windlass workers, which run until `is_over`.
async fn workers(fixture: &Fixture, is_over: &Arc<AtomicBool>) -> Vec<JoinHandle<Vec<String>>> {
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let blueque = fixture.blueque(BluequeLayout::Released).await;
        let mut listener = join_listener(&blueque.queue(QUEUE).unwrap()).await;
        let is_over = Arc::clone(is_over);
        workers.push(tokio::spawn(async move {
            let mut ran = Vec::new();
            while !is_over.load(Ordering::Acquire) {
                let Some(task) = listener.listen(WAIT).await.unwrap() else {
                    continue;
                };
                let mut processor = blueque.processor(&task).unwrap();
                processor.start(std::process::id()).await.unwrap();
                ran.push(task.id);
                processor.complete("ours").await.unwrap();
            }
            ran
        }));
    }
    workers
}
