//! The space of deleted jobs goes back to the disk, and no job is lost on the way.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails on the spot"
)]

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;
use windlass_core::{ClaimRequest, JobId, NewJob, QueueName, Store};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

const MIB: u64 = 1024 * 1024;

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    (folder, path)
}

fn open(path: &Path) -> SqliteStore {
    let options = Options {
        synchronous: Synchronous::Off,
        ..Options::default()
    };
    SqliteStore::open(path, options).unwrap()
}

fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

/// Adds 16 MiB of jobs, with one job to keep in the middle, then deletes all but that.
async fn fill_and_purge(store: &SqliteStore) {
    for n in 0..16 {
        let job = NewJob::new(vec![7_u8; 1024 * 1024]);
        store.enqueue(&queue("gone"), vec![job]).await.unwrap();
        if n == 8 {
            let job = NewJob::new(vec![9_u8; 5000]).id(JobId::new("kept").unwrap());
            store.enqueue(&queue("kept"), vec![job]).await.unwrap();
        }
    }
    store.purge(&queue("gone")).await.unwrap();
}

async fn assert_kept(store: &SqliteStore) {
    let claim = store.claim(&queue("kept"), ClaimRequest::single(1)).await;
    let claim = claim.unwrap().unwrap();
    assert_eq!(claim.jobs[0].payload, vec![9_u8; 5000]);
    assert_eq!(store.check_file().await.unwrap(), Vec::<String>::new());
}

fn bytes(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len()
}

#[tokio::test]
async fn maintenance_gives_space_back_a_little_at_a_time_and_keeps_some() {
    let (_folder, path) = folder();
    let store = open(&path);
    fill_and_purge(&store).await;
    store.maintain(&queue("kept"), 100).await.unwrap();
    let first = bytes(&path);
    store.maintain(&queue("kept"), 100).await.unwrap();
    let given_back = first - bytes(&path);
    // A page of the pointer map may go with them.
    assert!(
        (2 * MIB..=2 * MIB + 8192).contains(&given_back),
        "{given_back}"
    );

    for _ in 0..20 {
        store.maintain(&queue("kept"), 100).await.unwrap();
    }

    let left = bytes(&path);
    assert!((4 * MIB..5 * MIB).contains(&left), "{left}");
    assert_eq!(store.info().await.unwrap().free_bytes, 4 * MIB);
    assert_kept(&store).await;
}

#[tokio::test]
async fn compact_gives_all_space_back_while_another_process_has_the_store_open() {
    let (_folder, path) = folder();
    let other = open(&path);
    let store = open(&path);
    fill_and_purge(&store).await;

    let compacted = store.compact().await.unwrap();

    assert!(compacted.is_rewritten);
    assert!(compacted.bytes_before > 16 * MIB, "{compacted:?}");
    assert!(compacted.bytes_after < MIB / 4, "{compacted:?}");
    assert_eq!(compacted.bytes_after, bytes(&path));
    assert_kept(&other).await;
}

#[tokio::test]
async fn compact_converts_a_store_that_cannot_give_space_back() {
    let (_folder, path) = folder();
    fill_and_purge(&open(&path)).await;
    let db = Connection::open(&path).unwrap();
    db.execute_batch("PRAGMA auto_vacuum = NONE; VACUUM")
        .unwrap();
    let mode = |db: &Connection| -> i64 {
        db.pragma_query_value(None, "auto_vacuum", |row| row.get(0))
            .unwrap()
    };
    assert_eq!(mode(&db), 0);
    drop(db);
    let store = open(&path);
    fill_and_purge(&store).await;
    store.maintain(&queue("kept"), 100).await.unwrap();

    let compacted = store.compact().await.unwrap();

    assert!(compacted.bytes_after < MIB / 4, "{compacted:?}");
    assert_eq!(mode(&Connection::open(&path).unwrap()), 2);
    assert_kept(&store).await;
}
