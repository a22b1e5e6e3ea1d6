//! Bad paths and files for a store: each is rejected with the right kind of error or handled;
//! nothing is lost, other programs' files stay untouched, and nothing panics or hangs.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails on the spot"
)]

mod damaged;
mod foreign;
mod groups;
mod hostile;
mod limits;
mod locked;
mod path;
mod planted;
mod schedules;
mod tombstones;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use windlass_core::{Error, ErrorKind, NewJob, QueueName, Store};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

/// A temporary folder and a path for a store in it.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    (folder, path)
}

/// These tests do not check what survives a power loss.
fn quick() -> Options {
    Options {
        synchronous: Synchronous::Off,
        ..Options::default()
    }
}

/// Options with a short timeout.
fn with_deadline(deadline: Duration) -> Options {
    Options {
        call_deadline: deadline,
        ..quick()
    }
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, quick()).unwrap()
}

fn open_error(path: &Path) -> Error {
    SqliteStore::open(path, quick()).unwrap_err()
}

fn queue() -> QueueName {
    QueueName::new("q").unwrap()
}

/// Creates and closes a store with `count` ready jobs.
async fn fill(path: &Path, count: usize) {
    enqueue(&open(path), count).await.unwrap();
}

async fn enqueue(store: &SqliteStore, count: usize) -> Result<(), Error> {
    let jobs = (0..count).map(|_| NewJob::new("x".repeat(200)));
    store.enqueue(&queue(), jobs.collect()).await.map(drop)
}

async fn ready(store: &SqliteStore) -> u64 {
    store.stats(&queue()).await.unwrap().unwrap().ready
}

/// The names and contents of all files in a folder. Contents are given as length and hash, to keep
/// a failed assertion readable.
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

/// Asserts the kind of an error, and that it has a help text.
#[track_caller]
fn assert_kind(error: &Error, kind: ErrorKind) {
    assert_eq!(error.kind(), kind, "{error:?}");
    assert!(!error.help().is_empty(), "{error:?}");
}
