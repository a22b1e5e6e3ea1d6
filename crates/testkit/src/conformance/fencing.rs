//! Fencing: an old token changes nothing, and exactly one holder is told that it completed.

use windlass_core::limits::LEASE_DEFAULT;
use windlass_core::{Claim, Due, JobLease, LeaseStatus, OutcomeStatus, Result, Retry, Token};

use crate::fixture::{Fixture, almost, boot, hold, id, ms, secs};

/// One job held by a second claim after the first one's lease ran out: (old claim, new claim).
async fn two_holders(fixture: &Fixture) -> Result<(Claim, Claim)> {
    fixture.fill(&["a"]).await?;
    let old = fixture.take_as(&boot("old"), 1, 1).await?;
    fixture.outlast_lease();
    let new = fixture.take_as(&boot("new"), 1, 1).await?;
    assert_ne!(old.token, new.token);
    Ok((old, new))
}

/// Checks that every settling verb with `hold` answers `told` and leaves the queue as it was.
async fn settling_changes_nothing(
    fixture: &Fixture,
    hold: &JobLease,
    told: OutcomeStatus,
) -> Result<()> {
    let before = fixture.snapshot().await?;
    let answers = [
        fixture.complete(hold.clone()).await?,
        fixture.complete_with(hold.clone(), "result").await?,
        fixture.fail(hold.clone(), Retry::Permanent).await?,
        fixture.fail(hold.clone(), Retry::At(Due::Now)).await?,
        fixture.release(hold.clone()).await?,
        fixture.snooze(hold.clone(), Due::After(secs(5))).await?,
    ];
    assert_eq!(answers, [told; 6]);
    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn a_stale_token_settles_nothing(fixture: &Fixture) -> Result<()> {
    let (old, _) = two_holders(fixture).await?;

    settling_changes_nothing(fixture, &hold(&old, 0), OutcomeStatus::LeaseLost).await
}

pub async fn a_stale_token_holds_nothing(fixture: &Fixture) -> Result<()> {
    let (old, _) = two_holders(fixture).await?;
    let before = fixture.snapshot().await?;

    let progress = fixture
        .store
        .progress(&fixture.queue, hold(&old, 0), 0.5, None)
        .await?;
    let accept = fixture
        .store
        .accept(&fixture.queue, hold(&old, 0), LEASE_DEFAULT)
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

pub async fn a_reaped_token_settles_nothing_although_the_job_waits(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.outlast_lease();
    fixture.maintain().await?;

    settling_changes_nothing(fixture, &hold(&claim, 0), OutcomeStatus::LeaseLost).await
}

pub async fn a_token_that_was_never_issued_settles_nothing(fixture: &Fixture) -> Result<()> {
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
        settling_changes_nothing(
            fixture,
            &JobLease::new(id("a"), token),
            OutcomeStatus::LeaseLost,
        )
        .await?;
    }
    Ok(())
}

pub async fn a_token_settles_only_jobs_of_its_own_claim(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "waiting"]).await?;
    let first = fixture.take(1).await?;
    fixture.take(1).await?;

    for name in ["b", "waiting"] {
        settling_changes_nothing(
            fixture,
            &JobLease::new(id(name), first.token),
            OutcomeStatus::LeaseLost,
        )
        .await?;
    }
    Ok(())
}

pub async fn a_job_that_never_was_is_gone(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    let forgotten = Token {
        number: 1,
        nonce: 1,
    };
    assert_ne!(claim.token, forgotten);

    settling_changes_nothing(
        fixture,
        &JobLease::new(id("nobody"), forgotten),
        OutcomeStatus::Gone,
    )
    .await
}

pub async fn a_verb_on_a_queue_that_never_was_makes_none(fixture: &Fixture) -> Result<()> {
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

    assert_eq!(
        fixture.complete(hold(&old, 0)).await?,
        OutcomeStatus::LeaseLost
    );
    assert_eq!(
        fixture.complete(hold(&new, 0)).await?,
        OutcomeStatus::Completed
    );
    let late = fixture.complete(hold(&old, 0)).await?;

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

    let parts = vec![hold(&claim, 2), hold(&claim, 0)];
    assert_eq!(
        fixture.complete_all(parts).await?.statuses,
        [OutcomeStatus::Completed; 2]
    );
    assert_eq!(
        fixture.complete(hold(&claim, 3)).await?,
        OutcomeStatus::Completed
    );

    assert_eq!(fixture.snapshot().await?.stats.running, 1);
    assert_eq!(
        fixture.complete(hold(&claim, 1)).await?,
        OutcomeStatus::Completed
    );
    assert!(fixture.snapshot().await?.jobs.is_empty());
    Ok(())
}

pub async fn a_repeated_complete_is_told_completed_again(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(2).await?;
    fixture.complete(hold(&claim, 0)).await?;
    let open = fixture.snapshot().await?;
    assert_eq!(
        fixture.complete(hold(&claim, 0)).await?,
        OutcomeStatus::Completed
    );
    assert_eq!(fixture.snapshot().await?, open);

    fixture.complete(hold(&claim, 1)).await?;
    fixture.advance(almost(secs(60)));

    let again = fixture
        .complete_all(vec![hold(&claim, 0), hold(&claim, 1)])
        .await?;
    assert_eq!(again.statuses, [OutcomeStatus::Completed; 2]);
    assert_eq!(fixture.snapshot().await?.stats.total.succeeded, 2);
    Ok(())
}

pub async fn a_complete_repeated_late_is_told_gone(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.complete(hold(&claim, 0)).await?;

    fixture.advance(secs(60));

    assert_eq!(
        fixture.complete(hold(&claim, 0)).await?,
        OutcomeStatus::Gone
    );
    Ok(())
}

pub async fn a_complete_repeated_late_on_a_kept_job_is_told_lost(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.complete_with(hold(&claim, 0), "kept").await?;

    fixture.advance(secs(60));

    assert_eq!(
        fixture.complete(hold(&claim, 0)).await?,
        OutcomeStatus::LeaseLost
    );
    Ok(())
}

pub async fn an_id_enqueued_again_is_not_settled_by_its_earlier_life(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("dedup_for=0s").await?;
    fixture.fill(&["a"]).await?;
    let earlier = fixture.take(1).await?;
    fixture.complete(hold(&earlier, 0)).await?;
    fixture.advance(ms(1));
    fixture.fill(&["a"]).await?;
    fixture.take(1).await?;
    let before = fixture.snapshot().await?;

    // The first life is still remembered: its holder hears of it, the second life does not.
    assert_eq!(
        fixture.complete(hold(&earlier, 0)).await?,
        OutcomeStatus::Completed
    );
    assert_eq!(
        fixture.release(hold(&earlier, 0)).await?,
        OutcomeStatus::LeaseLost
    );

    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}
