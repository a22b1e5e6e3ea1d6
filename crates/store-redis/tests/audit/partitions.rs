//! Partitioned queues.

use windlass_core::{NewJob, Result, Store};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::numbered;
use windlass_testkit::paging;

use crate::fixture::AuditFixture;

/// Returns a key of another partition.
fn key(partition: u32, name: &str) -> String {
    format!("windlass:{{q/{partition}}}:{name}")
}

#[tokio::test]
async fn damage_is_found_in_every_partition() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.set("partitions=3").await?;
    test.fixture.enqueue_all(numbered(60)).await?;
    test.command("DEL", "ready:5", &[]);
    for partition in [1, 2] {
        test.server
            .command(&["DEL", &key(partition, "ready:5")])
            .ok();
    }

    let (checked, repairs) = test.audit().await?;

    assert_eq!((checked, repairs.len()), (60, 60));
    assert_eq!(test.audit().await?, (60, vec![]));
    assert_eq!(test.drain().await?.len(), 60);
    Ok(())
}

#[tokio::test]
async fn a_queue_that_lost_its_partition_count_finds_its_partitions() -> Result<()> {
    let test = AuditFixture::open().await;
    test.fixture.set("partitions=2").await?;
    test.fixture.set("partitions=3").await?;
    test.fixture.set("keep_succeeded=all").await?;
    test.fixture.enqueue_all(numbered(60)).await?;
    test.command("DEL", "state", &[]);

    // Another process, which has not seen the partitions.
    let store = RedisStore::open(&test.server.url(), Options::default()).await?;
    let queue = &test.fixture.queue;
    let (checked, _) = paging::audit(&store, queue).await?;

    assert_eq!(checked, 60);
    assert_eq!(test.command("HGET", "state", &["earlier"]).text(), "1 2 ");
    let settings = store.settings(queue).await?;
    assert_eq!(settings, test.fixture.store.settings(queue).await?);
    store
        .enqueue(queue, (0..3).map(|_| NewJob::new("more")).collect())
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_queue_that_was_deleted_in_part_is_completed_with_its_settings() -> Result<()> {
    let test = AuditFixture::open().await;
    let (store, queue) = (&test.fixture.store, &test.fixture.queue);
    test.fixture.set("partitions=3").await?;
    store.set_paused(queue, true).await?;
    // As if a job had stopped the deletion before it reached the first partition.
    for partition in [1, 2] {
        for name in [
            "state", "settings", "jobs", "opts", "running", "open", "claims",
        ] {
            test.server.command(&["DEL", &key(partition, name)]).ok();
        }
    }

    test.fixture.enqueue_all(numbered(60)).await?;

    assert_eq!(
        test.fixture.claim(50).await?,
        None,
        "every partition is paused"
    );
    store.set_paused(queue, false).await?;
    assert_eq!(test.drain().await?.len(), 60);
    Ok(())
}
