//! Bounds: one step does at most a page of each chore, and the next step goes on.

use windlass_core::limits::PAGE;
use windlass_core::{Due, JobState, Renewed, Result};

use crate::bench::{Bench, boot, holds, named, numbered, secs};

fn names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| format!("j{n:03}")).collect()
}

pub async fn one_claim_promotes_a_hundred_due_jobs(bench: &Bench) -> Result<()> {
    let due = numbered(PAGE + 1)
        .into_iter()
        .map(|job| job.delay(secs(1)))
        .collect();
    bench.enqueue_all(due).await?;
    bench.advance(secs(1));

    assert_eq!(bench.next(1).await?, names(0..1));
    assert_eq!(bench.in_state(JobState::Scheduled).await?, names(100..101));

    assert_eq!(bench.next(100).await?, names(1..101));
    Ok(())
}

pub async fn a_workers_many_jobs_come_back_in_order_over_two_steps(bench: &Bench) -> Result<()> {
    bench.enqueue_all(numbered(151)).await?;
    let worker = boot("worker");
    let first = bench.take_as(&worker, 1, 100).await?;
    let second = bench.take_as(&worker, 2, 50).await?;
    bench.outlast_lease();

    assert_eq!(bench.maintain().await?.reaped, 100);
    let renewed = bench
        .renew_as(&worker, &[first.token, second.token], 2)
        .await?;
    assert_eq!(
        renewed.until, None,
        "a lease whose reaping has begun cannot be renewed"
    );
    assert_eq!(bench.maintain().await?.reaped, 50);
    assert!(bench.maintain().await?.is_idle());

    assert_eq!(bench.ready().await?, names(0..151));
    Ok(())
}

pub async fn a_half_reaped_boot_is_handed_nothing(bench: &Bench) -> Result<()> {
    bench.enqueue_all(numbered(250)).await?;
    let worker = boot("worker");
    for seq in 1..=3 {
        bench.take_as(&worker, seq, 100).await?;
    }
    bench.outlast_lease();

    assert_eq!(bench.claim_as(&worker, 4, 1).await?, None);
    assert_eq!(bench.ready().await?, names(150..250));

    while !bench.maintain().await?.is_idle() {}
    assert_eq!(bench.ready().await?, names(0..250));
    assert!(bench.claim_as(&worker, 5, 1).await?.is_some());
    Ok(())
}

/// A worker with claims of a hundred jobs, of each of which only the last is still held.
async fn large_claims(bench: &Bench, count: usize) -> Result<Vec<String>> {
    let mut left = Vec::new();
    for seq in 0..count {
        let names = (0..100).map(|n| named(&format!("c{seq:02}-{n:02}")));
        bench.enqueue_all(names.collect()).await?;
        let claim = bench.take_as(&boot("worker"), seq as u64 + 1, 100).await?;
        let mut done = holds(&claim);
        left.extend(done.pop().map(|hold| hold.id.to_string()));
        bench.complete_all(done).await?;
    }
    bench.outlast_lease();
    Ok(left)
}

pub async fn what_is_left_of_a_few_large_claims_comes_back_in_one_step(
    bench: &Bench,
) -> Result<()> {
    let left = large_claims(bench, 3).await?;

    assert_eq!(bench.next(100).await?, left);
    Ok(())
}

pub async fn what_is_left_of_many_large_claims_comes_back_in_order_over_two_steps(
    bench: &Bench,
) -> Result<()> {
    let left = large_claims(bench, 12).await?;

    assert_eq!(
        bench.maintain().await?.reaped,
        10,
        "a thousand ids were looked at"
    );
    assert_eq!(bench.maintain().await?.reaped, 2);

    assert_eq!(bench.ready().await?, left);
    Ok(())
}

pub async fn one_claim_passes_a_hundred_expired_jobs(bench: &Bench) -> Result<()> {
    let expired = numbered(150)
        .into_iter()
        .map(|job| job.expires(Due::After(secs(1))))
        .collect();
    bench.enqueue_all(expired).await?;
    bench.fill(&["good"]).await?;
    bench.advance(secs(1));

    assert_eq!(bench.claim(10).await?, None);
    assert_eq!(bench.whole().await?.stats.dead, 100);

    assert_eq!(bench.next(10).await?, ["good"]);
    assert_eq!(bench.whole().await?.stats.dead, 150);
    Ok(())
}

pub async fn maintenance_does_no_more_than_its_limit(bench: &Bench) -> Result<()> {
    bench.enqueue_all(numbered(10)).await?;
    bench.take(10).await?;
    let due = (0..10).map(|n| named(&format!("due {n}")).delay(secs(1)));
    let stale = (0..10).map(|n| named(&format!("stale {n}")).expires(Due::After(secs(1))));
    bench.enqueue_all(due.chain(stale).collect()).await?;
    bench.outlast_lease();

    let done = bench.store.maintain(&bench.queue, 4).await?;

    assert_eq!((done.promoted, done.reaped, done.expired), (4, 4, 4));
    Ok(())
}

pub async fn maintenance_does_at_most_a_page(bench: &Bench) -> Result<()> {
    let due = numbered(250)
        .into_iter()
        .map(|job| job.delay(secs(1)))
        .collect();
    bench.enqueue_all(due).await?;
    bench.advance(secs(1));

    for promoted in [100, 100, 50, 0] {
        assert_eq!(
            bench.store.maintain(&bench.queue, 5000).await?.promoted,
            promoted
        );
    }

    assert_eq!(bench.ready().await?, names(0..250));
    Ok(())
}

pub async fn maintenance_prunes_at_most_a_page(bench: &Bench) -> Result<()> {
    bench
        .enqueue_all(
            numbered(150)
                .into_iter()
                .map(windlass_core::NewJob::keep_outcome)
                .collect(),
        )
        .await?;
    for _ in 0..2 {
        let claim = bench.take(100).await?;
        bench.complete_all(holds(&claim)).await?;
    }
    bench.set("succeeded_count=0").await?;

    assert_eq!(bench.maintain().await?.pruned, 100);
    assert_eq!(bench.whole().await?.stats.succeeded, 50);
    while !bench.maintain().await?.is_idle() {}
    assert_eq!(bench.whole().await?.stats.succeeded, 0);
    Ok(())
}

pub async fn ending_two_hundred_jobs_prunes_four_hundred(bench: &Bench) -> Result<()> {
    let kept = numbered(700)
        .into_iter()
        .map(windlass_core::NewJob::keep_outcome)
        .collect();
    bench.enqueue_all(kept).await?;
    let mut held = Vec::new();
    for _ in 0..7 {
        held.extend(holds(&bench.take(100).await?));
    }
    let last = held.split_off(500);
    bench.complete_all(held).await?;
    bench.set("succeeded_count=0").await?;

    bench.complete_all(last).await?;

    assert_eq!(bench.whole().await?.stats.succeeded, 300);
    Ok(())
}

pub async fn a_renewal_gives_back_lost_claims_until_a_hundred_jobs_went(
    bench: &Bench,
) -> Result<()> {
    bench.enqueue_all(numbered(181)).await?;
    let worker = boot("worker");
    for seq in 1..=3 {
        bench.take_as(&worker, seq, 60).await?;
    }

    let renewed = bench.renew_as(&worker, &[], 3).await?;
    assert!(renewed != Renewed::default());
    assert_eq!(
        bench.ready().await?,
        names(60..181),
        "the newest two claims"
    );

    bench.renew_as(&worker, &[], 3).await?;
    assert_eq!(bench.ready().await?, names(0..181));
    Ok(())
}
