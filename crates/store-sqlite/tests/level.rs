//! The reply to an enqueue reports the durability level that was reached.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails on the spot"
)]

use windlass_core::store::DurabilityLevel;
use windlass_core::{Enqueued, NewJob, QueueName, Store};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

async fn level_of(synchronous: Synchronous) -> DurabilityLevel {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        synchronous,
        ..Options::default()
    };
    let store = SqliteStore::open(&folder.path().join("jobs.db"), options).unwrap();
    let queue = QueueName::new("mail").unwrap();

    let replies = store.enqueue(&queue, vec![NewJob::new("hello")]).await;

    match replies.unwrap().remove(0) {
        Enqueued::Accepted { level, .. } => level,
        other => panic!("a new job was {other:?}"),
    }
}

#[tokio::test]
async fn only_a_store_that_syncs_every_commit_reports_synced() {
    assert_eq!(level_of(Synchronous::Full).await, DurabilityLevel::Synced);
    assert_eq!(level_of(Synchronous::Normal).await, DurabilityLevel::Memory);
    assert_eq!(level_of(Synchronous::Off).await, DurabilityLevel::Memory);
}
