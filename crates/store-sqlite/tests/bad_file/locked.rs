//! A store locked by another program: calls fail in time without effect, and work continues once
//! the lock is released.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use windlass_core::{ErrorKind, Store};
use windlass_store_sqlite::SqliteStore;

use super::{assert_kind, enqueue, fill, folder, open, queue, ready, with_deadline};

/// Enough for a call to be answered on a busy machine.
const DEADLINE: Duration = Duration::from_secs(5);

/// Longer than any call may take, even on a slow machine.
const FAR_TOO_LONG: Duration = Duration::from_secs(40);

/// Another program in the middle of a transaction.
fn foreign_transaction(path: &Path) -> Connection {
    let theirs = Connection::open(path).unwrap();
    theirs.execute_batch("BEGIN EXCLUSIVE").unwrap();
    theirs
}

/// Takes the write lock like another process. File locks belong to an open file, so the same
/// process can do it.
fn take_write_lock(path: &Path) -> File {
    let mut name = path.as_os_str().to_owned();
    name.push("-lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(PathBuf::from(name))
        .unwrap();
    file.lock().unwrap();
    file
}

#[tokio::test]
async fn a_locked_store_is_busy_and_works_again_when_released() {
    let (_folder, path) = folder();
    let store = SqliteStore::open(&path, with_deadline(DEADLINE)).unwrap();
    enqueue(&store, 1).await.unwrap();
    let theirs = foreign_transaction(&path);

    let error = enqueue(&store, 1).await.unwrap_err();

    assert_kind(&error, ErrorKind::StoreBusy);
    assert!(error.is_transient());
    assert_eq!(ready(&store).await, 1, "readers do not wait");
    theirs.execute_batch("ROLLBACK").unwrap();
    enqueue(&store, 1).await.unwrap();
    assert_eq!(ready(&store).await, 2);
}

#[tokio::test]
async fn many_calls_on_a_locked_store_are_all_answered_in_time() {
    let (_folder, path) = folder();
    let store = SqliteStore::open(&path, with_deadline(DEADLINE)).unwrap();
    enqueue(&store, 1).await.unwrap();
    let theirs = foreign_transaction(&path);
    let began = Instant::now();

    let calls = (0..20).map(|_| enqueue(&store, 1));
    for outcome in join_all(calls).await {
        // The call did not start, or is known to have had no effect.
        assert_kind(&outcome.unwrap_err(), ErrorKind::StoreBusy);
    }

    assert!(began.elapsed() < FAR_TOO_LONG, "{:?}", began.elapsed());
    theirs.execute_batch("ROLLBACK").unwrap();
    enqueue(&store, 1).await.unwrap();
    assert_eq!(ready(&store).await, 2, "failed calls had no effect");
}

/// Runs futures concurrently on one task.
async fn join_all<T>(calls: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = calls.map(|call| Some(Box::pin(call))).collect();
    let mut done: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    std::future::poll_fn(move |context| {
        for (call, value) in waiting.iter_mut().zip(&mut done) {
            if let Some(running) = call
                && let std::task::Poll::Ready(answer) = running.as_mut().poll(context)
            {
                *value = Some(answer);
                *call = None;
            }
        }
        if waiting.iter().any(Option::is_some) {
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(done.iter_mut().filter_map(Option::take).collect())
    })
    .await
}

#[tokio::test]
async fn a_process_stopped_with_the_lock_blocks_only_writers_and_not_forever() {
    let (_folder, path) = folder();
    fill(&path, 1).await;
    let stopped = take_write_lock(&path);

    let store = SqliteStore::open(&path, with_deadline(DEADLINE)).unwrap();
    let error = enqueue(&store, 1).await.unwrap_err();

    assert_kind(&error, ErrorKind::StoreBusy);
    assert_eq!(ready(&store).await, 1, "reads still work");
    stopped.unlock().unwrap();
    enqueue(&store, 1).await.unwrap();
    assert_eq!(ready(&store).await, 2, "failed calls had no effect");
}

#[tokio::test]
async fn a_store_can_be_closed_while_another_process_holds_the_lock() {
    let (_folder, path) = folder();
    fill(&path, 1).await;
    let _stopped = take_write_lock(&path);
    let store = SqliteStore::open(&path, with_deadline(DEADLINE)).unwrap();
    enqueue(&store, 1).await.unwrap_err();
    let began = Instant::now();

    drop(store);

    assert!(began.elapsed() < FAR_TOO_LONG, "{:?}", began.elapsed());
}

#[test]
fn creating_a_store_does_not_wait_forever() {
    let (_folder, path) = folder();
    let stopped = take_write_lock(&path);

    let error = SqliteStore::open(&path, with_deadline(DEADLINE)).unwrap_err();

    assert_kind(&error, ErrorKind::StoreBusy);
    drop(stopped);
    SqliteStore::open(&path, with_deadline(FAR_TOO_LONG)).unwrap();
}

#[tokio::test]
async fn many_processes_may_create_the_store_at_once() {
    for _ in 0..10 {
        let (_folder, path) = folder();
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let store = open(&path);
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_time()
                        .build();
                    runtime.unwrap().block_on(enqueue(&store, 1)).unwrap();
                });
            }
        });

        let store = open(&path);
        assert_eq!(ready(&store).await, 8);
        assert_eq!(store.queues().await.unwrap(), [queue()]);
    }
}

/// Counts the locks of this process on a file, from `/proc/locks`.
#[cfg(target_os = "linux")]
fn locks_on(path: &Path) -> usize {
    use std::os::unix::fs::MetadataExt;
    let ends = format!(":{}", std::fs::metadata(path).unwrap().ino());
    let pid = std::process::id().to_string();
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    let is_ours = |line: &&str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        fields.contains(&pid.as_str()) && fields.iter().any(|field| field.ends_with(&ends))
    };
    locks.lines().filter(is_ours).count()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn opening_a_store_twice_leaves_the_locks_of_the_first() {
    let (_folder, path) = folder();
    let first = open(&path);
    enqueue(&first, 1).await.unwrap();
    let held = locks_on(&path);

    let second = open(&path);

    assert!(held > 0, "an open store holds a lock on its file");
    // The second store may briefly hold a lock as well; the first must not lose any.
    assert!(locks_on(&path) >= held);
    drop(second);
    assert!(locks_on(&path) >= held);
    assert_eq!(ready(&first).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_grows_while_it_is_opened_is_not_taken_for_damaged() {
    let (_folder, path) = folder();
    let store = open(&path);
    let growing = tokio::spawn(async move {
        for _ in 0..60 {
            enqueue(&store, 2000).await.unwrap();
        }
    });

    while !growing.is_finished() {
        SqliteStore::open(&path, super::quick()).unwrap();
    }

    growing.await.unwrap();
}
