//! A backup is a complete store, whatever other processes do while it is made.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails on the spot"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;
use windlass_core::{ClaimRequest, ErrorKind, JobId, NewJob, QueueName, Store};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

fn open(path: &Path) -> SqliteStore {
    let options = Options {
        synchronous: Synchronous::Off,
        ..Options::default()
    };
    SqliteStore::open(path, options).unwrap()
}

fn mail() -> QueueName {
    QueueName::new("mail").unwrap()
}

fn job(id: &str) -> NewJob {
    NewJob::new(id.to_owned()).id(JobId::new(id).unwrap())
}

fn files(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_during_writes_is_one_moment_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("jobs.db"), folder.path().join("copy.db"));
    let (store, busy) = (open(&path), Arc::new(open(&path)));
    for n in 0..200 {
        let id = format!("a{n}");
        store.enqueue(&mail(), vec![job(&id)]).await.unwrap();
    }
    // Pairs of jobs, each pair in one transaction: a copy of one moment has both or neither.
    let is_done = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let (busy, is_done) = (Arc::clone(&busy), Arc::clone(&is_done));
        async move {
            let mut pairs = 0;
            while !is_done.load(Ordering::Relaxed) {
                let pair = vec![job(&format!("b{pairs}")), job(&format!("c{pairs}"))];
                busy.enqueue(&mail(), pair).await.unwrap();
                pairs += 1;
            }
            pairs
        }
    });
    while store.stats(&mail()).await.unwrap().unwrap().ready < 202 {}

    let bytes = store.backup(&copy).await.unwrap();

    is_done.store(true, Ordering::Relaxed);
    let pairs = writing.await.unwrap();
    assert_eq!(bytes, copy.metadata().unwrap().len());
    assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let copied = open(&copy);
    let stats = copied.stats(&mail()).await.unwrap().unwrap();
    assert_eq!(stats.ready % 2, 0, "half of a pair was copied");
    assert!((202..=200 + 2 * pairs).contains(&stats.ready), "{stats:?}");
    assert_eq!(stats.total.enqueued, stats.ready);
    assert_eq!(copied.check_file().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_restored_store_hands_out_what_it_had_and_issues_no_token_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("jobs.db"), folder.path().join("copy.db"));
    let store = open(&path);
    for id in ["1", "2"] {
        store.enqueue(&mail(), vec![job(id)]).await.unwrap();
    }
    store.backup(&copy).await.unwrap();
    let request = || ClaimRequest::single(1);
    let before = store.claim(&mail(), request()).await.unwrap().unwrap();
    drop(store);

    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(folder.path().join(format!("jobs.db{suffix}")));
    }
    std::fs::copy(&copy, &path).unwrap();

    let store = open(&path);
    let after = store.claim(&mail(), request()).await.unwrap().unwrap();
    assert_eq!(after.jobs[0].id.as_str(), "1");
    assert!(after.token > before.token, "{after:?} {before:?}");
}

#[tokio::test]
async fn a_backup_replaces_nothing_and_leaves_nothing_behind_when_it_fails() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("jobs.db"));
    store.enqueue(&mail(), vec![job("1")]).await.unwrap();
    let before = files(&folder);
    let backup = async |name: &str| store.backup(&folder.path().join(name)).await;

    let itself = backup("jobs.db").await.unwrap_err();
    let no_folder = backup("nowhere/copy.db").await.unwrap_err();

    assert_eq!(itself.kind(), ErrorKind::Conflict);
    assert_eq!(no_folder.kind(), ErrorKind::Invalid);
    assert_eq!(files(&folder), before);
    // One that was killed, or still runs.
    std::fs::write(folder.path().join("copy.db-partial"), "").unwrap();
    let second = backup("copy.db").await.unwrap_err();
    assert_eq!(second.kind(), ErrorKind::Conflict);
    assert!(second.help().contains("remove"), "{second:?}");
}
