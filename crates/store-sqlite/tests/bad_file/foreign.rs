//! Files of other programs are rejected and stay unchanged, byte for byte.

use rusqlite::Connection;
use windlass_core::ErrorKind;

use super::{assert_kind, contents, fill, folder, open, open_error, ready};

#[test]
fn a_text_file_is_left_as_it_is() {
    for text in ["a", "dear aunt,\n", &"SQLite format 3 is nice. ".repeat(99)] {
        let (folder, path) = folder();
        std::fs::write(&path, text).unwrap();
        let before = contents(folder.path());

        assert_kind(&open_error(&path), ErrorKind::StoreForeign);

        assert_eq!(contents(folder.path()), before);
    }
}

#[test]
fn a_database_of_another_program_is_left_as_it_is() {
    for sql in [
        "CREATE TABLE album (title TEXT); INSERT INTO album VALUES ('Blue')",
        "PRAGMA application_id = 7",
        "PRAGMA application_id = 7; CREATE TABLE job (key INTEGER)",
        "PRAGMA user_version = 1",
        "PRAGMA user_version = 99",
        "CREATE TABLE gone (key INTEGER); DROP TABLE gone",
        "PRAGMA journal_mode = WAL; CREATE TABLE album (title TEXT)",
    ] {
        let (folder, path) = folder();
        let theirs = Connection::open(&path).unwrap();
        theirs.execute_batch(sql).unwrap();
        drop(theirs);
        let before = contents(folder.path());

        assert_kind(&open_error(&path), ErrorKind::StoreForeign);

        assert_eq!(contents(folder.path()), before, "{sql}");
    }
}

/// A killed program leaves a log or journal behind, which Windlass must not replay.
#[test]
fn a_database_whose_program_died_is_left_as_it_is() {
    for (sql, log_suffix) in [
        (
            "PRAGMA journal_mode = WAL; CREATE TABLE album (title TEXT)",
            "-wal",
        ),
        (
            "CREATE TABLE album (title TEXT); PRAGMA cache_size = 1;
             BEGIN; INSERT INTO album
                WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 50)
                SELECT hex(randomblob(2000)) FROM n",
            "-journal",
        ),
    ] {
        let (living, from) = folder();
        let theirs = Connection::open(&from).unwrap();
        theirs.execute_batch(sql).unwrap();
        let (folder, path) = folder();
        for suffix in ["", log_suffix] {
            let name = format!("jobs.db{suffix}");
            std::fs::copy(living.path().join(&name), folder.path().join(&name)).unwrap();
        }
        let before = contents(folder.path());

        assert_kind(&open_error(&path), ErrorKind::StoreForeign);

        assert_eq!(contents(folder.path()), before);
    }
}

#[tokio::test]
async fn a_newer_store_is_left_as_it_is() {
    let (folder, path) = folder();
    fill(&path, 3).await;
    let newer = Connection::open(&path).unwrap();
    newer.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(newer);
    let before = contents(folder.path());

    let error = open_error(&path);

    assert_kind(&error, ErrorKind::StoreNewer);
    assert!(error.to_string().contains("99"), "{error}");
    assert_eq!(contents(folder.path()), before);
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let (_folder, path) = folder();
    std::fs::write(&path, "").unwrap();

    fill(&path, 2).await;

    assert_eq!(ready(&open(&path)).await, 2);
}
