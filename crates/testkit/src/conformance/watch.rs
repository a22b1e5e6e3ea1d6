//! Watch: stores send notifications, but nothing depends on them.

use std::time::Duration;

use windlass_core::Result;
use windlass_core::store::{Notification, Watch};

use crate::fixture::{Fixture, id, named, queue};

/// The maximum time to wait for a notification.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Watches the queue of the case.
async fn watch(fixture: &Fixture) -> Result<Box<dyn Watch>> {
    let queues = std::slice::from_ref(&fixture.queue);
    fixture.store.watch(queues).await
}

async fn wait_for(watch: &mut dyn Watch, wanted: &Notification) {
    let arrival = async {
        loop {
            match watch.next().await {
                Some(notification) if notification == *wanted => return,
                Some(_) => {}
                None => panic!("the stream ended before {wanted:?}"),
            }
        }
    };
    let arrived = tokio::time::timeout(TIMEOUT, arrival).await;
    assert!(arrived.is_ok(), "missing notification: {wanted:?}");
}

pub async fn a_notification_is_sent_for_new_work(fixture: &Fixture) -> Result<()> {
    let mut watch = watch(fixture).await?;

    fixture.fill(&["a"]).await?;

    wait_for(watch.as_mut(), &Notification::Work(fixture.queue.clone())).await;
    Ok(())
}

pub async fn a_notification_is_sent_for_returned_work(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    let mut watch = watch(fixture).await?;

    fixture.release(&claim).await?;

    wait_for(watch.as_mut(), &Notification::Work(fixture.queue.clone())).await;
    Ok(())
}

pub async fn a_notification_is_sent_when_a_slot_of_a_full_queue_is_free(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("max_running=1").await?;
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(5).await?;
    let mut watch = watch(fixture).await?;

    fixture.complete(&claim).await?;

    wait_for(watch.as_mut(), &Notification::Work(fixture.queue.clone())).await;
    Ok(())
}

pub async fn a_notification_is_sent_for_reaped_work(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.take(1).await?;
    fixture.outlast_lease();
    let mut watch = watch(fixture).await?;

    fixture.maintain().await?;

    wait_for(watch.as_mut(), &Notification::Work(fixture.queue.clone())).await;
    Ok(())
}

pub async fn a_notification_is_sent_for_a_cancelled_running_job(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.take(1).await?;
    let mut watch = watch(fixture).await?;

    fixture.cancel("a").await?;

    wait_for(
        watch.as_mut(),
        &Notification::Cancel(fixture.queue.clone(), id("a")),
    )
    .await;
    Ok(())
}

pub async fn a_cancellation_reaches_a_watch_for_cancellations_only(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.take(1).await?;
    let queues = std::slice::from_ref(&fixture.queue);
    let mut watch = fixture.store.watch_cancels(queues).await?;

    fixture.cancel("a").await?;

    wait_for(
        watch.as_mut(),
        &Notification::Cancel(fixture.queue.clone(), id("a")),
    )
    .await;
    Ok(())
}

pub async fn notifications_are_only_for_the_watched_queues(fixture: &Fixture) -> Result<()> {
    let other = queue(&format!("{}.other", fixture.queue));
    let mut watch = watch(fixture).await?;

    fixture.store.enqueue(&other, vec![named("x")]).await?;
    fixture.fill(&["a"]).await?;

    let notification = tokio::time::timeout(TIMEOUT, watch.next())
        .await
        .expect("a notification arrives");
    assert_ne!(
        notification.as_ref().and_then(Notification::queue),
        Some(&other)
    );
    Ok(())
}

pub async fn everything_works_with_every_notification_lost(fixture: &Fixture) -> Result<()> {
    drop(watch(fixture).await?);

    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.cancel("a").await?;

    assert_eq!(fixture.renew(claim.token).await?.cancel, [id("a")]);
    Ok(())
}
