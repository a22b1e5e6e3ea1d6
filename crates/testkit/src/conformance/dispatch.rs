//! Dispatch: a job pushed to a worker is offered first and held only when accepted.

use windlass_core::limits::LEASE_DEFAULT;
use windlass_core::{Claim, ClaimRequest, Held, JobState, Mode, Result, Settled};

use crate::bench::{Bench, almost, hold, ms, secs};

const OFFER: std::time::Duration = secs(2);

async fn offer(bench: &Bench) -> Result<Claim> {
    let request = ClaimRequest::single(1).mode(Mode::Dispatch).lease(OFFER);
    let claim = bench.store.claim(&bench.queue, request).await?;
    Ok(claim.expect("the queue has a job to offer"))
}

async fn accept(bench: &Bench, claim: &Claim) -> Result<Held> {
    let (store, hold) = (&bench.store, hold(claim, 0));
    store.accept(&bench.queue, hold, LEASE_DEFAULT).await
}

pub async fn a_dispatched_job_runs_and_is_not_accepted(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;

    let claim = offer(bench).await?;

    let job = bench.job("a").await?;
    assert_eq!(
        (job.state, job.token),
        (JobState::Running, Some(claim.token))
    );
    assert_eq!((job.started_at, job.accepted_at), (Some(bench.now()), None));
    assert_eq!(bench.claim(1).await?, None);
    Ok(())
}

pub async fn a_job_not_accepted_in_time_goes_back_to_the_front(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    offer(bench).await?;

    bench.advance(almost(OFFER));
    assert_eq!(bench.maintain().await?.reaped, 0);
    bench.advance(ms(1));
    bench.maintain().await?;

    assert_eq!(bench.ready().await?, ["a", "b"]);
    let job = bench.job("a").await?;
    assert_eq!(
        (job.attempt, job.expiries),
        (1, 0),
        "nobody had begun, so no expiry is counted"
    );
    Ok(())
}

pub async fn an_accepted_job_is_held_for_its_lease(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = offer(bench).await?;
    bench.advance(secs(1));

    let held = accept(bench, &claim).await?;

    assert_eq!(held, Held::Yes);
    assert_eq!(bench.job("a").await?.accepted_at, Some(bench.now()));
    bench.advance(almost(LEASE_DEFAULT));
    assert!(bench.maintain().await?.is_idle());
    bench.advance(ms(1));
    assert_eq!(bench.maintain().await?.reaped, 1);
    assert_eq!(bench.job("a").await?.expiries, 1);
    Ok(())
}

pub async fn accepting_again_is_told_yes_again(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = offer(bench).await?;
    accept(bench, &claim).await?;
    let before = bench.whole().await?;

    let again = accept(bench, &claim).await?;

    assert_eq!(again, Held::Yes);
    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn an_offer_that_went_back_cannot_be_accepted(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = offer(bench).await?;
    bench.advance(OFFER);
    bench.maintain().await?;

    let held = accept(bench, &claim).await?;

    assert_eq!(held, Held::Lost);
    assert_eq!(bench.state("a").await?, Some(JobState::Ready));
    Ok(())
}

pub async fn an_accepted_job_is_completed_with_its_token(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = offer(bench).await?;
    accept(bench, &claim).await?;
    bench.advance(secs(10));

    assert_eq!(bench.complete(hold(&claim, 0)).await?, Settled::Completed);
    Ok(())
}

pub async fn declining_an_offer_gives_the_job_back_at_once(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let claim = offer(bench).await?;

    assert_eq!(bench.release(hold(&claim, 0)).await?, Settled::Released);

    assert_eq!(bench.ready().await?, ["a", "b"]);
    Ok(())
}
