//! A Windlass client killed at every command of every operation: nothing is lost, and nothing is in
//! two lists.

use std::time::Duration;

use windlass_interop::InteropServer;
use windlass_interop::worqr::{WorkerOptions, Worqr, WorqrLayout, WorqrSettings};
use windlass_testkit::redis::{CutPoint, FaultProxy};

use crate::fixture::{Fixture, LONG, texts};

/// The operations, and the tasks that each may remove or add.
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
async fn nothing_is_lost_or_duplicated_in_the_released_layout() {
    cut_every_command(&WorqrSettings::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_duplicated_in_the_document_layout() {
    cut_every_command(&WorqrSettings::document("")).await;
}

async fn cut_every_command(settings: &WorqrSettings) {
    let fixture = Fixture::new(settings.clone()).await;
    let steps = FaultProxy::before(&fixture.redis);
    for (operation, removed, added) in OPERATIONS {
        let mut cuts = 0;
        for cut in CutPoint::each() {
            let process = arrange(&fixture).await;
            steps.arm(cut);
            run_until_cut(&steps, settings, operation, &process).await;
            let was_cut = steps.was_cut();
            steps.arm(CutPoint::Never);
            let case = format!("{operation}, {cut:?}");
            check(&fixture, &case, removed, added);
            recover(&fixture, &case, removed, added).await;
            if !was_cut {
                break;
            }
            cuts += 1;
        }
        assert!(cuts >= 2, "{operation} was never cut before and after");
    }
}

/// Sets up two workers with one task each in progress, and three waiting tasks, one of them unique.
async fn arrange(fixture: &Fixture) -> String {
    fixture.command("FLUSHALL");
    let worqr = &fixture.worqr;
    let others = &TASKS[..4];
    worqr.enqueue_many("mail", others.to_vec()).await.unwrap();
    worqr.enqueue_unique("mail", TASKS[4]).await.unwrap();
    fixture.worker("w", "mail").await;
    fixture.worker("other", "mail").await;
    let process = fixture.start("w", "mail").await.id;
    fixture.start("other", "mail").await;
    process
}

/// Runs an operation on a separate connection until that is cut.
async fn run_until_cut(
    steps: &FaultProxy,
    settings: &WorqrSettings,
    operation: &str,
    process: &str,
) {
    let work = async {
        let server = InteropServer::open(&steps.url()).await.unwrap();
        let worqr = Worqr::new(&server, settings.clone()).unwrap();
        // The result does not matter: the call fails or is retried until the client is killed.
        let _ = run(&worqr, operation, process).await;
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

async fn run(worqr: &Worqr, operation: &str, process: &str) -> windlass_core::Result<()> {
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

/// Returns the tasks in all lists. Tasks kept by an interrupted delete count as deleted.
fn tasks(fixture: &Fixture) -> Vec<String> {
    let mut tasks = Vec::new();
    for key in texts(&fixture.redis.command(&["KEYS", "*"])) {
        let kind = fixture.redis.command(&["TYPE", &key]).text();
        if kind == "list" && !key.contains("windlass") {
            tasks.extend(texts(&fixture.redis.command(&["LRANGE", &key, "0", "-1"])));
        }
    }
    tasks.sort();
    tasks
}

/// Checks that the operation was done completely or not at all.
fn check(fixture: &Fixture, case: &str, removed: &[&str], added: &[&str]) {
    let mut before: Vec<&str> = TASKS.to_vec();
    before.sort_unstable();
    let mut after: Vec<&str> = before.clone();
    after.retain(|task| !removed.contains(task));
    after.extend(added);
    after.sort_unstable();
    let found = tasks(fixture);
    assert!(found == before || found == after, "{case}: {found:?}");
}

/// Expires all workers and checks that one cleanup restores a consistent state.
async fn recover(fixture: &Fixture, case: &str, removed: &[&str], added: &[&str]) {
    for worker in ["w", "other", "new"] {
        fixture.command(&format!("DEL worqr:workerTimers:{worker} {worker}"));
    }
    fixture.worqr.cleanup_workers().await.unwrap();
    check(fixture, case, removed, added);
    let waiting = fixture.waiting("mail").await;
    assert_eq!(
        waiting.len(),
        tasks(fixture).len(),
        "{case}: {:?}",
        fixture.keys()
    );
    let unique: Vec<&str> = ["unique", "new"]
        .into_iter()
        .filter(|task| waiting.iter().any(|waits| waits == task))
        .collect();
    let locks = fixture
        .keys()
        .iter()
        .filter(|key| key.contains("unique") && key.contains("string"))
        .count();
    let is_not_unique = case.starts_with("enqueue,") || case.starts_with("enqueue_many");
    let expected = unique.len() - usize::from(is_not_unique && unique.contains(&"new"));
    assert_eq!(locks, expected, "{case}: {:?}", fixture.keys());
    // Only the queue and its locks are left.
    let mut keys = fixture.keys();
    keys.retain(|key| !key.contains("unique") && !key.starts_with("windlass_queues"));
    keys.retain(|key| !key.starts_with(&queue_key(fixture)));
    assert_eq!(keys, [""; 0], "{case}");
}

fn queue_key(fixture: &Fixture) -> String {
    match fixture.layout {
        WorqrLayout::Released => "worqr:queues:mail list".to_owned(),
        WorqrLayout::Document => "mail list".to_owned(),
    }
}
