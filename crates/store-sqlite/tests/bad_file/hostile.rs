//! Hostile files: a store with code in its schema is refused, and code added later does not run.

use std::time::Duration;

use rusqlite::Connection;
use windlass_core::{ErrorKind, Store};
use windlass_store_sqlite::SqliteStore;

use super::{
    assert_kind, contents, enqueue, fill, folder, open_error, queue, ready, with_deadline,
};

/// A query that does not end.
const ENDLESS: &str = "SELECT count(*) FROM (WITH RECURSIVE n (i) AS
    (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n)";

fn plant(path: &std::path::Path, sql: &str) {
    let theirs = Connection::open(path).unwrap();
    theirs.execute_batch(sql).unwrap();
}

fn trigger() -> String {
    format!("CREATE TRIGGER planted AFTER INSERT ON job BEGIN {ENDLESS}; END")
}

#[tokio::test]
async fn a_store_with_another_schema_is_refused_and_left_as_it_is() {
    for (sql, name) in [
        (trigger(), "planted"),
        (format!("CREATE VIEW planted AS {ENDLESS}"), "planted"),
        ("CREATE TABLE planted (x)".to_owned(), "planted"),
        (
            "CREATE INDEX planted ON job (abs(key))".to_owned(),
            "planted",
        ),
        ("DROP INDEX job_ready".to_owned(), "job_ready"),
        ("DROP TABLE queue".to_owned(), "queue"),
        (
            "ALTER TABLE job ADD COLUMN planted INTEGER AS (length(hex(zeroblob(key))))".to_owned(),
            "job",
        ),
    ] {
        let (folder, path) = folder();
        fill(&path, 1).await;
        plant(&path, &sql);
        let before = contents(folder.path());

        let error = open_error(&path);

        assert_kind(&error, ErrorKind::StoreDamaged);
        assert!(error.to_string().contains(name), "{sql}: {error}");
        assert_eq!(contents(folder.path()), before, "{sql}");
    }
}

#[tokio::test]
async fn statistics_of_sqlite_are_part_of_a_store() {
    let (_folder, path) = folder();
    fill(&path, 1).await;
    plant(&path, "ANALYZE");

    assert_eq!(ready(&super::open(&path)).await, 1);
}

#[tokio::test]
async fn a_trigger_planted_in_an_open_store_does_not_run() {
    let (_folder, path) = folder();
    let store = SqliteStore::open(&path, with_deadline(Duration::from_secs(5))).unwrap();
    plant(&path, &trigger());

    enqueue(&store, 1).await.unwrap();

    assert_eq!(ready(&store).await, 1);
}

#[tokio::test]
async fn a_view_planted_in_an_open_store_is_not_read() {
    let (_folder, path) = folder();
    let store = SqliteStore::open(&path, with_deadline(Duration::from_secs(5))).unwrap();
    enqueue(&store, 1).await.unwrap();
    let columns = "key, name, settings, is_paused, mark_us, last_token, front, back, stats";
    plant(
        &path,
        &format!(
            "ALTER TABLE queue RENAME TO hidden;
             CREATE VIEW queue AS SELECT {columns} FROM hidden WHERE ({ENDLESS}) > 0"
        ),
    );

    let written = enqueue(&store, 1).await.unwrap_err();
    let read = store.stats(&queue()).await.unwrap_err();

    assert_kind(&written, ErrorKind::StoreDamaged);
    assert_kind(&read, ErrorKind::StoreDamaged);
}
