//! Queues of several parts.

use windlass_core::{NewJob, Result, Store};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::numbered;
use windlass_testkit::paging;

use crate::fixture::Site;

/// A key of another part.
fn key(part: u32, name: &str) -> String {
    format!("windlass:{{q/{part}}}:{name}")
}

#[tokio::test]
async fn faults_are_found_in_every_part() -> Result<()> {
    let site = Site::open().await;
    site.bench.set("partitions=3").await?;
    site.bench.enqueue_all(numbered(60)).await?;
    site.hand("DEL", "ready:5", &[]);
    for part in [1, 2] {
        site.server.command(&["DEL", &key(part, "ready:5")]).ok();
    }

    let (checked, repairs) = site.audit().await?;

    assert_eq!((checked, repairs.len()), (60, 60));
    assert_eq!(site.audit().await?, (60, vec![]));
    assert_eq!(site.drain().await?.len(), 60);
    Ok(())
}

#[tokio::test]
async fn a_queue_that_forgot_its_parts_knows_them_again() -> Result<()> {
    let site = Site::open().await;
    site.bench.set("partitions=2").await?;
    site.bench.set("partitions=3").await?;
    site.bench.set("keep_succeeded=all").await?;
    site.bench.enqueue_all(numbered(60)).await?;
    site.hand("DEL", "state", &[]);

    // Another process, which has not seen the parts.
    let store = RedisStore::open(&site.server.url(), Options::default()).await?;
    let queue = &site.bench.queue;
    let (checked, _) = paging::audit(&store, queue).await?;

    assert_eq!(checked, 60);
    assert_eq!(site.hand("HGET", "state", &["earlier"]).text(), "1 2 ");
    let settings = store.settings(queue).await?;
    assert_eq!(settings, site.bench.store.settings(queue).await?);
    store
        .enqueue(queue, (0..3).map(|_| NewJob::new("more")).collect())
        .await?;
    Ok(())
}
