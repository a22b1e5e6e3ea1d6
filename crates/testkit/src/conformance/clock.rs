//! The clock: time never runs backwards by a little, and a large step back is believed.

use windlass_core::limits::LEASE_DEFAULT;
use windlass_core::{ClaimRequest, JobState, Result, Settled};

use crate::bench::{Bench, boot, hold, ms, named, numbered, secs};

pub async fn a_small_step_back_is_bridged_by_the_latest_time_seen(bench: &Bench) -> Result<()> {
    bench.enqueue(named("a").delay(secs(1))).await?;
    bench.advance(secs(60));
    bench.fill(&["b"]).await?;
    let mark = bench.now();

    bench.clock.step_back(secs(5));
    bench.fill(&["c"]).await?;

    let job = bench.job("c").await?;
    assert_eq!((job.created_at, job.due_at), (mark, mark));
    assert_eq!(job.state, JobState::Ready);
    Ok(())
}

pub async fn a_due_job_stays_due_when_the_clock_steps_back_a_little(bench: &Bench) -> Result<()> {
    bench.enqueue(named("a").delay(secs(10))).await?;
    bench.advance(secs(10));
    bench.fill(&["b"]).await?;

    bench.clock.step_back(secs(3));

    assert_eq!(bench.next(10).await?, ["b", "a"]);
    Ok(())
}

pub async fn a_large_step_back_is_believed(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;

    bench.clock.step_back(secs(5) + ms(1));
    bench.fill(&["b"]).await?;

    assert_eq!(bench.job("b").await?.created_at, bench.now());
    Ok(())
}

pub async fn a_large_step_back_cuts_leases_to_their_length(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let single = bench.take(1).await?;
    let of_worker = bench.take_as(&boot("worker"), 1, 1).await?;
    bench.clock.step_back(secs(3600));

    bench.maintain().await?;

    let end = bench.now().plus(LEASE_DEFAULT);
    assert!(end < single.until && end < of_worker.until);
    assert!(
        bench
            .whole()
            .await?
            .leases
            .iter()
            .all(|lease| lease.until == end)
    );
    bench.outlast_lease();
    assert_eq!(bench.maintain().await?.reaped, 2);
    Ok(())
}

pub async fn a_step_back_cuts_a_short_lease_beneath_many_long_ones(bench: &Bench) -> Result<()> {
    bench.enqueue_all(numbered(520)).await?;
    bench.take(1).await?;
    for _ in 0..519 {
        let request = ClaimRequest::single(1).lease(secs(7200));
        bench.store.claim(&bench.queue, request).await?;
    }
    bench.clock.step_back(secs(600));

    // Work is bounded: a few steps may be needed for so many.
    for _ in 0..5 {
        bench.maintain().await?;
    }

    bench.outlast_lease();
    assert_eq!(bench.maintain().await?.reaped, 1);
    Ok(())
}

pub async fn a_step_back_never_lengthens_a_lease(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench.take(1).await?;
    bench.advance(secs(25));
    bench.fill(&["b"]).await?;

    bench.clock.step_back(secs(6));
    bench.fill(&["c"]).await?;

    // 11 s were left of the lease on the clock of now; cutting it to 30 s leaves it as it is.
    bench.advance(secs(11));
    assert_eq!(bench.maintain().await?.reaped, 1);
    Ok(())
}

pub async fn a_token_outlives_a_step_back(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let claim = bench.take(1).await?;

    bench.clock.step_back(secs(3600));

    let later = bench.take(1).await?;
    assert!(
        later.token.number > claim.token.number,
        "tokens grow all the same"
    );
    assert_eq!(bench.complete(hold(&claim, 0)).await?, Settled::Completed);
    Ok(())
}

pub async fn a_job_keeps_its_due_time_through_a_step_back(bench: &Bench) -> Result<()> {
    bench.enqueue(named("a").delay(secs(5))).await?;
    let due = bench.job("a").await?.due_at;
    bench.clock.step_back(secs(60));

    assert_eq!(bench.claim(1).await?, None);

    assert_eq!(bench.job("a").await?.due_at, due);
    bench.advance(secs(65));
    assert_eq!(bench.next(1).await?, ["a"]);
    Ok(())
}
