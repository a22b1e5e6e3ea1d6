//! A damaged store is reported as damaged. It is never taken for another program's file, never
//! re-created, and no stored value can crash the process.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::Connection;
use windlass_core::{
    ClaimRequest, Error, ErrorKind, Filter, JobLease, JobState, NewJob, OutcomeStatus, QueueName,
    Store,
};
use windlass_store_sqlite::SqliteStore;
use windlass_testkit::paging;

use super::{assert_kind, enqueue, fill, folder, open, open_error, queue, ready};

/// Runs every verb that reads or moves jobs, and returns the kinds of the errors.
pub(super) async fn run_all_verbs(store: &SqliteStore) -> Vec<ErrorKind> {
    let q = queue();
    let mut errors = Vec::new();
    let mut note =
        |outcome: Result<(), Error>| errors.extend(outcome.err().map(|error| error.kind()));
    note(enqueue(store, 2).await);
    let claim = store.claim(&q, ClaimRequest::single(5)).await;
    let claimed = claim.map(|claim| {
        let claim = claim.into_iter();
        let leases = claim.flat_map(|claim| {
            let token = claim.token;
            claim
                .jobs
                .into_iter()
                .map(move |job| JobLease::new(job.id, token))
        });
        leases.collect::<Vec<_>>()
    });
    match claimed {
        Ok(leases) => {
            let mut leases = leases.into_iter();
            let completions = leases.by_ref().take(1).map(|lease| lease.completion());
            let completed = store.complete(&q, completions.collect(), None).await;
            note(completed.map(drop));
            let failures = leases.by_ref().take(1).map(|lease| lease.failure("no"));
            note(store.fail(&q, failures.collect()).await.map(drop));
            note(store.release(&q, leases.collect()).await.map(drop));
        }
        Err(error) => note(Err(error)),
    }
    note(store.maintain(&q, 100).await.map(drop));
    for state in JobState::ALL {
        let filter = Filter {
            state: Some(*state),
            ..Filter::default()
        };
        note(store.list(&q, &filter, None, 100).await.map(drop));
    }
    note(store.stats(&q).await.map(drop));
    note(store.queues().await.map(drop));
    note(store.workers().await.map(drop));
    note(store.purge(&q).await.map(drop));
    note(store.audit(&q, None).await.map(drop));
    errors
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

#[tokio::test]
async fn garbage_in_the_middle_is_damage_and_nothing_else() {
    for page in [1, 2, 3, 5, 10, 20, 40] {
        let (_folder, path) = folder();
        fill(&path, 500).await;
        let garbage: Vec<u8> = (0..4096_u32).map(|n| (n * 7 % 251) as u8).collect();
        overwrite(&path, page * 4096, &garbage);

        match SqliteStore::open(&path, super::quick()) {
            Err(error) => assert_kind(&error, ErrorKind::StoreDamaged),
            Ok(store) => {
                let errors = run_all_verbs(&store).await;
                let found = store.check_file().await;
                let is_damage = |kind: &ErrorKind| *kind == ErrorKind::StoreDamaged;
                assert!(errors.iter().all(is_damage), "page {page}: {errors:?}");
                let is_found = found.map_or_else(
                    |error| error.kind() == ErrorKind::StoreDamaged,
                    |lines| !lines.is_empty(),
                );
                assert!(is_found, "page {page}: the check finds the damage");
            }
        }
    }
}

#[tokio::test]
async fn a_truncated_store_is_damaged() {
    for length in [1, 50, 99, 100, 512, 4096, 5000, 40_960] {
        let (_folder, path) = folder();
        fill(&path, 500).await;
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length).unwrap();

        let error = match SqliteStore::open(&path, super::quick()) {
            Err(error) => error,
            Ok(store) => store.queues().await.unwrap_err(),
        };

        assert_kind(&error, ErrorKind::StoreDamaged);
        assert_eq!(
            path.metadata().unwrap().len(),
            length,
            "it was left untouched"
        );
    }
}

#[tokio::test]
async fn garbage_in_the_header_is_damage() {
    for (at, bytes) in [
        (0, b"garbage!".as_slice()),
        (16, &[0, 3]),
        (18, &[9, 9]),
        (60, &[0; 4]),
        (100, &[0xff; 8]),
    ] {
        let (_folder, path) = folder();
        fill(&path, 5).await;
        overwrite(&path, at, bytes);

        let error = open_error(&path);

        assert_kind(&error, ErrorKind::StoreDamaged);
    }
}

#[tokio::test]
async fn corrupt_stored_values_are_damage_and_crash_nothing() {
    for sql in [
        "UPDATE job SET state = 9",
        "UPDATE job SET state = -1",
        "UPDATE job SET state = -2",
        "UPDATE job SET state = -9223372036854775808",
        "UPDATE job SET is_named = 2",
        "UPDATE job SET priority = 77",
        "UPDATE job SET priority = -1",
        "UPDATE job SET attempt = -1",
        "UPDATE job SET attempt = 99999999999",
        "UPDATE job SET due_at = -5",
        "UPDATE job SET created_at = -5",
        "UPDATE job SET id = '' WHERE key = 1",
        "UPDATE job SET id = CAST(x'ff' AS TEXT) WHERE key = 1",
        "UPDATE job SET retry = 'often'",
        "UPDATE job SET unique_for_ms = -2",
        "UPDATE job SET unique_for_ms = 9223372036854775807",
        "UPDATE job SET unique_for_ms = 1000",
        "UPDATE job SET headers = 'no colon'",
        "UPDATE job SET payload = NULL",
        "UPDATE job SET payload_bytes = 9223372036854775807",
        "UPDATE job SET position = 9223372036854775807 WHERE key = 2",
        "UPDATE job SET state = 2",
        "UPDATE job SET state = 2, token_number = 5, token_nonce = 5",
        "UPDATE job SET state = 4",
        "UPDATE job SET key = 9223372036854775807 WHERE key = 1",
        "UPDATE queue SET stats = 'many'",
        "UPDATE queue SET stats = ''",
        "UPDATE queue SET stats = replace(stats, '20', '0')",
        "UPDATE queue SET stats = replace(stats, '20', '18446744073709551615')",
        "UPDATE queue SET settings = 'colour=red'",
        "UPDATE queue SET mark_us = -1",
        "UPDATE queue SET mark_us = 9223372036854775807",
        "UPDATE queue SET last_token = 9223372036854775807",
        "UPDATE queue SET back = 9223372036854775807",
        "UPDATE queue SET front = -9223372036854775808",
        "DELETE FROM job",
        "DELETE FROM registry",
    ] {
        let (_folder, path) = folder();
        fill(&path, 20).await;
        corrupt(&path, sql);

        assert_only_damage(&open(&path), sql).await;
    }
}

/// A store without these tables is refused; here they are dropped after it was opened.
#[tokio::test]
async fn a_table_dropped_from_an_open_store_is_damage_and_crashes_nothing() {
    for sql in ["DROP TABLE lease", "DROP TABLE claim_ids"] {
        let (_folder, path) = folder();
        fill(&path, 20).await;
        let store = open(&path);
        corrupt(&path, sql);

        assert_only_damage(&store, sql).await;
        drop(store);
        assert_kind(&open_error(&path), ErrorKind::StoreDamaged);
    }
}

/// Asserts that every verb works or reports damage, and that another queue works.
async fn assert_only_damage(store: &SqliteStore, sql: &str) {
    let errors = run_all_verbs(store).await;

    let is_damage = |kind: &ErrorKind| *kind == ErrorKind::StoreDamaged;
    assert!(errors.iter().all(is_damage), "{sql}: {errors:?}");
    let other = QueueName::new("other").unwrap();
    let jobs = vec![NewJob::new("still here")];
    store.enqueue(&other, jobs).await.expect(sql);
    assert_eq!(store.stats(&other).await.unwrap().unwrap().ready, 1);
}

/// Runs a complete audit and returns the codes of its repairs.
pub(super) async fn repairs(store: &SqliteStore) -> Vec<&'static str> {
    let (_, repairs) = paging::audit(store, &queue()).await.unwrap();
    repairs.iter().map(|repair| repair.code).collect()
}

/// Cuts the last counters off, as a version that does not know them writes them: pending jobs, schedules, held keys
/// and what groups count.
pub(super) const DROP_LAST_STATS: &str = "WITH RECURSIVE cut (text, fields) AS (
        SELECT stats, length(stats) - length(replace(stats, ' ', '')) + 1 FROM queue
        UNION ALL SELECT rtrim(rtrim(text, '0123456789')), fields - 1 FROM cut WHERE fields > 31
    )
    UPDATE queue SET stats = (SELECT text FROM cut WHERE fields = 31)";

pub(super) fn corrupt(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn wrong_stats_are_repaired_by_an_audit() {
    let (_folder, path) = folder();
    fill(&path, 20).await;
    corrupt(&path, "UPDATE queue SET stats = replace(stats, '20', '3')");
    let store = open(&path);

    assert_eq!(repairs(&store).await, ["stats_wrong"]);

    assert_eq!(ready(&store).await, 20);
    assert!(repairs(&store).await.is_empty());
}

#[tokio::test]
async fn a_job_whose_lease_was_deleted_is_requeued_and_its_worker_loses_the_lease() {
    let (_folder, path) = folder();
    fill(&path, 1).await;
    let store = open(&path);
    let claim = store
        .claim(&queue(), ClaimRequest::single(1))
        .await
        .unwrap()
        .unwrap();
    corrupt(&path, "DELETE FROM lease");

    assert_eq!(repairs(&store).await, ["running_without_lease"]);

    let late = JobLease::new(claim.jobs[0].id.clone(), claim.token).completion();
    let reply = store.complete(&queue(), vec![late], None).await.unwrap();
    assert_eq!(reply.statuses, [OutcomeStatus::LeaseLost]);
    assert_eq!(ready(&store).await, 1);
}

#[tokio::test]
async fn miscounted_claims_and_stray_payloads_are_repaired_by_an_audit() {
    let (_folder, path) = folder();
    fill(&path, 3).await;
    let store = open(&path);
    store
        .claim(&queue(), ClaimRequest::single(2))
        .await
        .unwrap();
    corrupt(
        &path,
        "UPDATE claim SET remaining = 7; INSERT INTO large_payload VALUES (999, x'00')",
    );

    assert_eq!(
        repairs(&store).await,
        ["claim_miscounted", "payload_without_job"]
    );

    assert!(repairs(&store).await.is_empty());
}

#[tokio::test]
async fn a_running_job_whose_claim_counts_too_low_is_completed_or_requeued() {
    let (_folder, path) = folder();
    fill(&path, 2).await;
    let store = open(&path);
    let request = ClaimRequest::single(2);
    let claim = store.claim(&queue(), request).await.unwrap().unwrap();
    corrupt(&path, "UPDATE claim SET remaining = 0, finished_at = 1");

    let done = JobLease::new(claim.jobs[0].id.clone(), claim.token).completion();
    let reply = store.complete(&queue(), vec![done], None).await.unwrap();
    assert_eq!(reply.statuses, [OutcomeStatus::Completed]);
    repairs(&store).await;

    assert_eq!(ready(&store).await, 1);
    assert!(repairs(&store).await.is_empty());
}
