//! Damage to what limits a queue: an audit repairs it, and no stored value can crash the process.

use std::path::Path;
use std::time::Duration;

use windlass_core::{ClaimRequest, ErrorKind, Store};
use windlass_store_sqlite::SqliteStore;

use super::damaged::{corrupt, repairs, run_all_verbs};
use super::{enqueue, folder, open, queue};

const HOUR: Duration = Duration::from_secs(3600);

/// Opens a store with some ready jobs and one that was claimed.
async fn open_limited(path: &Path, settings: &[&str]) -> SqliteStore {
    let store = open(path);
    set(&store, settings).await;
    enqueue(&store, 5).await.unwrap();
    assert!(may_claim(&store).await);
    assert_eq!(repairs(&store).await, [""; 0]);
    store
}

async fn set(store: &SqliteStore, settings: &[&str]) {
    let settings = settings.iter().map(|setting| setting.parse().unwrap());
    store.set(&queue(), settings.collect()).await.unwrap();
}

async fn may_claim(store: &SqliteStore) -> bool {
    let claim = store.claim(&queue(), ClaimRequest::single(1)).await;
    claim.unwrap().is_some()
}

async fn next_due(store: &SqliteStore) -> Option<Duration> {
    let stats = store.stats(&queue()).await.unwrap().unwrap();
    stats.next_due_ms.map(Duration::from_millis)
}

#[tokio::test]
async fn a_rate_that_is_closed_for_too_long_is_repaired_by_an_audit() {
    for (burst, rest_of_burst) in [("burst=1", None), ("burst=4", Some(3))] {
        let (_folder, path) = folder();
        let store = open_limited(&path, &["rate=4/1h", burst]).await;
        let rest = store.claim(&queue(), ClaimRequest::single(5)).await;
        assert_eq!(rest.unwrap().map(|rest| rest.jobs.len()), rest_of_burst);
        assert_eq!(repairs(&store).await, [""; 0]);
        // More than an hour, or than a burst of four, after the claim.
        corrupt(
            &path,
            "UPDATE queue SET rate_next_us = rate_next_us + 4 * 3600000000",
        );
        assert!(next_due(&store).await.unwrap() > HOUR);

        assert_eq!(repairs(&store).await, ["rate_wrong"]);

        assert!(next_due(&store).await.is_none_or(|due| due <= HOUR));
        assert_eq!(repairs(&store).await, [""; 0]);
    }
}

#[tokio::test]
async fn the_number_of_a_rate_that_was_removed_is_repaired_by_an_audit() {
    let (_folder, path) = folder();
    let store = open_limited(&path, &["rate=1/1h"]).await;
    set(&store, &["rate=none"]).await;
    corrupt(&path, "UPDATE queue SET rate_next_us = 9223372036854775807");

    assert_eq!(repairs(&store).await, ["rate_wrong"]);

    assert_eq!(repairs(&store).await, [""; 0]);
    set(&store, &["rate=1/1h"]).await;
    assert!(may_claim(&store).await);
}

#[tokio::test]
async fn a_wrong_count_of_running_jobs_is_repaired_by_an_audit() {
    let (_folder, path) = folder();
    let store = open_limited(&path, &["max_running=3"]).await;
    // Ready jobs of ten priorities and the scheduled ones precede it.
    let count = "UPDATE queue SET stats = '0 0 0 0 0 4 0 0 0 0 0 9' || substr(stats, 24)";
    corrupt(&path, count);
    assert!(!may_claim(&store).await);

    assert_eq!(repairs(&store).await, ["stats_wrong"]);

    assert!(may_claim(&store).await);
}

#[tokio::test]
async fn corrupt_limits_are_damage_and_crash_nothing() {
    for damage in [
        "rate_next_us = -1",
        "rate_next_us = -9223372036854775808",
        "rate_next_us = 9223372036854775807",
        "settings = 'rate=0/1s'",
        "settings = 'max_running=0'",
        "settings = settings || 'partitions=4'",
        "settings = 'rate=4294967295/36500d' || char(10) || 'burst=4294967295'",
    ] {
        let (_folder, path) = folder();
        let store = open_limited(&path, &["max_running=9", "rate=9/1s", "burst=9"]).await;
        corrupt(&path, &format!("UPDATE queue SET {damage}"));

        let errors = run_all_verbs(&store).await;

        let is_damage = |kind: &ErrorKind| *kind == ErrorKind::StoreDamaged;
        assert!(errors.iter().all(is_damage), "{damage}: {errors:?}");
    }
}
