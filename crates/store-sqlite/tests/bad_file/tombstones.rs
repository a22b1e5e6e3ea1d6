//! Damage to tombstones of ids and unique keys: an audit repairs it, and no stored value can crash the process.

use std::path::Path;
use std::time::Duration;

use windlass_core::store::OnDuplicate;
use windlass_core::{ClaimRequest, Enqueued, ErrorKind, JobId, JobLease, NewJob, Store};
use windlass_store_sqlite::SqliteStore;

use super::damaged::{DROP_LAST_STATS, corrupt, repairs, run_all_verbs};
use super::{folder, open, queue};

fn keyed(id: &str) -> NewJob {
    let job = NewJob::new("x").id(JobId::new(id).unwrap());
    job.unique_key("key".parse().unwrap())
}

async fn enqueue(store: &SqliteStore, job: NewJob) -> Enqueued {
    let replies = store.enqueue(&queue(), vec![job]).await.unwrap();
    replies.into_iter().next().unwrap()
}

/// Opens a store in which an ended job holds a key, its id is remembered, and so is the id of an amendment.
async fn open_held(path: &Path) -> SqliteStore {
    let (store, q) = (open(path), queue());
    enqueue(&store, keyed("a").unique_for(Duration::from_secs(3600))).await;
    let claim = store.claim(&q, ClaimRequest::single(1)).await.unwrap();
    let claim = claim.unwrap();
    let done = JobLease::new(claim.jobs[0].id.clone(), claim.token).completion();
    store.complete(&q, vec![done], None).await.unwrap();
    let other = |id| keyed(id).unique_key("other".parse().unwrap());
    enqueue(&store, other("b")).await;
    enqueue(&store, other("c").on_duplicate(OnDuplicate::Replace)).await;
    assert_eq!(repairs(&store).await, [""; 0]);
    store
}

#[tokio::test]
async fn a_tombstone_that_cannot_be_read_is_deleted_by_an_audit() {
    for damage in [
        "job = NULL",
        "job = ''",
        "state = 77",
        "state = 1",
        "until = -1",
        "reply = 'replaced'",
        "reply = 'lost'",
    ] {
        let (_folder, path) = folder();
        let store = open_held(&path).await;
        let sql = format!("UPDATE tombstone SET {damage} WHERE id = char(10) || 'key'");
        corrupt(&path, &sql);

        assert_eq!(repairs(&store).await, ["tombstone_unreadable"], "{damage}");

        assert_eq!(repairs(&store).await, [""; 0], "{damage}");
        assert!(enqueue(&store, keyed("d")).await.is_accepted());
    }
}

#[tokio::test]
async fn a_key_with_a_live_and_an_ended_holder_stays_with_the_live_one() {
    let (_folder, path) = folder();
    let store = open_held(&path).await;
    corrupt(&path, "UPDATE job SET unique_key = 'key' WHERE id = 'b'");

    assert_eq!(repairs(&store).await, ["unique_key_held_twice"]);

    assert_eq!(repairs(&store).await, [""; 0]);
    let reply = enqueue(&store, keyed("d")).await;
    assert_eq!((reply.is_duplicate(), reply.id().as_str()), (true, "b"));
}

#[tokio::test]
async fn a_wrong_count_of_held_keys_is_repaired_by_an_audit() {
    let (_folder, path) = folder();
    let store = open_held(&path).await;
    corrupt(&path, DROP_LAST_STATS);

    assert_eq!(repairs(&store).await, ["stats_wrong"]);

    assert!(enqueue(&store, keyed("d")).await.is_duplicate());
}

#[tokio::test]
async fn corrupt_tombstones_are_damage_and_crash_nothing() {
    for damage in [
        "id = id || char(10)",
        "id = CAST(x'ff' || id AS TEXT)",
        "state = -9223372036854775808",
        "until = -9223372036854775808",
        "until = 9223372036854775807",
        "job = CAST(x'ff' AS TEXT)",
        "job = ''",
        "reply = ''",
    ] {
        let (_folder, path) = folder();
        let store = open_held(&path).await;
        corrupt(&path, &format!("UPDATE tombstone SET {damage}"));

        let mut errors = run_all_verbs(&store).await;
        let again = store.enqueue(&queue(), vec![keyed("a"), keyed("d")]).await;
        errors.extend(again.err().map(|error| error.kind()));

        let is_damage = |kind: &ErrorKind| *kind == ErrorKind::StoreDamaged;
        assert!(errors.iter().all(is_damage), "{damage}: {errors:?}");
    }
}
