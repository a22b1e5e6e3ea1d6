//! Fencing: a stale token changes nothing, and exactly one claim completes a job.

use windlass_core::store::{Fraction, LeaseStatus, Retry};
use windlass_core::{Claim, Due, JobLease, LeaseTime, OutcomeStatus, Result, Token};

use crate::fixture::{Fixture, almost, boot, id, lease_of, ms, secs};

/// Claims a job again after its lease expired. Returns (old claim, new claim).
async fn two_holders(fixture: &Fixture) -> Result<(Claim, Claim)> {
    fixture.fill(&["a"]).await?;
    let old = fixture.take_as(&boot("old"), 1, 1).await?;
    fixture.outlast_lease();
    let new = fixture.take_as(&boot("new"), 1, 1).await?;
    assert_ne!(old.token, new.token);
    Ok((old, new))
}

/// Checks that every outcome with `lease` returns `reply` and changes nothing.
async fn outcomes_change_nothing(
    fixture: &Fixture,
    lease: &JobLease,
    reply: OutcomeStatus,
) -> Result<()> {
    let before = fixture.snapshot().await?;
    let replies = [
        fixture.complete(lease.clone()).await?,
        fixture.complete_with(lease.clone(), "result").await?,
        fixture.fail(lease.clone(), Retry::Permanent).await?,
        fixture.fail(lease.clone(), Retry::At(Due::Now)).await?,
        fixture.release(lease.clone()).await?,
        fixture.snooze(lease.clone(), Due::After(secs(5))).await?,
    ];
    assert_eq!(replies, [reply; 6]);
    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn a_stale_token_changes_nothing(fixture: &Fixture) -> Result<()> {
    let (old, _) = two_holders(fixture).await?;

    outcomes_change_nothing(fixture, &lease_of(&old, 0), OutcomeStatus::LeaseLost).await
}

pub async fn a_stale_token_holds_nothing(fixture: &Fixture) -> Result<()> {
    let (old, _) = two_holders(fixture).await?;
    let before = fixture.snapshot().await?;

    let progress = fixture
        .store
        .progress(&fixture.queue, lease_of(&old, 0), Fraction::new(0.5)?, None)
        .await?;
    let accept = fixture
        .store
        .accept(&fixture.queue, lease_of(&old, 0), LeaseTime::default())
        .await?;
    let renewed = fixture.renew(old.token).await?;
    let renewed_all = fixture.renew_as(&boot("old"), &[old.token], 1).await?;

    assert_eq!((progress, accept), (LeaseStatus::Lost, LeaseStatus::Lost));
    assert_eq!((renewed.until, renewed.lost), (None, vec![old.token]));
    assert_eq!(
        (renewed_all.until, renewed_all.lost),
        (None, vec![old.token])
    );
    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn a_reaped_token_changes_nothing_although_the_job_waits(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.outlast_lease();
    fixture.maintain().await?;

    outcomes_change_nothing(fixture, &lease_of(&claim, 0), OutcomeStatus::LeaseLost).await
}

pub async fn a_token_that_was_never_issued_changes_nothing(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;

    for token in [
        Token {
            number: claim.token.number,
            nonce: claim.token.nonce ^ 1,
        },
        Token {
            number: claim.token.number + 1,
            nonce: claim.token.nonce,
        },
        Token {
            number: 0,
            nonce: 0,
        },
    ] {
        outcomes_change_nothing(
            fixture,
            &JobLease::new(id("a"), token),
            OutcomeStatus::LeaseLost,
        )
        .await?;
    }
    Ok(())
}

pub async fn a_token_is_valid_only_for_jobs_of_its_own_claim(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "waiting"]).await?;
    let first = fixture.take(1).await?;
    fixture.take(1).await?;

    for name in ["b", "waiting"] {
        outcomes_change_nothing(
            fixture,
            &JobLease::new(id(name), first.token),
            OutcomeStatus::LeaseLost,
        )
        .await?;
    }
    Ok(())
}

pub async fn a_job_that_never_existed_is_gone(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    let forgotten = Token {
        number: 1,
        nonce: 1,
    };
    assert_ne!(claim.token, forgotten);

    outcomes_change_nothing(
        fixture,
        &JobLease::new(id("missing"), forgotten),
        OutcomeStatus::Gone,
    )
    .await
}

pub async fn a_verb_on_a_missing_queue_does_not_create_it(fixture: &Fixture) -> Result<()> {
    let token = Token {
        number: 1,
        nonce: 1,
    };

    assert_eq!(
        fixture.complete(JobLease::new(id("a"), token)).await?,
        OutcomeStatus::Gone
    );
    let renewed = fixture.renew(token).await?;
    assert_eq!((renewed.until, renewed.lost), (None, vec![token]));

    assert_eq!(fixture.dump().await?, None);
    Ok(())
}

pub async fn exactly_one_of_two_holders_completes(fixture: &Fixture) -> Result<()> {
    let (old, new) = two_holders(fixture).await?;

    assert_eq!(fixture.complete(&old).await?, OutcomeStatus::LeaseLost);
    assert_eq!(fixture.complete(&new).await?, OutcomeStatus::Completed);
    let late = fixture.complete(&old).await?;

    assert!(
        matches!(late, OutcomeStatus::LeaseLost | OutcomeStatus::Gone),
        "{late:?}"
    );
    assert_eq!(fixture.snapshot().await?.stats.total.succeeded, 1);
    Ok(())
}

pub async fn a_claim_is_completed_in_parts_and_in_any_order(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c", "d"]).await?;
    let claim = fixture.take(4).await?;

    let parts = vec![lease_of(&claim, 2), lease_of(&claim, 0)];
    assert_eq!(
        fixture.complete_all(parts).await?.statuses,
        [OutcomeStatus::Completed; 2]
    );
    assert_eq!(
        fixture.complete(lease_of(&claim, 3)).await?,
        OutcomeStatus::Completed
    );

    assert_eq!(fixture.snapshot().await?.stats.running, 1);
    assert_eq!(
        fixture.complete(lease_of(&claim, 1)).await?,
        OutcomeStatus::Completed
    );
    assert!(fixture.snapshot().await?.jobs.is_empty());
    Ok(())
}

pub async fn a_repeated_complete_returns_completed_again(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(2).await?;
    fixture.complete(&claim).await?;
    let open = fixture.snapshot().await?;
    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::Completed);
    assert_eq!(fixture.snapshot().await?, open);

    fixture.complete(lease_of(&claim, 1)).await?;
    fixture.advance(almost(secs(60)));

    let again = fixture
        .complete_all(vec![lease_of(&claim, 0), lease_of(&claim, 1)])
        .await?;
    assert_eq!(again.statuses, [OutcomeStatus::Completed; 2]);
    assert_eq!(fixture.snapshot().await?.stats.total.succeeded, 2);
    Ok(())
}

pub async fn a_complete_repeated_late_returns_gone(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.complete(&claim).await?;

    fixture.advance(secs(60));

    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::Gone);
    Ok(())
}

pub async fn a_complete_repeated_late_on_a_kept_job_returns_lease_lost(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.complete_with(&claim, "kept").await?;

    fixture.advance(secs(60));

    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::LeaseLost);
    Ok(())
}

pub async fn an_id_enqueued_again_is_not_changed_by_the_earlier_jobs_token(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("dedup_for=0s").await?;
    fixture.fill(&["a"]).await?;
    let earlier = fixture.take(1).await?;
    fixture.complete(&earlier).await?;
    fixture.advance(ms(1));
    fixture.fill(&["a"]).await?;
    fixture.take(1).await?;
    let before = fixture.snapshot().await?;

    // The first claim is still remembered and gets its reply; the second job is not affected.
    assert_eq!(fixture.complete(&earlier).await?, OutcomeStatus::Completed);
    assert_eq!(fixture.release(&earlier).await?, OutcomeStatus::LeaseLost);

    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}
