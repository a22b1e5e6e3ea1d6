//! Limits: one transaction processes at most a page, and the next one continues.

use windlass_core::limits::PAGE;
use windlass_core::store::Renewed;
use windlass_core::{Due, JobState, Result};

use crate::fixture::{Fixture, boot, ids, leases_of, named, numbered, secs};

fn names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| format!("j{n:03}")).collect()
}

pub async fn one_claim_promotes_a_hundred_due_jobs(fixture: &Fixture) -> Result<()> {
    let due = numbered(PAGE + 1)
        .into_iter()
        .map(|job| job.delay(secs(1)))
        .collect();
    fixture.enqueue_all(due).await?;
    fixture.advance(secs(1));

    assert_eq!(fixture.next(1).await?, names(0..1));
    assert_eq!(
        fixture.in_state(JobState::Scheduled).await?,
        names(100..101)
    );

    assert_eq!(fixture.next(100).await?, names(1..101));
    Ok(())
}

pub async fn a_workers_many_jobs_come_back_in_order_over_two_transactions(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue_all(numbered(151)).await?;
    let worker = boot("worker");
    let first = fixture.take_as(&worker, 1, 100).await?;
    let second = fixture.take_as(&worker, 2, 50).await?;
    fixture.outlast_lease();

    assert_eq!(fixture.maintain().await?.reaped, 100);
    let renewed = fixture
        .renew_as(&worker, &[first.token, second.token], 2)
        .await?;
    assert_eq!(
        renewed.until, None,
        "a lease whose reaping has begun cannot be renewed"
    );
    assert_eq!(fixture.maintain().await?.reaped, 50);
    assert!(fixture.maintain().await?.is_idle());

    assert_eq!(fixture.ready().await?, names(0..151));
    Ok(())
}

pub async fn a_claim_completes_a_reap_that_has_begun(fixture: &Fixture) -> Result<()> {
    fixture.enqueue_all(numbered(250)).await?;
    let worker = boot("worker");
    for seq in 1..=3 {
        fixture.take_as(&worker, seq, 100).await?;
    }
    fixture.outlast_lease();

    assert_eq!(fixture.maintain().await?.reaped, 100);
    assert_eq!(fixture.ready().await?, names(150..250));

    let claim = fixture.take_as(&worker, 4, 1).await?;
    assert_eq!(ids(&claim), ["j000"]);
    assert_eq!(fixture.ready().await?, names(1..250));
    Ok(())
}

/// Creates a worker with claims of 100 jobs each, of which only the last job is still running.
async fn large_claims(fixture: &Fixture, count: usize) -> Result<Vec<String>> {
    let mut left = Vec::new();
    for seq in 0..count {
        let names = (0..100).map(|n| named(&format!("c{seq:02}-{n:02}")));
        fixture.enqueue_all(names.collect()).await?;
        let claim = fixture
            .take_as(&boot("worker"), seq as u64 + 1, 100)
            .await?;
        let mut done = leases_of(&claim);
        left.extend(done.pop().map(|lease| lease.id.to_string()));
        fixture.complete_all(done).await?;
    }
    fixture.outlast_lease();
    Ok(left)
}

pub async fn what_is_left_of_a_few_large_claims_comes_back_in_one_transaction(
    fixture: &Fixture,
) -> Result<()> {
    let left = large_claims(fixture, 3).await?;

    assert_eq!(fixture.next(100).await?, left);
    Ok(())
}

pub async fn what_is_left_of_many_large_claims_comes_back_in_order_over_two_transactions(
    fixture: &Fixture,
) -> Result<()> {
    let left = large_claims(fixture, 12).await?;

    assert_eq!(
        fixture.maintain().await?.reaped,
        10,
        "a thousand ids were looked at"
    );
    assert_eq!(fixture.maintain().await?.reaped, 2);

    assert_eq!(fixture.ready().await?, left);
    Ok(())
}

pub async fn one_claim_passes_a_hundred_expired_jobs(fixture: &Fixture) -> Result<()> {
    let expired = numbered(150)
        .into_iter()
        .map(|job| job.expires(Due::After(secs(1))))
        .collect();
    fixture.enqueue_all(expired).await?;
    fixture.fill(&["good"]).await?;
    fixture.advance(secs(1));

    assert_eq!(fixture.claim(10).await?, None);
    assert_eq!(fixture.snapshot().await?.stats.dead, 100);

    assert_eq!(fixture.next(10).await?, ["good"]);
    assert_eq!(fixture.snapshot().await?.stats.dead, 150);
    Ok(())
}

pub async fn maintenance_does_no_more_than_its_limit(fixture: &Fixture) -> Result<()> {
    fixture.enqueue_all(numbered(10)).await?;
    fixture.take(10).await?;
    let due = (0..10).map(|n| named(&format!("due {n}")).delay(secs(1)));
    let stale = (0..10).map(|n| named(&format!("stale {n}")).expires(Due::After(secs(1))));
    fixture.enqueue_all(due.chain(stale).collect()).await?;
    fixture.outlast_lease();

    let done = fixture.store.maintain(&fixture.queue, 4).await?;

    assert_eq!((done.promoted, done.reaped, done.expired), (4, 4, 4));
    Ok(())
}

pub async fn maintenance_does_at_most_a_page(fixture: &Fixture) -> Result<()> {
    let due = numbered(250)
        .into_iter()
        .map(|job| job.delay(secs(1)))
        .collect();
    fixture.enqueue_all(due).await?;
    fixture.advance(secs(1));

    for promoted in [100, 100, 50, 0] {
        assert_eq!(
            fixture.store.maintain(&fixture.queue, 5000).await?.promoted,
            promoted
        );
    }

    assert_eq!(fixture.ready().await?, names(0..250));
    Ok(())
}

pub async fn maintenance_prunes_at_most_a_page(fixture: &Fixture) -> Result<()> {
    fixture
        .enqueue_all(
            numbered(150)
                .into_iter()
                .map(windlass_core::NewJob::keep_outcome)
                .collect(),
        )
        .await?;
    for _ in 0..2 {
        let claim = fixture.take(100).await?;
        fixture.complete_all(leases_of(&claim)).await?;
    }
    fixture.set("succeeded_count=0").await?;

    assert_eq!(fixture.maintain().await?.pruned, 100);
    assert_eq!(fixture.snapshot().await?.stats.succeeded, 50);
    while !fixture.maintain().await?.is_idle() {}
    assert_eq!(fixture.snapshot().await?.stats.succeeded, 0);
    Ok(())
}

pub async fn ending_two_hundred_jobs_prunes_four_hundred(fixture: &Fixture) -> Result<()> {
    let kept = numbered(700)
        .into_iter()
        .map(windlass_core::NewJob::keep_outcome)
        .collect();
    fixture.enqueue_all(kept).await?;
    let mut held = Vec::new();
    for _ in 0..7 {
        held.extend(leases_of(&fixture.take(100).await?));
    }
    let last = held.split_off(500);
    fixture.complete_all(held).await?;
    fixture.set("succeeded_count=0").await?;

    fixture.complete_all(last).await?;

    assert_eq!(fixture.snapshot().await?.stats.succeeded, 300);
    Ok(())
}

pub async fn a_renewal_gives_back_lost_claims_until_a_hundred_jobs_went(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue_all(numbered(181)).await?;
    let worker = boot("worker");
    for seq in 1..=3 {
        fixture.take_as(&worker, seq, 60).await?;
    }

    let renewed = fixture.renew_as(&worker, &[], 3).await?;
    assert!(renewed != Renewed::default());
    assert_eq!(
        fixture.ready().await?,
        names(60..181),
        "the newest two claims"
    );

    fixture.renew_as(&worker, &[], 3).await?;
    assert_eq!(fixture.ready().await?, names(0..181));
    Ok(())
}
