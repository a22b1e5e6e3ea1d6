//! Bad places for a store: every one is refused with the right kind of error or mastered, nothing
//! is lost, nothing of others is touched, and nothing panics or hangs.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod damaged;
mod foreign;
mod held;
mod place;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use windlass_core::{Error, ErrorKind, NewJob, QueueName, Store};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

/// A folder with a path for a store in it.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    (folder, path)
}

/// What survives a loss of power is not asked here.
fn quick() -> Options {
    Options {
        synchronous: Synchronous::Off,
        ..Options::default()
    }
}

/// Options with little patience.
fn hasty(patience: Duration) -> Options {
    Options {
        call_deadline: patience,
        ..quick()
    }
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, quick()).unwrap()
}

fn refusal(path: &Path) -> Error {
    SqliteStore::open(path, quick()).unwrap_err()
}

fn queue() -> QueueName {
    QueueName::new("q").unwrap()
}

/// A closed store with so many jobs ready in the queue.
async fn filled(path: &Path, count: usize) {
    enqueue(&open(path), count).await.unwrap();
}

async fn enqueue(store: &SqliteStore, count: usize) -> Result<(), Error> {
    let jobs = (0..count).map(|_| NewJob::new("x".repeat(200)));
    store.enqueue(&queue(), jobs.collect()).await.map(drop)
}

async fn ready(store: &SqliteStore) -> u64 {
    store.stats(&queue()).await.unwrap().unwrap().ready
}

/// The names and bytes of all files of a folder; bytes as their number and hash, short enough to
/// be read when they differ.
fn contents(folder: &Path) -> BTreeMap<PathBuf, (usize, u64)> {
    let entries = std::fs::read_dir(folder).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let hashed = |file: PathBuf| {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        (file, (bytes.len(), hasher.finish()))
    };
    files.map(hashed).collect()
}

/// Asserts that an error is of a kind and says what to do next.
#[track_caller]
fn assert_kind(error: &Error, kind: ErrorKind) {
    assert_eq!(error.kind(), kind, "{error:?}");
    assert!(!error.help().is_empty(), "{error:?}");
}
