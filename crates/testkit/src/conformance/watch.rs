//! Watch: hints come where somebody should look, and nothing depends on them.

use std::time::Duration;

use windlass_core::{Notification, Result, Watch};

use crate::fixture::{Fixture, hold, id, named, queue};

/// How long a hint may take on a busy machine before the case gives up.
const PATIENCE: Duration = Duration::from_secs(20);

async fn wait_for(watch: &mut dyn Watch, wanted: &Notification) {
    let arrival = async {
        loop {
            match watch.next().await {
                Some(hint) if hint == *wanted => return,
                Some(_) => {}
                None => panic!("the hints ended before {wanted:?}"),
            }
        }
    };
    let arrived = tokio::time::timeout(PATIENCE, arrival).await;
    assert!(arrived.is_ok(), "no hint came: {wanted:?}");
}

pub async fn a_hint_comes_for_new_work(fixture: &Fixture) -> Result<()> {
    let mut watch = fixture
        .store
        .watch(std::slice::from_ref(&fixture.queue))
        .await?;

    fixture.fill(&["a"]).await?;

    wait_for(watch.as_mut(), &Notification::Work(fixture.queue.clone())).await;
    Ok(())
}

pub async fn a_hint_comes_for_work_given_back(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    let mut watch = fixture
        .store
        .watch(std::slice::from_ref(&fixture.queue))
        .await?;

    fixture.release(hold(&claim, 0)).await?;

    wait_for(watch.as_mut(), &Notification::Work(fixture.queue.clone())).await;
    Ok(())
}

pub async fn a_hint_comes_for_reaped_work(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.take(1).await?;
    fixture.outlast_lease();
    let mut watch = fixture
        .store
        .watch(std::slice::from_ref(&fixture.queue))
        .await?;

    fixture.maintain().await?;

    wait_for(watch.as_mut(), &Notification::Work(fixture.queue.clone())).await;
    Ok(())
}

pub async fn a_hint_comes_for_a_cancelled_running_job(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.take(1).await?;
    let mut watch = fixture
        .store
        .watch(std::slice::from_ref(&fixture.queue))
        .await?;

    fixture.cancel("a").await?;

    wait_for(
        watch.as_mut(),
        &Notification::Cancel(fixture.queue.clone(), id("a")),
    )
    .await;
    Ok(())
}

pub async fn a_cancellation_is_heard_by_who_listens_for_nothing_else(
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

pub async fn hints_speak_of_the_queues_asked_for(fixture: &Fixture) -> Result<()> {
    let other = queue(&format!("{}.other", fixture.queue));
    let mut watch = fixture
        .store
        .watch(std::slice::from_ref(&fixture.queue))
        .await?;

    fixture.store.enqueue(&other, vec![named("x")]).await?;
    fixture.fill(&["a"]).await?;

    let hint = tokio::time::timeout(PATIENCE, watch.next())
        .await
        .expect("a hint comes");
    assert_ne!(hint.as_ref().and_then(Notification::queue), Some(&other));
    Ok(())
}

pub async fn everything_works_with_every_hint_lost(fixture: &Fixture) -> Result<()> {
    drop(
        fixture
            .store
            .watch(std::slice::from_ref(&fixture.queue))
            .await?,
    );

    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.cancel("a").await?;

    assert_eq!(fixture.renew(claim.token).await?.cancel, [id("a")]);
    Ok(())
}
