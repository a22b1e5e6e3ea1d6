//! Watch: hints come where somebody should look, and nothing depends on them.

use std::time::Duration;

use windlass_core::{Hint, Result, Watch};

use crate::bench::{Bench, hold, id, named, queue};

/// How long a hint may take on a busy machine before the case gives up.
const PATIENCE: Duration = Duration::from_secs(20);

async fn wait_for(watch: &mut dyn Watch, wanted: &Hint) {
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

pub async fn a_hint_comes_for_new_work(bench: &Bench) -> Result<()> {
    let mut watch = bench
        .store
        .watch(std::slice::from_ref(&bench.queue))
        .await?;

    bench.fill(&["a"]).await?;

    wait_for(watch.as_mut(), &Hint::Work(bench.queue.clone())).await;
    Ok(())
}

pub async fn a_hint_comes_for_work_given_back(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;
    let mut watch = bench
        .store
        .watch(std::slice::from_ref(&bench.queue))
        .await?;

    bench.release(hold(&claim, 0)).await?;

    wait_for(watch.as_mut(), &Hint::Work(bench.queue.clone())).await;
    Ok(())
}

pub async fn a_hint_comes_for_reaped_work(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench.take(1).await?;
    bench.outlast_lease();
    let mut watch = bench
        .store
        .watch(std::slice::from_ref(&bench.queue))
        .await?;

    bench.maintain().await?;

    wait_for(watch.as_mut(), &Hint::Work(bench.queue.clone())).await;
    Ok(())
}

pub async fn a_hint_comes_for_a_cancelled_running_job(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench.take(1).await?;
    let mut watch = bench
        .store
        .watch(std::slice::from_ref(&bench.queue))
        .await?;

    bench.cancel("a").await?;

    wait_for(watch.as_mut(), &Hint::Cancel(bench.queue.clone(), id("a"))).await;
    Ok(())
}

pub async fn a_cancellation_is_heard_by_who_listens_for_nothing_else(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench.take(1).await?;
    let queues = std::slice::from_ref(&bench.queue);
    let mut watch = bench.store.watch_cancels(queues).await?;

    bench.cancel("a").await?;

    wait_for(watch.as_mut(), &Hint::Cancel(bench.queue.clone(), id("a"))).await;
    Ok(())
}

pub async fn hints_speak_of_the_queues_asked_for(bench: &Bench) -> Result<()> {
    let other = queue(&format!("{}.other", bench.queue));
    let mut watch = bench
        .store
        .watch(std::slice::from_ref(&bench.queue))
        .await?;

    bench.store.enqueue(&other, vec![named("x")]).await?;
    bench.fill(&["a"]).await?;

    let hint = tokio::time::timeout(PATIENCE, watch.next())
        .await
        .expect("a hint comes");
    assert_ne!(hint.as_ref().and_then(Hint::queue), Some(&other));
    Ok(())
}

pub async fn everything_works_with_every_hint_lost(bench: &Bench) -> Result<()> {
    drop(
        bench
            .store
            .watch(std::slice::from_ref(&bench.queue))
            .await?,
    );

    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;
    bench.cancel("a").await?;

    assert_eq!(bench.renew(claim.token).await?.cancel, [id("a")]);
    Ok(())
}
