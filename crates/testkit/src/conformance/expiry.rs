//! Expiry: a job that has not started by its expiry becomes dead.

use windlass_core::store::Reason;
use windlass_core::{Due, JobState, OutcomeStatus, Result};

use crate::fixture::{Fixture, almost, named, secs};

/// Enqueues a job that expires after some seconds.
async fn enqueue_expiring(fixture: &Fixture, name: &str, after: u64) -> Result<()> {
    let job = named(name).expires(Due::After(secs(after)));
    fixture.enqueue(job).await.map(drop)
}

pub async fn a_job_past_its_expiry_is_dead_at_the_next_claim(fixture: &Fixture) -> Result<()> {
    enqueue_expiring(fixture, "a", 5).await?;
    fixture.fill(&["b"]).await?;
    fixture.advance(secs(5));

    assert_eq!(fixture.next(10).await?, ["b"]);

    let job = fixture.job("a").await?;
    assert_eq!(
        (job.state, job.reason),
        (JobState::Dead, Some(Reason::Expired))
    );
    assert_eq!(job.finished_at, Some(fixture.now()));
    Ok(())
}

pub async fn a_job_before_its_expiry_is_handed_out(fixture: &Fixture) -> Result<()> {
    enqueue_expiring(fixture, "a", 5).await?;

    fixture.advance(almost(secs(5)));

    assert_eq!(fixture.next(1).await?, ["a"]);
    Ok(())
}

pub async fn maintenance_gives_up_expired_jobs(fixture: &Fixture) -> Result<()> {
    enqueue_expiring(fixture, "ready", 5).await?;
    fixture
        .enqueue(
            named("scheduled")
                .delay(secs(60))
                .expires(Due::After(secs(5))),
        )
        .await?;
    fixture.fill(&["other"]).await?;
    fixture.advance(secs(5));

    assert_eq!(fixture.maintain().await?.expired, 2);

    for name in ["ready", "scheduled"] {
        assert_eq!(
            fixture.job(name).await?.reason,
            Some(Reason::Expired),
            "{name}"
        );
    }
    assert_eq!(fixture.ready().await?, ["other"]);
    Ok(())
}

pub async fn a_running_job_does_not_expire(fixture: &Fixture) -> Result<()> {
    enqueue_expiring(fixture, "a", 5).await?;
    let claim = fixture.take(1).await?;
    fixture.advance(secs(10));

    assert_eq!(fixture.maintain().await?.expired, 0);
    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::Completed);
    Ok(())
}

pub async fn a_job_given_back_after_its_expiry_is_not_begun_again(fixture: &Fixture) -> Result<()> {
    enqueue_expiring(fixture, "a", 5).await?;
    let claim = fixture.take(1).await?;
    fixture.advance(secs(10));
    fixture.release(&claim).await?;

    assert_eq!(fixture.claim(1).await?, None);

    assert_eq!(fixture.job("a").await?.reason, Some(Reason::Expired));
    Ok(())
}

pub async fn an_expired_job_may_be_retried(fixture: &Fixture) -> Result<()> {
    enqueue_expiring(fixture, "a", 5).await?;
    fixture.advance(secs(6));
    fixture.maintain().await?;

    fixture.retry("a").await?;

    assert_eq!(fixture.next(1).await?, ["a"]);
    Ok(())
}

pub async fn an_expired_job_is_counted_among_the_dead(fixture: &Fixture) -> Result<()> {
    enqueue_expiring(fixture, "a", 5).await?;
    fixture.advance(secs(6));
    fixture.maintain().await?;

    let stats = fixture.snapshot().await?.stats;
    assert_eq!((stats.dead, stats.ready, stats.total.dead), (1, 0, 1));
    assert_eq!(fixture.enqueue(named("a")).await?.state(), JobState::Dead);
    Ok(())
}
