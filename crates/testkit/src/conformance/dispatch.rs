//! Dispatch: a job is offered to a worker, which must accept it.

use windlass_core::limits::LEASE_DEFAULT;
use windlass_core::store::LeaseStatus;
use windlass_core::{Claim, ClaimRequest, JobState, LeaseTime, Mode, OutcomeStatus, Result};

use crate::fixture::{Fixture, almost, lease_of, ms, secs};

const OFFER: LeaseTime = LeaseTime::nearest(secs(2));

async fn offer(fixture: &Fixture) -> Result<Claim> {
    let request = ClaimRequest::single(1).mode(Mode::Dispatch).lease(OFFER);
    let claim = fixture.store.claim(&fixture.queue, request).await?;
    Ok(claim.expect("the queue has a job to offer"))
}

async fn accept(fixture: &Fixture, claim: &Claim) -> Result<LeaseStatus> {
    let (store, lease) = (&fixture.store, lease_of(claim, 0));
    store
        .accept(&fixture.queue, lease, LeaseTime::default())
        .await
}

pub async fn a_dispatched_job_runs_and_is_not_accepted(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;

    let claim = offer(fixture).await?;

    let job = fixture.job("a").await?;
    assert_eq!(
        (job.state, job.token),
        (JobState::Running, Some(claim.token))
    );
    assert_eq!(
        (job.started_at, job.accepted_at),
        (Some(fixture.now()), None)
    );
    assert_eq!(fixture.claim(1).await?, None);
    Ok(())
}

pub async fn a_job_not_accepted_in_time_goes_back_to_the_front(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    offer(fixture).await?;

    fixture.advance(almost(OFFER.get()));
    assert_eq!(fixture.maintain().await?.reaped, 0);
    fixture.advance(ms(1));
    fixture.maintain().await?;

    assert_eq!(fixture.ready().await?, ["a", "b"]);
    let job = fixture.job("a").await?;
    assert_eq!(
        (job.attempt, job.expiries),
        (1, 0),
        "no worker accepted the job, so no expiry is counted"
    );
    Ok(())
}

pub async fn an_accepted_job_is_held_for_its_lease(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = offer(fixture).await?;
    fixture.advance(secs(1));

    let held = accept(fixture, &claim).await?;

    assert_eq!(held, LeaseStatus::Valid);
    assert_eq!(fixture.job("a").await?.accepted_at, Some(fixture.now()));
    fixture.advance(almost(LEASE_DEFAULT));
    assert!(fixture.maintain().await?.is_idle());
    fixture.advance(ms(1));
    assert_eq!(fixture.maintain().await?.reaped, 1);
    assert_eq!(fixture.job("a").await?.expiries, 1);
    Ok(())
}

pub async fn accepting_again_succeeds_again(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = offer(fixture).await?;
    accept(fixture, &claim).await?;
    let before = fixture.snapshot().await?;

    let again = accept(fixture, &claim).await?;

    assert_eq!(again, LeaseStatus::Valid);
    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn an_offer_that_went_back_cannot_be_accepted(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = offer(fixture).await?;
    fixture.advance(OFFER.get());
    fixture.maintain().await?;

    let held = accept(fixture, &claim).await?;

    assert_eq!(held, LeaseStatus::Lost);
    assert_eq!(fixture.state("a").await?, Some(JobState::Ready));
    Ok(())
}

pub async fn an_accepted_job_is_completed_with_its_token(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = offer(fixture).await?;
    accept(fixture, &claim).await?;
    fixture.advance(secs(10));

    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::Completed);
    Ok(())
}

pub async fn declining_an_offer_gives_the_job_back_at_once(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let claim = offer(fixture).await?;

    assert_eq!(fixture.release(&claim).await?, OutcomeStatus::Released);

    assert_eq!(fixture.ready().await?, ["a", "b"]);
    Ok(())
}
