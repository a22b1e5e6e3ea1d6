//! Clock: small steps back are ignored, large ones are adopted.

use windlass_core::limits::LEASE_DEFAULT;
use windlass_core::{ClaimRequest, JobState, LeaseTime, OutcomeStatus, Result};

use crate::fixture::{Fixture, boot, ms, named, numbered, secs};

pub async fn a_small_step_back_is_bridged_by_the_latest_time_seen(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("a").delay(secs(1))).await?;
    fixture.advance(secs(60));
    fixture.fill(&["b"]).await?;
    let mark = fixture.now();

    fixture.clock.step_back(secs(5));
    fixture.fill(&["c"]).await?;

    let job = fixture.job("c").await?;
    assert_eq!((job.created_at, job.due_at), (mark, mark));
    assert_eq!(job.state, JobState::Ready);
    Ok(())
}

pub async fn a_due_job_stays_due_when_the_clock_steps_back_a_little(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue(named("a").delay(secs(10))).await?;
    fixture.advance(secs(10));
    fixture.fill(&["b"]).await?;

    fixture.clock.step_back(secs(3));

    assert_eq!(fixture.next(10).await?, ["b", "a"]);
    Ok(())
}

pub async fn a_large_step_back_is_adopted(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;

    fixture.clock.step_back(secs(5) + ms(1));
    fixture.fill(&["b"]).await?;

    assert_eq!(fixture.job("b").await?.created_at, fixture.now());
    Ok(())
}

pub async fn a_large_step_back_cuts_leases_to_their_length(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let single = fixture.take(1).await?;
    let of_worker = fixture.take_as(&boot("worker"), 1, 1).await?;
    fixture.clock.step_back(secs(3600));

    fixture.maintain().await?;

    let end = fixture.now().plus(LEASE_DEFAULT);
    assert!(end < single.until && end < of_worker.until);
    assert!(
        fixture
            .snapshot()
            .await?
            .leases
            .iter()
            .all(|lease| lease.until == end)
    );
    fixture.outlast_lease();
    assert_eq!(fixture.maintain().await?.reaped, 2);
    Ok(())
}

pub async fn a_step_back_cuts_a_short_lease_beneath_many_long_ones(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue_all(numbered(520)).await?;
    fixture.take(1).await?;
    for _ in 0..519 {
        let request = ClaimRequest::single(1).lease(LeaseTime::nearest(secs(7200)));
        fixture.store.claim(&fixture.queue, request).await?;
    }
    fixture.clock.step_back(secs(600));

    // Each call does a limited amount of work, so several may be needed.
    for _ in 0..5 {
        fixture.maintain().await?;
    }

    fixture.outlast_lease();
    assert_eq!(fixture.maintain().await?.reaped, 1);
    Ok(())
}

pub async fn a_step_back_never_lengthens_a_lease(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.take(1).await?;
    fixture.advance(secs(25));
    fixture.fill(&["b"]).await?;

    fixture.clock.step_back(secs(6));
    fixture.fill(&["c"]).await?;

    // 11 s of the lease are left, which is less than its duration of 30 s, so it does not change.
    fixture.advance(secs(11));
    assert_eq!(fixture.maintain().await?.reaped, 1);
    Ok(())
}

pub async fn a_token_outlives_a_step_back(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(1).await?;

    fixture.clock.step_back(secs(3600));

    let later = fixture.take(1).await?;
    assert!(
        later.token.number > claim.token.number,
        "tokens grow all the same"
    );
    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::Completed);
    Ok(())
}

pub async fn a_queue_created_again_issues_no_token_twice(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.complete(&claim).await?;
    fixture.store.delete_queue(&fixture.queue).await?;

    fixture.clock.step_back(secs(3600));
    fixture.fill(&["a"]).await?;

    let later = fixture.take(1).await?;
    assert!(later.token.number > claim.token.number);
    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::LeaseLost);
    Ok(())
}

pub async fn a_job_keeps_its_due_time_through_a_step_back(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("a").delay(secs(5))).await?;
    let due = fixture.job("a").await?.due_at;
    fixture.clock.step_back(secs(60));

    assert_eq!(fixture.claim(1).await?, None);

    assert_eq!(fixture.job("a").await?.due_at, due);
    fixture.advance(secs(65));
    assert_eq!(fixture.next(1).await?, ["a"]);
    Ok(())
}
