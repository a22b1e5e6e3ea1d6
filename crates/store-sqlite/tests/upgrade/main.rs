//! A store of an older version is upgraded when it is opened, and keeps its jobs.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails on the spot"
)]

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use windlass_core::store::{OnDuplicate, Rule, WaitReason};
use windlass_core::{
    ClaimRequest, Enqueued, ErrorKind, Filter, JobState, NewJob, QueueName, Schedule, ScheduleName,
    Store,
};
use windlass_store_sqlite::{Options, SqliteStore};
use windlass_testkit::paging;

/// What version 1 creates.
const VERSION_1: &str = include_str!("version_1.sql");

/// A queue with one ready and one scheduled job, as version 1 writes them.
const JOBS: &str = "
    INSERT INTO queue (name, settings, is_paused, mark_us, last_token, front, back, stats)
    VALUES ('q', 'poison_after=7', 0, 1000, 5, 0, 2,
            '0 0 0 0 0 1 0 0 0 0 1 0 0 0 0 0 0 0 6 0 2 0 0 0 0 0 2 0 0 0 0');
    INSERT INTO job (queue, id, state, priority, lane, position, attempt, expiries, created_at, due_at,
        is_named, keep_outcome, cancel_requested, payload_bytes, payload)
    VALUES (1, 'ready', 1, 5, 1, 1, 1, 0, 1, 1, 1, 0, 0, 3, x'010203'),
           (1, 'scheduled', 0, 5, 1, 2, 1, 0, 1, 9000000000000000, 0, 0, 0, 3, x'010203');";

/// A remembered id, as version 1 writes it.
const TOMBSTONE: &str = "
    INSERT INTO tombstone (queue, id, state, until) VALUES (1, 'ended', 3, 9000000000000000);
    UPDATE queue SET stats = '0 0 0 0 0 1 0 0 0 0 1 0 0 0 0 0 0 0 6 1 2 0 0 0 0 0 2 0 0 0 0';";

/// Turns a store of version 3 into one of version 2.
const TO_VERSION_2: &str = "DROP TABLE history; DROP TABLE open_minute; DROP TABLE error_group;
    DROP INDEX job_holder; DROP TABLE action; PRAGMA user_version = 2;";

/// Creates a store of version 1.
fn old_store(sql: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let db = Connection::open(&path).unwrap();
    let identity = "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;
         PRAGMA application_id = 0x574e444c; PRAGMA user_version = 1;";
    db.execute_batch(&format!("{identity} {VERSION_1} {sql}"))
        .unwrap();
    (folder, path)
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::default()).unwrap()
}

fn queue() -> QueueName {
    QueueName::new("q").unwrap()
}

#[tokio::test]
async fn an_upgraded_store_has_its_jobs_and_can_have_schedules() {
    let (_folder, path) = old_store(JOBS);
    let (store, q) = (open(&path), queue());

    assert_eq!(store.info().await.unwrap().schema_version, 3);
    assert_eq!(store.settings(&q).await.unwrap().poison_after, 7);
    let (_, repairs) = paging::audit(&store, &q).await.unwrap();
    assert_eq!(repairs, []);
    let scheduled = Filter {
        state: Some(JobState::Scheduled),
        ..Filter::default()
    };
    let page = store.list(&q, &scheduled, None, 10).await.unwrap();
    assert_eq!(page.items[0].id.as_str(), "scheduled");
    let rule = Rule::every(Duration::from_secs(60)).unwrap();
    let name = ScheduleName::new("s").unwrap();
    let schedule = Schedule::new(name, rule, NewJob::new("x"));
    store.put_schedule(&q, schedule, None).await.unwrap();
    drop(store);

    let store = open(&path);
    let claim = store.claim(&q, ClaimRequest::single(5)).await.unwrap();
    assert_eq!(claim.unwrap().jobs[0].id.as_str(), "ready");
    let stats = store.stats(&q).await.unwrap().unwrap();
    assert_eq!((stats.running, stats.schedules), (1, 1));
}

#[tokio::test]
async fn an_upgraded_store_has_its_remembered_ids_and_can_replace_its_jobs() {
    let (_folder, path) = old_store(&format!("{JOBS}{TOMBSTONE}"));
    let (store, q) = (open(&path), queue());
    let replacing = |id: &str| {
        let job = NewJob::new("new").id(id.parse().unwrap());
        job.on_duplicate(OnDuplicate::Replace)
    };

    let jobs = vec![replacing("ended"), replacing("ready")];
    let replies = store.enqueue(&q, jobs).await.unwrap();

    assert!(replies[0].is_duplicate());
    assert!(matches!(replies[1], Enqueued::Replaced { .. }));
    let (_, repairs) = paging::audit(&store, &q).await.unwrap();
    assert_eq!(repairs, []);
    let claim = store.claim(&q, ClaimRequest::single(5)).await.unwrap();
    assert_eq!(claim.unwrap().jobs[0].payload, "new");
}

#[tokio::test]
async fn the_history_of_an_upgraded_queue_begins_with_its_first_sample() {
    let folder = tempfile::tempdir().unwrap();
    let (path, q) = (folder.path().join("jobs.db"), queue());
    let store = open(&path);
    let jobs = vec![NewJob::new("a"), NewJob::new("b")];
    store.enqueue(&q, jobs).await.unwrap();
    drop(store);
    let db = Connection::open(&path).unwrap();
    db.execute_batch(TO_VERSION_2).unwrap();
    drop(db);

    let store = open(&path);

    assert_eq!(store.info().await.unwrap().schema_version, 3);
    assert_eq!(store.history(&q, 60).await.unwrap(), []);
    store.claim(&q, ClaimRequest::single(1)).await.unwrap();
    let new = vec![NewJob::new("c")];
    store.enqueue(&q, new).await.unwrap();
    let rows = store.history(&q, 60).await.unwrap();
    assert_eq!((rows[0].counts.enqueued, rows[0].levels.ready), (1, 2));
    let (_, repairs) = paging::audit(&store, &q).await.unwrap();
    assert_eq!(repairs, []);
}

#[tokio::test]
async fn an_upgraded_store_can_have_limits() {
    let (_folder, path) = old_store(JOBS);
    let (store, q) = (open(&path), queue());
    let rate = vec!["rate=1/1h".parse().unwrap()];
    store.set(&q, rate).await.unwrap();
    let jobs = vec![NewJob::new("x")];
    store.enqueue(&q, jobs).await.unwrap();

    let claim = store.claim(&q, ClaimRequest::single(5)).await.unwrap();
    assert_eq!(claim.unwrap().jobs.len(), 1);
    drop(store);

    let store = open(&path);
    let claim = store.claim(&q, ClaimRequest::single(5)).await.unwrap();
    assert!(claim.is_none());
    let (_, repairs) = paging::audit(&store, &q).await.unwrap();
    assert_eq!(repairs, []);
}

/// Suspects and other jobs of the first, the default and the last priority, as version 1 writes them, in claim order.
const LANES: &str = "
    INSERT INTO queue (name, settings, is_paused, mark_us, last_token, front, back, stats)
    VALUES ('q', '', 0, 1000, 5, 0, 6, '2 0 0 0 0 2 0 0 0 2 0 0 0 0 0 0 0 0 6 0 6 0 0 0 0 0 6 0 0 0 0');
    INSERT INTO job (queue, id, state, priority, lane, position, attempt, expiries, created_at, due_at,
        is_named, keep_outcome, cancel_requested, payload_bytes, payload)
    VALUES (1, '1', 1, 0, 0, 6, 1, 2, 1, 1, 0, 0, 0, 1, x'01'), (1, '2', 1, 0, 1, 5, 1, 0, 1, 1, 0, 0, 0, 1, x'01'),
           (1, '3', 1, 5, 0, 4, 1, 2, 1, 1, 0, 0, 0, 1, x'01'), (1, '4', 1, 5, 1, 3, 1, 0, 1, 1, 0, 0, 0, 1, x'01'),
           (1, '5', 1, 9, 0, 2, 1, 2, 1, 1, 0, 0, 0, 1, x'01'), (1, '6', 1, 9, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, x'01');";

#[tokio::test]
async fn an_upgraded_store_hands_out_its_jobs_in_order_and_can_have_groups() {
    let (_folder, path) = old_store(LANES);
    let (store, q) = (open(&path), queue());
    let (_, repairs) = paging::audit(&store, &q).await.unwrap();
    assert_eq!(repairs, []);
    let limit = vec!["group_max_running=1".parse().unwrap()];
    store.set(&q, limit).await.unwrap();
    let job = |id: &str| {
        let job = NewJob::new("x").id(id.parse().unwrap());
        job.group("g".parse().unwrap())
    };
    store.enqueue(&q, vec![job("7"), job("8")]).await.unwrap();

    let mut claimed = Vec::new();
    while let Some(claim) = store.claim(&q, ClaimRequest::single(1)).await.unwrap() {
        claimed.extend(claim.jobs.into_iter().map(|job| job.id.to_string()));
    }

    // The group has no slots in use, unlike the jobs without a group.
    assert_eq!(claimed, ["1", "2", "7", "3", "4", "5", "6"]);
    let (_, repairs) = paging::audit(&store, &q).await.unwrap();
    assert_eq!(repairs, []);
}

#[tokio::test]
async fn a_store_of_version_2_can_explain_why_its_jobs_wait() {
    let (_folder, path) = old_store(JOBS);
    let q = queue();
    let store = open(&path);
    let slot = vec!["group_max_running=1".parse().unwrap()];
    store.set(&q, slot).await.unwrap();
    let job = |id: &str| NewJob::new("x").id(id.parse().unwrap());
    let jobs = ["a", "b"].map(|id| job(id).group("g".parse().unwrap()));
    store.enqueue(&q, jobs.to_vec()).await.unwrap();
    store.claim(&q, ClaimRequest::single(5)).await.unwrap();
    drop(store);
    let db = Connection::open(&path).unwrap();
    db.execute_batch(TO_VERSION_2).unwrap();
    drop(db);

    let store = open(&path);

    let explained = store.explain(&q, &"b".parse().unwrap()).await.unwrap();
    let reasons = explained.unwrap().reasons;
    let WaitReason::GroupFull { holders, .. } = &reasons[0] else {
        panic!("{reasons:?}");
    };
    assert_eq!(holders[0].id.as_str(), "a");
}

#[tokio::test]
async fn processes_that_open_an_old_store_at_once_upgrade_it_once() {
    let (_folder, path) = old_store(JOBS);

    let threads = [(); 8].map(|()| {
        let path = path.clone();
        thread::spawn(move || drop(open(&path)))
    });

    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(open(&path).queues().await.unwrap(), [queue()]);
}

#[test]
fn an_old_store_with_another_schema_is_refused_and_stays_old() {
    for sql in [
        "CREATE TABLE planted (x)",
        "ALTER TABLE queue ADD COLUMN x TEXT",
    ] {
        let (_folder, path) = old_store(sql);

        let error = SqliteStore::open(&path, Options::default()).unwrap_err();

        assert_eq!(error.kind(), ErrorKind::StoreDamaged, "{sql}");
        let db = Connection::open(&path).unwrap();
        let version = db.pragma_query_value(None, "user_version", |row| row.get(0));
        assert_eq!(version, Ok(1));
    }
}
