//! A client of ours that is killed at every single command of every operation: nothing is lost, and
//! nothing is in two places.

use std::time::Duration;

use windlass_interop::Server as Peer;
use windlass_interop::worqr::{Layout, Settings, WorkerOptions, Worqr};
use windlass_testkit::redis::{Cut, Steps};

use crate::place::{LONG, Place, texts};

/// The operations, and which tasks each may have taken away or put in.
const OPERATIONS: [(&str, &[&str], &[&str]); 17] = [
    ("enqueue", &[], &["new"]),
    ("enqueue_many", &[], &["new", "newer"]),
    ("enqueue_unique", &[], &["new"]),
    ("cancel_tasks", &["d"], &[]),
    ("delete_queue", &["c", "d", "unique"], &[]),
    ("start_task", &[], &[]),
    ("start_task_within", &[], &[]),
    ("stop_task", &[], &[]),
    ("finish_task", &["a"], &[]),
    ("start_worker", &[], &[]),
    ("keep_worker_alive", &[], &[]),
    ("start_work", &[], &[]),
    ("request_work", &[], &[]),
    ("stop_work", &[], &[]),
    ("fail_worker", &[], &[]),
    ("cleanup_workers", &[], &[]),
    ("join_and_leave", &[], &[]),
];

const TASKS: [&str; 5] = ["a", "b", "c", "d", "unique"];

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_doubled_in_the_released_layout() {
    step_through(&Settings::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_doubled_in_the_documents_layout() {
    step_through(&Settings::document("")).await;
}

async fn step_through(settings: &Settings) {
    let place = Place::new(settings.clone()).await;
    let steps = Steps::before(&place.redis);
    for (operation, taken, put) in OPERATIONS {
        let mut cuts = 0;
        for cut in Cut::each() {
            let process = arrange(&place).await;
            steps.arm(cut);
            run_until_cut(&steps, settings, operation, &process).await;
            let was_cut = steps.was_cut();
            steps.arm(Cut::Never);
            let case = format!("{operation}, {cut:?}");
            judge(&place, &case, taken, put);
            recover(&place, &case, taken, put).await;
            if !was_cut {
                break;
            }
            cuts += 1;
        }
        assert!(cuts >= 2, "{operation} was never cut before and after");
    }
}

/// Two workers with one task each in progress, three more that wait, one of them unique.
async fn arrange(place: &Place) -> String {
    place.command("FLUSHALL");
    let worqr = &place.worqr;
    let plain = &TASKS[..4];
    worqr.enqueue_many("mail", plain.to_vec()).await.unwrap();
    worqr.enqueue_unique("mail", TASKS[4]).await.unwrap();
    place.worker("w", "mail").await;
    place.worker("other", "mail").await;
    let process = place.start("w", "mail").await.id;
    place.start("other", "mail").await;
    process
}

/// A client that dies where it is cut off, on connections of its own.
async fn run_until_cut(steps: &Steps, settings: &Settings, operation: &str, process: &str) {
    let work = async {
        let server = Peer::open(&steps.url()).await.unwrap();
        let worqr = Worqr::new(&server, settings.clone()).unwrap();
        // A lost connection is told as an error, or tried again until the client dies.
        let _ = operate(&worqr, operation, process).await;
    };
    let cut = async {
        while !steps.was_cut() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        () = work => {}
        () = cut => {}
    }
}

async fn operate(worqr: &Worqr, operation: &str, process: &str) -> windlass_core::Result<()> {
    let minute = Duration::from_secs(60);
    match operation {
        "enqueue" => worqr.enqueue("mail", "new").await?,
        "enqueue_many" => drop(worqr.enqueue_many("mail", ["new", "newer"]).await?),
        "enqueue_unique" => drop(worqr.enqueue_unique("mail", "new").await?),
        "cancel_tasks" => drop(worqr.cancel_tasks("mail", "d").await?),
        "delete_queue" => drop(worqr.delete_queue("mail").await?),
        "start_task" => drop(worqr.start_task("w", "mail").await?),
        "start_task_within" => drop(worqr.start_task_within("w", "mail", minute).await?),
        "stop_task" => drop(worqr.stop_task("w", process).await?),
        "finish_task" => drop(worqr.finish_task("w", process).await?),
        "start_worker" => worqr.start_worker("new", LONG).await?,
        "keep_worker_alive" => drop(worqr.keep_worker_alive("w", minute * 60).await?),
        "start_work" => drop(worqr.start_work("w", "other").await?),
        "request_work" => drop(worqr.request_work("mail").await?),
        "stop_work" => drop(worqr.stop_work("w", "mail").await?),
        "fail_worker" => drop(worqr.fail_worker("w").await?),
        "cleanup_workers" => drop(worqr.cleanup_workers().await?),
        _ => {
            let options = WorkerOptions {
                id: Some("w".to_owned()),
                lifetime: LONG,
                cleanup: None,
                ..WorkerOptions::default()
            };
            let worker = worqr.join(options).await?;
            worker.start_work("mail").await?;
            worker.start_task("mail").await?;
            worker.leave().await?;
        }
    }
    Ok(())
}

/// Every task in every list, wherever it is; what a delete laid aside counts as deleted.
fn tasks(place: &Place) -> Vec<String> {
    let mut tasks = Vec::new();
    for key in texts(&place.redis.command(&["KEYS", "*"])) {
        let kind = place.redis.command(&["TYPE", &key]).text();
        if kind == "list" && !key.contains("windlass") {
            tasks.extend(texts(&place.redis.command(&["LRANGE", &key, "0", "-1"])));
        }
    }
    tasks.sort();
    tasks
}

/// The operation was done as a whole or not at all.
fn judge(place: &Place, case: &str, taken: &[&str], put: &[&str]) {
    let mut before: Vec<&str> = TASKS.to_vec();
    before.sort_unstable();
    let mut after: Vec<&str> = before.clone();
    after.retain(|task| !taken.contains(task));
    after.extend(put);
    after.sort_unstable();
    let found = tasks(place);
    assert!(found == before || found == after, "{case}: {found:?}");
}

/// All workers are dead by now; one cleanup by anybody mends everything.
async fn recover(place: &Place, case: &str, taken: &[&str], put: &[&str]) {
    for worker in ["w", "other", "new"] {
        place.command(&format!("DEL worqr:workerTimers:{worker} {worker}"));
    }
    place.worqr.cleanup_workers().await.unwrap();
    judge(place, case, taken, put);
    let waiting = place.waiting("mail").await;
    assert_eq!(
        waiting.len(),
        tasks(place).len(),
        "{case}: {:?}",
        place.keys()
    );
    let unique: Vec<&str> = ["unique", "new"]
        .into_iter()
        .filter(|task| waiting.iter().any(|waits| waits == task))
        .collect();
    let locks = place
        .keys()
        .iter()
        .filter(|key| key.contains("unique") && key.contains("string"))
        .count();
    let is_plain = case.starts_with("enqueue,") || case.starts_with("enqueue_many");
    let expected = unique.len() - usize::from(is_plain && unique.contains(&"new"));
    assert_eq!(locks, expected, "{case}: {:?}", place.keys());
    // The queue and its locks are all that is left.
    let mut keys = place.keys();
    keys.retain(|key| !key.contains("unique") && !key.starts_with("windlass_queues"));
    keys.retain(|key| !key.starts_with(&queue_key(place)));
    assert_eq!(keys, [""; 0], "{case}");
}

fn queue_key(place: &Place) -> String {
    match place.layout {
        Layout::Released => "worqr:queues:mail list".to_owned(),
        Layout::Document => "mail list".to_owned(),
    }
}
