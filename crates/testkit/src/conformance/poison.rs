//! Poison: a job that kills its workers ends; those that shared its claims do not.

use windlass_core::limits::LEASE_DEFAULT;
use windlass_core::{BootId, Due, JobState, Priority, Reason, Result, Retry, Settled};

use crate::bench::{Bench, almost, boot, hold, holds, id, ids, ms, named, numbered, secs};

/// Lets the leases on everything in the queue run out so often.
async fn expire_all(bench: &Bench, times: usize) -> Result<()> {
    for _ in 0..times {
        bench.take(100).await?;
        bench.outlast_lease();
        bench.maintain().await?;
    }
    Ok(())
}

pub async fn an_expiry_is_no_attempt(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;

    expire_all(bench, 2).await?;

    let job = bench.job("a").await?;
    assert_eq!((job.attempt, job.expiries), (1, 2));
    Ok(())
}

pub async fn a_suspect_is_handed_out_by_itself(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    expire_all(bench, 2).await?;
    bench.fill(&["c", "d"]).await?;

    assert_eq!(bench.next(10).await?, ["a"]);
    assert_eq!(bench.next(10).await?, ["b"]);
    assert_eq!(bench.next(10).await?, ["c", "d"]);
    Ok(())
}

pub async fn one_crash_makes_no_suspects(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c"]).await?;
    expire_all(bench, 1).await?;

    assert_eq!(bench.next(10).await?, ["a", "b", "c"]);
    Ok(())
}

pub async fn suspects_wait_in_a_lane_at_the_head_of_their_priority(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("suspect").priority(Priority::new(3)?))
        .await?;
    expire_all(bench, 2).await?;
    bench
        .enqueue(named("neighbour").priority(Priority::new(3)?))
        .await?;
    bench
        .enqueue(named("urgent").priority(Priority::new(1)?))
        .await?;

    let (suspects, others) = bench.whole().await?.ready.swap_remove(3);
    assert_eq!(
        (suspects, others),
        (vec![id("suspect")], vec![id("neighbour")])
    );
    assert_eq!(
        bench.next(10).await?,
        ["urgent"],
        "a claim that has a job ends at a suspect"
    );
    assert_eq!(bench.next(10).await?, ["suspect"]);
    assert_eq!(bench.next(10).await?, ["neighbour"]);
    Ok(())
}

pub async fn a_worker_holds_one_suspect_at_a_time(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    expire_all(bench, 2).await?;
    bench.fill(&["c"]).await?;
    let worker = boot("worker");

    let first = bench.take_as(&worker, 1, 10).await?;
    assert_eq!(ids(&first), ["a"]);
    let second = bench.take_as(&worker, 2, 10).await?;
    assert_eq!(ids(&second), ["c"], "the lane is passed by");
    assert_eq!(bench.claim_as(&worker, 3, 10).await?, None);

    bench.complete(hold(&first, 0)).await?;
    assert_eq!(ids(&bench.take_as(&worker, 4, 10).await?), ["b"]);
    Ok(())
}

pub async fn a_suspect_that_ran_for_ten_seconds_is_trusted(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    expire_all(bench, 2).await?;
    let worker = boot("worker");
    bench.take_as(&worker, 1, 10).await?;

    bench.advance(almost(secs(10)));
    assert_eq!(bench.claim_as(&worker, 2, 10).await?, None);

    bench.advance(ms(1));
    assert_eq!(ids(&bench.take_as(&worker, 3, 10).await?), ["b"]);
    Ok(())
}

pub async fn another_worker_may_take_the_next_suspect(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    expire_all(bench, 2).await?;

    assert_eq!(ids(&bench.take_as(&boot("one"), 1, 10).await?), ["a"]);
    assert_eq!(ids(&bench.take_as(&boot("two"), 1, 10).await?), ["b"]);
    Ok(())
}

pub async fn a_third_expiry_in_a_claim_of_its_own_is_poison(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    expire_all(bench, 3).await?;

    let job = bench.job("a").await?;
    assert_eq!(
        (job.state, job.reason),
        (JobState::Dead, Some(Reason::Poison))
    );
    assert_eq!((job.attempt, job.expiries), (1, 3));
    let stats = bench.whole().await?.stats;
    assert_eq!((stats.dead, stats.total.dead), (1, 1));
    Ok(())
}

pub async fn one_aborting_job_ends_dead_and_ninety_nine_neighbours_succeed(
    bench: &Bench,
) -> Result<()> {
    bench.enqueue_all(numbered(100)).await?;
    let aborting = id("j042");

    // Every round is a new life of the worker: it dies of the aborting job, with all it holds.
    for life in 0..10 {
        work_until_abort(bench, &boot(&format!("life {life}")), aborting.as_str()).await?;
        bench.outlast_lease();
        bench.maintain().await?;
    }

    let dump = bench.whole().await?;
    assert_eq!(dump.stats.total.succeeded, 99);
    assert_eq!(dump.jobs.len(), 1);
    assert_eq!(
        (&dump.jobs[0].id, dump.jobs[0].reason),
        (&aborting, Some(Reason::Poison))
    );
    assert_eq!(dump.jobs[0].expiries, 3);
    Ok(())
}

async fn work_until_abort(bench: &Bench, worker: &BootId, aborting: &str) -> Result<()> {
    let mut seq = 0;
    loop {
        seq += 1;
        let Some(claim) = bench.claim_as(worker, seq, 100).await? else {
            return Ok(());
        };
        if ids(&claim).contains(&aborting) {
            return Ok(());
        }
        let answer = bench.complete_all(holds(&claim)).await?;
        assert!(
            answer
                .settled
                .iter()
                .all(|settled| *settled == Settled::Completed)
        );
    }
}

pub async fn poison_after_says_how_many_expiries_are_too_many(bench: &Bench) -> Result<()> {
    bench.set("poison_after=1").await?;
    bench.fill(&["a", "b", "alone"]).await?;
    bench.take(2).await?;
    bench.take(1).await?;

    bench.outlast_lease();
    bench.maintain().await?;

    assert_eq!(bench.job("alone").await?.reason, Some(Reason::Poison));
    assert_eq!(
        bench.state("a").await?,
        Some(JobState::Ready),
        "it shared its claim"
    );
    assert_eq!(bench.state("b").await?, Some(JobState::Ready));
    Ok(())
}

pub async fn a_patient_queue_lets_a_job_expire_more_often(bench: &Bench) -> Result<()> {
    bench.set("poison_after=5").await?;
    bench.fill(&["a"]).await?;

    expire_all(bench, 4).await?;
    assert_eq!(bench.state("a").await?, Some(JobState::Ready));

    expire_all(bench, 1).await?;
    assert_eq!(bench.job("a").await?.reason, Some(Reason::Poison));
    Ok(())
}

pub async fn a_suspect_stays_one_when_it_runs_again_later(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    expire_all(bench, 2).await?;
    let claim = bench.take(1).await?;
    bench
        .fail(hold(&claim, 0), Retry::At(Due::After(secs(5))))
        .await?;
    bench.fill(&["b"]).await?;
    bench.advance(secs(5));

    assert_eq!(bench.next(10).await?, ["a"]);
    assert_eq!(bench.next(10).await?, ["b"]);
    Ok(())
}

pub async fn a_released_suspect_dies_no_sooner(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    expire_all(bench, 2).await?;

    let claim = bench.take(1).await?;
    bench.release(hold(&claim, 0)).await?;
    bench.advance(LEASE_DEFAULT * 2);
    bench.maintain().await?;

    let job = bench.job("a").await?;
    assert_eq!((job.state, job.expiries), (JobState::Ready, 2));
    Ok(())
}

pub async fn a_retried_poison_job_starts_afresh(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    expire_all(bench, 3).await?;

    bench.retry("a").await?;
    bench.fill(&["b"]).await?;

    assert_eq!(bench.job("a").await?.expiries, 0);
    assert_eq!(bench.next(10).await?, ["a", "b"]);
    Ok(())
}
