//! Damage to groups: an audit repairs it, and no stored value can crash the process.

use std::path::Path;

use windlass_core::store::GroupName;
use windlass_core::{ClaimRequest, ErrorKind, NewJob, Store};
use windlass_store_sqlite::SqliteStore;

use super::damaged::{corrupt, repairs, run_all_verbs};
use super::{folder, open, queue};

fn group(name: &str) -> GroupName {
    GroupName::new(name).unwrap()
}

/// Opens a store with two groups of three jobs, of which one each is claimed.
async fn open_grouped(path: &Path, settings: &[&str]) -> SqliteStore {
    let store = open(path);
    let settings = settings.iter().map(|setting| setting.parse().unwrap());
    store.set(&queue(), settings.collect()).await.unwrap();
    let jobs = ["a", "b"].repeat(3);
    let jobs = jobs.iter().map(|name| NewJob::new("x").group(group(name)));
    store.enqueue(&queue(), jobs.collect()).await.unwrap();
    assert_eq!(claim(&store, 2).await, ["a", "b"]);
    assert_eq!(repairs(&store).await, [""; 0]);
    store
}

/// Claims jobs. Returns their groups.
async fn claim(store: &SqliteStore, max: usize) -> Vec<String> {
    let claim = store.claim(&queue(), ClaimRequest::single(max)).await;
    let jobs = claim.unwrap().map_or_else(Vec::new, |claim| claim.jobs);
    let groups = jobs.into_iter().map(|job| job.group.unwrap().to_string());
    groups.collect()
}

#[tokio::test]
async fn groups_that_wait_in_the_wrong_place_are_repaired_by_an_audit() {
    for damage in [
        "may_start = 0",
        "opens_us = 9000000000000000000",
        "priority = NULL",
        "priority = 0",
        "priority = 9",
        "forget_us = 9000000000000000000",
    ] {
        let (_folder, path) = folder();
        let store = open_grouped(&path, &[]).await;
        let sql = format!("UPDATE job_group SET {damage} WHERE name = 'a'");
        corrupt(&path, &sql);

        assert_eq!(repairs(&store).await, ["group_misplaced"], "{damage}");

        assert_eq!(repairs(&store).await, [""; 0], "{damage}");
        assert_eq!(claim(&store, 9).await, ["a", "b", "a", "b"], "{damage}");
    }
}

#[tokio::test]
async fn a_group_in_the_turns_that_may_not_start_is_repaired_by_an_audit() {
    let (_folder, path) = folder();
    let store = open_grouped(&path, &["group_max_running=1"]).await;
    corrupt(&path, "UPDATE job_group SET may_start = 1");
    // A claim decides by the limits, not by the place.
    assert_eq!(claim(&store, 9).await, [""; 0]);
    corrupt(&path, "UPDATE job_group SET may_start = 1");

    let expected = ["group_misplaced", "group_misplaced"];
    assert_eq!(repairs(&store).await, expected);

    assert_eq!(repairs(&store).await, [""; 0]);
}

#[tokio::test]
async fn wrong_counts_of_groups_are_repaired_by_an_audit() {
    for damage in [
        "ready = 7",
        "ready = 1",
        "slots = 0",
        "slots = 9",
        "slots = 2, ready = 3",
    ] {
        let (_folder, path) = folder();
        let store = open_grouped(&path, &["group_max_running=2"]).await;
        corrupt(
            &path,
            &format!("UPDATE job_group SET {damage} WHERE name = 'a'"),
        );

        let found = repairs(&store).await;

        assert!(found.contains(&"group_miscounted"), "{damage}: {found:?}");
        let rest = repairs(&store).await;
        assert_eq!(rest, [""; 0], "{damage}");
        let record = store.group(&queue(), &group("a")).await.unwrap().unwrap();
        assert_eq!((record.ready, record.slots), (2, 1), "{damage}");
        assert_eq!(claim(&store, 9).await, ["a", "b"], "{damage}");
    }
}

#[tokio::test]
async fn groups_that_were_deleted_are_stored_again_by_an_audit() {
    for slot in ["group_slot=run", "group_slot=job", "group_slot=success"] {
        let (_folder, path) = folder();
        let store = open_grouped(&path, &[slot]).await;
        corrupt(&path, "DELETE FROM job_group");

        let expected = ["group_miscounted", "group_miscounted"];
        assert_eq!(repairs(&store).await, expected, "{slot}");

        assert_eq!(repairs(&store).await, [""; 0], "{slot}");
        let record = store.group(&queue(), &group("b")).await.unwrap().unwrap();
        assert_eq!((record.ready, record.slots), (2, 1), "{slot}");
    }
}

#[tokio::test]
async fn wrong_counts_of_jobs_with_groups_are_repaired_by_an_audit() {
    let (_folder, path) = folder();
    let store = open_grouped(&path, &[]).await;
    // The counters end with: ready and running jobs with a group, two turns, and a rest.
    corrupt(
        &path,
        "UPDATE queue SET stats = replace(stats, ' 4 2 4 0 0', ' 0 0 4 0 0')",
    );
    assert_eq!(claim(&store, 9).await, [""; 0]);

    assert_eq!(repairs(&store).await, ["stats_wrong"]);

    assert_eq!(repairs(&store).await, [""; 0]);
    assert_eq!(claim(&store, 9).await, ["a", "b", "a", "b"]);
}

#[tokio::test]
async fn a_ready_job_in_another_lane_is_repaired_by_an_audit() {
    for lane in [-99, 0, 99] {
        let (_folder, path) = folder();
        let store = open_grouped(&path, &[]).await;
        store
            .enqueue(&queue(), vec![NewJob::new("x")])
            .await
            .unwrap();
        corrupt(
            &path,
            &format!("UPDATE job SET lane = {lane} WHERE state = 1"),
        );

        let found = repairs(&store).await;

        assert_eq!(found, ["ready_in_wrong_lane"; 5], "{lane}");
        assert_eq!(repairs(&store).await, [""; 0], "{lane}");
        let stats = store.stats(&queue()).await.unwrap().unwrap();
        assert_eq!(stats.ready, 5);
    }
}

#[tokio::test]
async fn the_rate_of_a_group_that_is_closed_for_too_long_is_repaired_by_an_audit() {
    let (_folder, path) = folder();
    let store = open_grouped(&path, &["group_rate=1/1h"]).await;
    corrupt(
        &path,
        "UPDATE job_group SET rate_next_us = rate_next_us + 4 * 3600000000 WHERE name = 'b'",
    );

    assert_eq!(repairs(&store).await, ["group_rate_wrong"]);

    assert_eq!(repairs(&store).await, [""; 0]);
}

const DAMAGE: [&str; 23] = [
    "UPDATE job_group SET ready = -1",
    "UPDATE job_group SET ready = 9223372036854775807",
    "UPDATE job_group SET slots = 9223372036854775807",
    "UPDATE job_group SET turn = 9223372036854775807",
    "UPDATE job_group SET turn = -1",
    "UPDATE job_group SET priority = 99, may_start = 1",
    "UPDATE job_group SET priority = 999",
    "UPDATE job_group SET opens_us = -1",
    "UPDATE job_group SET rate_next_us = 9223372036854775807",
    "UPDATE job_group SET rate_next_us = -9223372036854775808",
    "UPDATE job_group SET resting_until = 9223372036854775807",
    "UPDATE job_group SET resting_until = -1",
    "UPDATE job_group SET limits = 'many'",
    "UPDATE job_group SET limits = '0 none default'",
    "UPDATE job_group SET limits = '4294967295 4294967295/36500d 4294967295'",
    "UPDATE job_group SET name = ''",
    "UPDATE job SET group_name = ''",
    "UPDATE job SET group_name = 'other'",
    "UPDATE job SET lane = 9223372036854775807",
    "DELETE FROM job_group",
    "DELETE FROM job",
    "UPDATE queue SET settings = 'group_slot=never'",
    "UPDATE queue SET settings = settings || 'group_max_running=0'",
];

#[tokio::test]
async fn corrupt_groups_are_damage_and_crash_nothing() {
    let limits = ["group_max_running=9", "group_rate=9/1s", "group_burst=9"];
    for settings in [&limits[..], &[]] {
        for damage in DAMAGE {
            let (_folder, path) = folder();
            let store = open_grouped(&path, settings).await;
            if damage.contains("name = ''") {
                corrupt(&path, "DELETE FROM job_group WHERE name = 'b'");
            }
            corrupt(&path, damage);

            let mut errors = run_all_verbs(&store).await;
            let groups = store.groups(&queue(), None, 9).await;
            errors.extend(groups.err().map(|error| error.kind()));

            let is_damage = |kind: &ErrorKind| *kind == ErrorKind::StoreDamaged;
            assert!(errors.iter().all(is_damage), "{damage}: {errors:?}");
        }
    }
}
