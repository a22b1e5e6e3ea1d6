//! Expiry: a job not begun by its time is not begun at all.

use windlass_core::{Due, JobState, Reason, Result, Settled};

use crate::bench::{Bench, almost, hold, named, secs};

pub async fn a_job_past_its_expiry_is_dead_at_the_next_claim(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("a").expires(Due::After(secs(5))))
        .await?;
    bench.fill(&["b"]).await?;
    bench.advance(secs(5));

    assert_eq!(bench.next(10).await?, ["b"]);

    let job = bench.job("a").await?;
    assert_eq!(
        (job.state, job.reason),
        (JobState::Dead, Some(Reason::Expired))
    );
    assert_eq!(job.finished_at, Some(bench.now()));
    Ok(())
}

pub async fn a_job_before_its_expiry_is_handed_out(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("a").expires(Due::After(secs(5))))
        .await?;

    bench.advance(almost(secs(5)));

    assert_eq!(bench.next(1).await?, ["a"]);
    Ok(())
}

pub async fn maintenance_gives_up_expired_jobs(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("ready").expires(Due::After(secs(5))))
        .await?;
    bench
        .enqueue(
            named("scheduled")
                .delay(secs(60))
                .expires(Due::After(secs(5))),
        )
        .await?;
    bench.fill(&["other"]).await?;
    bench.advance(secs(5));

    assert_eq!(bench.maintain().await?.expired, 2);

    for name in ["ready", "scheduled"] {
        assert_eq!(
            bench.job(name).await?.reason,
            Some(Reason::Expired),
            "{name}"
        );
    }
    assert_eq!(bench.ready().await?, ["other"]);
    Ok(())
}

pub async fn a_running_job_does_not_expire(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("a").expires(Due::After(secs(5))))
        .await?;
    let claim = bench.take(1).await?;
    bench.advance(secs(10));

    assert_eq!(bench.maintain().await?.expired, 0);
    assert_eq!(bench.complete(hold(&claim, 0)).await?, Settled::Completed);
    Ok(())
}

pub async fn a_job_given_back_after_its_expiry_is_not_begun_again(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("a").expires(Due::After(secs(5))))
        .await?;
    let claim = bench.take(1).await?;
    bench.advance(secs(10));
    bench.release(hold(&claim, 0)).await?;

    assert_eq!(bench.claim(1).await?, None);

    assert_eq!(bench.job("a").await?.reason, Some(Reason::Expired));
    Ok(())
}

pub async fn an_expired_job_may_be_retried(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("a").expires(Due::After(secs(5))))
        .await?;
    bench.advance(secs(6));
    bench.maintain().await?;

    bench.retry("a").await?;

    assert_eq!(bench.next(1).await?, ["a"]);
    Ok(())
}

pub async fn an_expired_job_is_counted_among_the_dead(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("a").expires(Due::After(secs(5))))
        .await?;
    bench.advance(secs(6));
    bench.maintain().await?;

    let stats = bench.whole().await?.stats;
    assert_eq!((stats.dead, stats.ready, stats.total.dead), (1, 0, 1));
    assert_eq!(bench.enqueue(named("a")).await?.state(), JobState::Dead);
    Ok(())
}
