//! Leases: renewal, expiry and progress.

use windlass_core::limits::LEASE_DEFAULT;
use windlass_core::store::{Fraction, LeaseStatus, Renewed, Retry};
use windlass_core::{
    Change, ClaimRequest, Due, JobState, LeaseTime, OutcomeStatus, Renewal, Result, Target,
};

use crate::fixture::{Fixture, almost, boot, id, ids, lease_of, ms, numbered, secs};

pub async fn a_lease_ends_at_its_end(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.take(1).await?;

    fixture.advance(almost(LEASE_DEFAULT));
    assert_eq!(fixture.maintain().await?.reaped, 0);

    fixture.advance(ms(1));
    assert_eq!(fixture.maintain().await?.reaped, 1);
    let job = fixture.job("a").await?;
    assert_eq!(
        (job.state, job.attempt, job.expiries),
        (JobState::Ready, 1, 1)
    );
    assert_eq!((job.worker, job.token), (None, None));
    Ok(())
}

pub async fn a_running_job_shows_the_end_of_its_lease(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    assert_eq!(fixture.job("a").await?.lease_until, None);
    let claim = fixture.take(1).await?;
    fixture.take_as(&boot("worker"), 1, 1).await?;
    let until = fixture.now().plus(LEASE_DEFAULT);
    for job in ["a", "b"] {
        assert_eq!(fixture.job(job).await?.lease_until, Some(until), "{job}");
    }

    fixture.advance(secs(20));
    let renewed = fixture.renew(claim.token).await?;

    assert_eq!(fixture.job("a").await?.lease_until, renewed.until);
    assert_eq!(fixture.job("b").await?.lease_until, Some(until));
    fixture.release(lease_of(&claim, 0)).await?;
    assert_eq!(fixture.job("a").await?.lease_until, None);
    Ok(())
}

pub async fn the_token_decides_and_not_the_clock(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c", "d", "e"]).await?;
    let claim = fixture.take(5).await?;
    fixture.advance(LEASE_DEFAULT + secs(60));

    let progress = fixture
        .store
        .progress(
            &fixture.queue,
            lease_of(&claim, 0),
            Fraction::new(0.5)?,
            None,
        )
        .await?;
    assert_eq!(progress, LeaseStatus::Valid);
    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::Completed);
    let failed = fixture
        .fail(lease_of(&claim, 1), Retry::At(Due::After(secs(9))))
        .await?;
    assert_eq!(failed, OutcomeStatus::Retrying);
    assert_eq!(
        fixture.release(lease_of(&claim, 2)).await?,
        OutcomeStatus::Released
    );
    assert_eq!(
        fixture
            .snooze(lease_of(&claim, 3), Due::After(secs(9)))
            .await?,
        OutcomeStatus::Snoozed
    );
    let renewed = fixture.renew(claim.token).await?;
    assert_eq!(renewed.until, Some(fixture.now().plus(LEASE_DEFAULT)));
    Ok(())
}

pub async fn a_lease_past_its_end_is_renewed_whole(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(2).await?;
    fixture.advance(LEASE_DEFAULT + secs(1));

    fixture.renew(claim.token).await?;
    fixture.advance(almost(LEASE_DEFAULT));

    assert_eq!(fixture.maintain().await?.reaped, 0);
    assert_eq!(
        fixture.complete(lease_of(&claim, 1)).await?,
        OutcomeStatus::Completed
    );
    Ok(())
}

pub async fn a_renewed_lease_is_kept(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;

    for _ in 0..3 {
        fixture.advance(secs(20));
        let renewed = fixture.renew(claim.token).await?;
        let until = Some(fixture.now().plus(LEASE_DEFAULT));
        assert_eq!(
            renewed,
            Renewed {
                until,
                lost: vec![],
                cancel: vec![],
                unreached: None,
            }
        );
        assert!(fixture.maintain().await?.is_idle());
    }

    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::Completed);
    Ok(())
}

pub async fn a_renewal_never_shortens_a_lease(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;

    let renewal = Renewal::Single { token: claim.token };
    let renewed = fixture
        .store
        .renew(&fixture.queue, renewal, LeaseTime::nearest(secs(1)))
        .await?;

    assert_eq!(renewed.until, Some(claim.until));
    Ok(())
}

pub async fn one_renewal_keeps_all_claims_of_a_worker(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let worker = boot("worker");
    let first = fixture.take_as(&worker, 1, 1).await?;
    let second = fixture.take_as(&worker, 2, 1).await?;

    fixture.advance(secs(20));
    let renewed = fixture
        .renew_as(&worker, &[first.token, second.token], 2)
        .await?;
    assert_eq!(renewed.until, Some(fixture.now().plus(LEASE_DEFAULT)));

    fixture.advance(secs(20));
    assert!(fixture.maintain().await?.is_idle());
    Ok(())
}

pub async fn a_single_claim_has_a_separate_lease(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let kept = fixture.take(1).await?;
    fixture.take(1).await?;

    fixture.advance(secs(20));
    fixture.renew(kept.token).await?;
    fixture.advance(secs(10));

    assert_eq!(fixture.maintain().await?.reaped, 1);
    assert_eq!(fixture.ready().await?, ["b"]);
    Ok(())
}

pub async fn renewing_a_claim_just_completed_holds_nothing_and_loses_nothing(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.complete(&claim).await?;

    let renewed = fixture.renew(claim.token).await?;

    assert_eq!(renewed, Renewed::default());
    Ok(())
}

pub async fn a_new_claim_never_shortens_a_workers_lease(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let worker = boot("worker");
    let first = fixture.take_as(&worker, 1, 1).await?;
    let short = ClaimRequest::worker(worker, 2, 1).lease(LeaseTime::nearest(secs(1)));

    let second = fixture.store.claim(&fixture.queue, short).await?;

    assert_eq!(second.map(|claim| claim.until), Some(first.until));
    fixture.advance(secs(2));
    assert!(fixture.maintain().await?.is_idle());
    Ok(())
}

pub async fn a_worker_that_holds_nothing_keeps_its_lease(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let worker = boot("worker");
    let claim = fixture.take_as(&worker, 1, 1).await?;
    fixture.complete(&claim).await?;
    fixture.advance(secs(1));

    let renewed = fixture.renew_as(&worker, &[], 1).await?;
    assert_eq!(renewed.until, Some(fixture.now().plus(LEASE_DEFAULT)));

    fixture.outlast_lease();
    fixture.maintain().await?;
    assert_eq!(fixture.renew_as(&worker, &[], 1).await?, Renewed::default());
    assert!(fixture.snapshot().await?.leases.is_empty());
    Ok(())
}

pub async fn a_single_lease_ends_with_its_last_job(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(2).await?;
    fixture.complete(lease_of(&claim, 1)).await?;
    assert_eq!(fixture.snapshot().await?.leases.len(), 1);

    fixture.complete(&claim).await?;

    assert!(fixture.snapshot().await?.leases.is_empty());
    assert_eq!(fixture.renew(claim.token).await?.until, None);
    Ok(())
}

pub async fn a_claim_whose_reply_was_lost_goes_back_to_the_front(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c", "d"]).await?;
    let worker = boot("worker");
    fixture.take_as(&worker, 1, 2).await?;
    let known = fixture.take_as(&worker, 2, 1).await?;

    let renewed = fixture.renew_as(&worker, &[known.token], 2).await?;

    assert!(renewed.lost.is_empty() && renewed.until.is_some());
    assert_eq!(fixture.ready().await?, ["a", "b", "d"]);
    let job = fixture.job("a").await?;
    assert_eq!((job.attempt, job.expiries), (1, 0));
    assert_eq!(fixture.complete(&known).await?, OutcomeStatus::Completed);
    Ok(())
}

pub async fn a_claim_still_on_its_way_is_kept_by_a_renewal(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let worker = boot("worker");
    let first = fixture.take_as(&worker, 1, 1).await?;
    let under_way = fixture.take_as(&worker, 2, 1).await?;

    fixture.renew_as(&worker, &[first.token], 1).await?;

    assert_eq!(
        fixture.complete(&under_way).await?,
        OutcomeStatus::Completed
    );
    Ok(())
}

pub async fn a_token_that_holds_nothing_is_reported_lost(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let worker = boot("worker");
    let lost = fixture.take_as(&worker, 1, 1).await?;
    fixture.outlast_lease();
    fixture.maintain().await?;
    let held = fixture.take_as(&worker, 2, 1).await?;

    let renewed = fixture
        .renew_as(&worker, &[lost.token, held.token], 2)
        .await?;

    assert_eq!(
        (renewed.until, renewed.lost),
        (Some(held.until), vec![lost.token])
    );
    Ok(())
}

pub async fn a_renewal_names_every_job_that_was_asked_to_stop(fixture: &Fixture) -> Result<()> {
    fixture.enqueue_all(numbered(150)).await?;
    let worker = boot("worker");
    let claims = [
        fixture.take_as(&worker, 1, 100).await?,
        fixture.take_as(&worker, 2, 50).await?,
    ];
    let mut asked: Vec<_> = claims.iter().flat_map(ids).map(id).collect();
    fixture
        .store
        .change(
            &fixture.queue,
            Change::Cancel,
            &Target::Ids(asked.clone()),
            None,
        )
        .await?;

    let tokens = claims.map(|claim| claim.token);
    let renewed = fixture.renew_as(&worker, &tokens, 2).await?;

    asked.sort();
    assert_eq!(renewed.cancel, asked);
    Ok(())
}

pub async fn a_single_renewal_names_the_jobs_of_its_claim_among_many_that_were_asked_to_stop(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue_all(numbered(120)).await?;
    fixture.fill(&["z"]).await?;
    let worker = boot("worker");
    let mut asked = Vec::new();
    for (seq, max) in [(1, 100), (2, 20)] {
        let claim = fixture.take_as(&worker, seq, max).await?;
        asked.extend(ids(&claim).into_iter().map(id));
    }
    let last = fixture.take_as(&worker, 3, 1).await?;
    asked.push(id("z"));
    fixture
        .store
        .change(&fixture.queue, Change::Cancel, &Target::Ids(asked), None)
        .await?;

    let renewed = fixture.renew(last.token).await?;

    assert_eq!(renewed.cancel, [id("z")]);
    Ok(())
}

pub async fn a_finished_claim_is_not_called_lost_for_a_minute(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let worker = boot("worker");
    let claim = fixture.take_as(&worker, 1, 1).await?;
    fixture.complete(&claim).await?;

    for wait in [0, 29, 29] {
        fixture.advance(secs(wait));
        let renewed = fixture.renew_as(&worker, &[claim.token], 1).await?;
        assert_eq!(renewed.lost, []);
    }
    fixture.advance(secs(2));

    let renewed = fixture.renew_as(&worker, &[claim.token], 1).await?;
    assert_eq!(renewed.lost, [claim.token]);
    Ok(())
}

pub async fn progress_is_shown_and_renews_nothing(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.advance(secs(20));

    let (half, message) = (Fraction::new(0.5)?, Some("halfway".to_owned()));
    let reply = fixture
        .store
        .progress(&fixture.queue, lease_of(&claim, 0), half, message.clone())
        .await?;

    assert_eq!(reply, LeaseStatus::Valid);
    let progress = fixture
        .job("a")
        .await?
        .progress
        .expect("the job has progress");
    assert_eq!(progress.fraction, half);
    assert_eq!((progress.message, progress.at), (message, fixture.now()));
    fixture.advance(secs(10));
    assert_eq!(fixture.maintain().await?.reaped, 1);
    assert_eq!(fixture.job("a").await?.progress, None);
    Ok(())
}

pub async fn a_reaped_boot_may_claim_again(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let worker = boot("worker");
    fixture.take_as(&worker, 1, 1).await?;
    fixture.outlast_lease();
    fixture.maintain().await?;

    let again = fixture.take_as(&worker, 2, 1).await?;

    assert_eq!(ids(&again), ["a"]);
    assert_eq!(again.jobs[0].id, id("a"));
    assert_eq!(again.jobs[0].expiries, 1);
    Ok(())
}
