//! Paths: folders, links, long paths, and the permissions of created files.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::store::Notification;
use windlass_core::{ErrorKind, NewJob, Store};
use windlass_store_sqlite::{Options, SqliteStore};

use super::{assert_kind, contents, enqueue, fill, folder, open, open_error, queue, ready};

#[test]
fn a_folder_is_not_a_store() {
    let (folder, _) = folder();

    let error = open_error(folder.path());

    assert_kind(&error, ErrorKind::StoreForeign);
    assert!(error.to_string().contains("folder"), "{error}");
    assert!(contents(folder.path()).is_empty());
}

#[test]
fn a_device_is_not_a_store() {
    assert_kind(&open_error(Path::new("/dev/null")), ErrorKind::StoreForeign);
}

#[test]
fn a_missing_folder_is_named_and_not_created() {
    let (folder, _) = folder();
    let missing = folder.path().join("not/here");

    for create in [true, false] {
        let options = Options {
            create,
            ..super::quick()
        };
        let error = SqliteStore::open(&missing.join("jobs.db"), options).unwrap_err();

        assert_kind(&error, ErrorKind::StoreUnreachable);
        assert!(error.help().contains("not/here"), "{}", error.help());
    }
    assert!(contents(folder.path()).is_empty());
}

#[test]
fn a_file_in_place_of_the_folder_is_unreachable() {
    let (folder, path) = folder();
    std::fs::write(&path, "text").unwrap();
    let before = contents(folder.path());

    assert_kind(
        &open_error(&path.join("jobs.db")),
        ErrorKind::StoreUnreachable,
    );

    assert_eq!(contents(folder.path()), before);
}

#[tokio::test]
async fn jobs_do_not_go_into_a_file_that_was_taken_away() {
    let (folder, path) = folder();
    let elsewhere = folder.path().join("elsewhere.db");
    let store = open(&path);
    enqueue(&store, 1).await.unwrap();
    std::fs::rename(&path, &elsewhere).unwrap();

    let refused = enqueue(&store, 1).await.unwrap_err();
    std::fs::rename(&elsewhere, &path).unwrap();
    enqueue(&store, 1).await.unwrap();

    assert_kind(&refused, ErrorKind::StoreUnreachable);
    assert_eq!(ready(&store).await, 2);
}

#[tokio::test]
async fn only_the_owner_may_read_created_files() {
    let (folder, path) = folder();
    let store = open(&path);
    enqueue(&store, 1).await.unwrap();
    let _watch = store.watch(&[queue()]).await.unwrap();

    let mut seen = Vec::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let name = entry.file_name().into_string().unwrap();
        let wanted = if name == "jobs.db-wakeups" {
            0o700
        } else {
            0o600
        };
        assert_eq!(mode, wanted, "{name}");
        seen.push(name);
    }
    seen.sort();
    assert_eq!(
        seen,
        [
            "jobs.db",
            "jobs.db-lock",
            "jobs.db-shm",
            "jobs.db-wakeups",
            "jobs.db-wal"
        ]
    );
}

/// Asserts that an enqueue in one store wakes a watcher of another.
async fn assert_wakes(watching: &SqliteStore, sending: &SqliteStore) {
    let mut watch = watching.watch(&[queue()]).await.unwrap();
    enqueue(sending, 1).await.unwrap();
    loop {
        let notification = tokio::time::timeout(Duration::from_secs(20), watch.next()).await;
        if notification.expect("a wake-up arrives") == Some(Notification::Work(queue())) {
            return;
        }
    }
}

#[tokio::test]
async fn a_link_leads_to_the_same_store() {
    let (folder, path) = folder();
    fill(&path, 1).await;
    std::fs::create_dir(folder.path().join("links")).unwrap();
    let link = folder.path().join("links/link.db");
    symlink("../jobs.db", &link).unwrap();

    let (straight, linked) = (open(&path), open(&link));

    assert_wakes(&straight, &linked).await;
    assert_wakes(&linked, &straight).await;
    assert_eq!(ready(&straight).await, 3);
    let next_to_link = contents(&folder.path().join("links"));
    assert_eq!(next_to_link.len(), 1, "{:?}", next_to_link.keys());
}

#[tokio::test]
async fn a_dangling_link_creates_the_store_where_it_points() {
    let (folder, path) = folder();
    let link = folder.path().join("link.db");
    symlink(&path, &link).unwrap();

    fill(&link, 1).await;

    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(ready(&open(&path)).await, 1);
}

#[test]
fn a_link_that_leads_back_to_itself_is_unreachable() {
    let (_folder, path) = folder();
    symlink(&path, &path).unwrap();

    assert_kind(&open_error(&path), ErrorKind::StoreUnreachable);
}

/// A path of exactly `bytes` bytes in a folder.
fn long_path(folder: &Path, bytes: usize) -> PathBuf {
    let mut path = folder.canonicalize().unwrap();
    while path.as_os_str().len() + 120 < bytes {
        path.push("d".repeat(100));
    }
    std::fs::create_dir_all(&path).unwrap();
    let rest = bytes - path.as_os_str().len() - 1;
    path.join("f".repeat(rest))
}

#[tokio::test]
async fn wakeups_work_with_a_very_long_path() {
    let (folder, _) = folder();
    for bytes in [99, 100, 108, 300, 504] {
        let path = long_path(folder.path(), bytes);
        assert_wakes(&open(&path), &open(&path)).await;
    }
}

#[test]
fn a_path_too_long_for_sqlite_is_refused_with_its_length() {
    let (folder, _) = folder();
    for bytes in [505, 600, 2000] {
        let error = open_error(&long_path(folder.path(), bytes));

        assert_kind(&error, ErrorKind::Invalid);
        assert!(error.to_string().contains(&bytes.to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_payload_of_a_mebibyte_is_the_largest() {
    let (_folder, path) = folder();
    let store = open(&path);
    let job = |bytes: usize| vec![NewJob::new(vec![7_u8; bytes])];

    let largest = store.enqueue(&queue(), job(1024 * 1024)).await.unwrap();
    let error = store
        .enqueue(&queue(), job(1024 * 1024 + 1))
        .await
        .unwrap_err();

    assert_kind(&error, ErrorKind::Invalid);
    assert!(error.to_string().contains("1048577"), "{error}");
    assert_eq!(largest.len(), 1);
    let claim = windlass_core::ClaimRequest::single(9);
    let claim = store.claim(&queue(), claim).await.unwrap().unwrap();
    assert_eq!(claim.jobs.len(), 1);
    assert_eq!(claim.jobs[0].payload, vec![7_u8; 1024 * 1024]);
}
