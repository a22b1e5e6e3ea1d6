//! Poison: a job that keeps crashing workers becomes dead; other jobs of its claims do not.

use windlass_core::store::{Reason, Retry};
use windlass_core::{BootId, Due, JobLease, JobState, OutcomeStatus, Result};

use crate::fixture::{Fixture, almost, boot, id, ids, lease_of, leases_of, ms, numbered, secs};

/// Lets the leases of all jobs expire `times` times.
async fn expire_all(fixture: &Fixture, times: usize) -> Result<()> {
    for _ in 0..times {
        fixture.take(100).await?;
        fixture.outlast_lease();
        fixture.maintain().await?;
    }
    Ok(())
}

pub async fn an_expiry_is_no_attempt(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;

    expire_all(fixture, 2).await?;

    let job = fixture.job("a").await?;
    assert_eq!((job.attempt, job.expiries), (1, 2));
    Ok(())
}

pub async fn a_suspect_is_handed_out_by_itself(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    expire_all(fixture, 2).await?;
    fixture.fill(&["c", "d"]).await?;

    assert_eq!(fixture.next(10).await?, ["a"]);
    assert_eq!(fixture.next(10).await?, ["b"]);
    assert_eq!(fixture.next(10).await?, ["c", "d"]);
    Ok(())
}

pub async fn one_crash_makes_no_suspects(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c"]).await?;
    expire_all(fixture, 1).await?;

    assert_eq!(fixture.next(10).await?, ["a", "b", "c"]);
    Ok(())
}

pub async fn suspects_wait_in_a_lane_at_the_head_of_their_priority(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue_at(3, "suspect").await?;
    expire_all(fixture, 2).await?;
    fixture.enqueue_at(3, "neighbour").await?;
    fixture.enqueue_at(1, "urgent").await?;

    let (suspects, others) = fixture.snapshot().await?.ready.swap_remove(3);
    assert_eq!(
        (suspects, others),
        (vec![id("suspect")], vec![id("neighbour")])
    );
    assert_eq!(
        fixture.next(10).await?,
        ["urgent"],
        "a claim that has a job ends at a suspect"
    );
    assert_eq!(fixture.next(10).await?, ["suspect"]);
    assert_eq!(fixture.next(10).await?, ["neighbour"]);
    Ok(())
}

pub async fn a_worker_holds_one_suspect_at_a_time(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    expire_all(fixture, 2).await?;
    fixture.fill(&["c"]).await?;
    let worker = boot("worker");

    let first = fixture.take_as(&worker, 1, 10).await?;
    assert_eq!(ids(&first), ["a"]);
    let second = fixture.take_as(&worker, 2, 10).await?;
    assert_eq!(ids(&second), ["c"], "the suspects are skipped");
    assert_eq!(fixture.claim_as(&worker, 3, 10).await?, None);

    fixture.complete(&first).await?;
    assert_eq!(ids(&fixture.take_as(&worker, 4, 10).await?), ["b"]);
    Ok(())
}

pub async fn a_suspect_that_ran_for_ten_seconds_is_trusted(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    expire_all(fixture, 2).await?;
    let worker = boot("worker");
    fixture.take_as(&worker, 1, 10).await?;

    fixture.advance(almost(secs(10)));
    assert_eq!(fixture.claim_as(&worker, 2, 10).await?, None);

    fixture.advance(ms(1));
    assert_eq!(ids(&fixture.take_as(&worker, 3, 10).await?), ["b"]);
    Ok(())
}

pub async fn another_worker_may_take_the_next_suspect(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    expire_all(fixture, 2).await?;

    assert_eq!(ids(&fixture.take_as(&boot("one"), 1, 10).await?), ["a"]);
    assert_eq!(ids(&fixture.take_as(&boot("two"), 1, 10).await?), ["b"]);
    Ok(())
}

pub async fn a_fourth_expiry_in_a_separate_claim_is_poison(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    expire_all(fixture, 3).await?;
    assert_eq!(fixture.state("a").await?, Some(JobState::Ready));

    expire_all(fixture, 1).await?;

    let job = fixture.job("a").await?;
    assert_eq!(
        (job.state, job.reason),
        (JobState::Dead, Some(Reason::Poison))
    );
    assert_eq!((job.attempt, job.expiries), (1, 4));
    let stats = fixture.snapshot().await?.stats;
    assert_eq!((stats.dead, stats.total.dead), (1, 1));
    Ok(())
}

pub async fn one_aborting_job_ends_dead_and_ninety_nine_neighbours_succeed(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue_all(numbered(100)).await?;
    let aborting = id("j042");

    // In every round, a new worker crashes on the aborting job and loses all its jobs.
    for round in 0..10 {
        work_until_abort(fixture, &boot(&format!("round {round}")), aborting.as_str()).await?;
        fixture.outlast_lease();
        fixture.maintain().await?;
    }

    let dump = fixture.snapshot().await?;
    assert_eq!(dump.stats.total.succeeded, 99);
    assert_eq!(dump.jobs.len(), 1);
    assert_eq!(
        (&dump.jobs[0].id, dump.jobs[0].reason),
        (&aborting, Some(Reason::Poison))
    );
    assert_eq!(dump.jobs[0].expiries, 4);
    Ok(())
}

async fn work_until_abort(fixture: &Fixture, worker: &BootId, aborting: &str) -> Result<()> {
    let mut seq = 0;
    loop {
        seq += 1;
        let Some(claim) = fixture.claim_as(worker, seq, 100).await? else {
            return Ok(());
        };
        if ids(&claim).contains(&aborting) {
            return Ok(());
        }
        let reply = fixture.complete_all(leases_of(&claim)).await?;
        assert!(
            reply
                .statuses
                .iter()
                .all(|status| *status == OutcomeStatus::Completed)
        );
    }
}

pub async fn poison_after_sets_how_many_expiries_are_too_many(fixture: &Fixture) -> Result<()> {
    fixture.set("poison_after=1").await?;
    fixture.fill(&["a", "b", "alone"]).await?;
    fixture.take(2).await?;
    fixture.take(1).await?;

    fixture.outlast_lease();
    fixture.maintain().await?;

    assert_eq!(fixture.job("alone").await?.reason, Some(Reason::Poison));
    assert_eq!(
        fixture.state("a").await?,
        Some(JobState::Ready),
        "it shared its claim"
    );
    assert_eq!(fixture.state("b").await?, Some(JobState::Ready));
    Ok(())
}

pub async fn a_higher_poison_after_lets_a_job_expire_more_often(fixture: &Fixture) -> Result<()> {
    fixture.set("poison_after=5").await?;
    fixture.fill(&["a"]).await?;

    expire_all(fixture, 4).await?;
    assert_eq!(fixture.state("a").await?, Some(JobState::Ready));

    expire_all(fixture, 1).await?;
    assert_eq!(fixture.job("a").await?.reason, Some(Reason::Poison));
    Ok(())
}

pub async fn two_shared_expiries_and_one_alone_are_not_poison(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    expire_all(fixture, 2).await?;

    for _ in 0..2 {
        assert_eq!(fixture.next(10).await?, ["a"]);
        assert_eq!(fixture.state("a").await?, Some(JobState::Running));
        fixture.outlast_lease();
        fixture.maintain().await?;
    }

    assert_eq!(fixture.job("a").await?.reason, Some(Reason::Poison));
    let neighbour = fixture.job("b").await?;
    assert_eq!((neighbour.state, neighbour.expiries), (JobState::Ready, 2));
    Ok(())
}

pub async fn a_suspect_that_was_given_up_stays_one(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    expire_all(fixture, 2).await?;
    let worker = boot("worker");
    fixture.take_as(&worker, 1, 10).await?;
    fixture.renew_as(&worker, &[], 1).await?;
    fixture.fill(&["b"]).await?;

    assert_eq!(fixture.job("a").await?.expiries, 2);
    assert_eq!(fixture.next(10).await?, ["a"]);
    assert_eq!(fixture.next(10).await?, ["b"]);
    Ok(())
}

pub async fn a_failed_suspect_is_none_any_more(fixture: &Fixture) -> Result<()> {
    let lease = suspect_that_runs(fixture).await?;
    fixture.fail(lease, Retry::At(Due::After(secs(5)))).await?;

    assert_eq!(fixture.job("a").await?.expiries, 0);
    fixture.fill(&["b"]).await?;
    fixture.advance(secs(5));
    assert_eq!(fixture.next(10).await?, ["b", "a"]);
    Ok(())
}

pub async fn a_snoozed_suspect_is_none_any_more(fixture: &Fixture) -> Result<()> {
    let lease = suspect_that_runs(fixture).await?;
    fixture.snooze(lease, Due::After(secs(5))).await?;

    assert_eq!(fixture.job("a").await?.expiries, 0);
    fixture.fill(&["b"]).await?;
    fixture.advance(secs(5));
    assert_eq!(fixture.next(10).await?, ["b", "a"]);
    Ok(())
}

pub async fn a_released_suspect_is_none_any_more(fixture: &Fixture) -> Result<()> {
    let lease = suspect_that_runs(fixture).await?;
    fixture.release(lease).await?;

    let job = fixture.job("a").await?;
    assert_eq!((job.state, job.expiries), (JobState::Ready, 0));
    fixture.fill(&["b"]).await?;
    assert_eq!(fixture.next(10).await?, ["a", "b"]);
    Ok(())
}

pub async fn every_reported_end_resets_the_expiries(fixture: &Fixture) -> Result<()> {
    fixture.set("keep_succeeded=all").await?;
    let lease = suspect_that_runs(fixture).await?;
    fixture.complete(lease).await?;
    let job = fixture.job("a").await?;
    assert_eq!((job.state, job.expiries), (JobState::Succeeded, 0));

    fixture.fill(&["b", "c"]).await?;
    expire_all(fixture, 2).await?;
    let claim = fixture.take(1).await?;
    fixture.fail(&claim, Retry::Permanent).await?;
    let job = fixture.job("b").await?;
    assert_eq!((job.state, job.expiries), (JobState::Dead, 0));

    let claim = fixture.take(1).await?;
    fixture.cancel("c").await?;
    fixture.release(&claim).await?;
    let job = fixture.job("c").await?;
    assert_eq!((job.state, job.expiries), (JobState::Cancelled, 0));
    Ok(())
}

pub async fn expiries_with_an_outcome_between_them_are_no_poison(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    for _ in 0..3 {
        expire_all(fixture, 3).await?;
        let claim = fixture.take(1).await?;
        fixture.release(&claim).await?;
    }

    let job = fixture.job("a").await?;
    assert_eq!((job.state, job.expiries), (JobState::Ready, 0));
    expire_all(fixture, 4).await?;
    assert_eq!(fixture.job("a").await?.reason, Some(Reason::Poison));
    Ok(())
}

/// The lease of a suspect, the job `a`, that runs.
async fn suspect_that_runs(fixture: &Fixture) -> Result<JobLease> {
    fixture.fill(&["a"]).await?;
    expire_all(fixture, 2).await?;
    Ok(lease_of(&fixture.take(1).await?, 0))
}

pub async fn a_retried_poison_job_starts_afresh(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    expire_all(fixture, 4).await?;

    fixture.retry("a").await?;
    fixture.fill(&["b"]).await?;

    assert_eq!(fixture.job("a").await?.expiries, 0);
    assert_eq!(fixture.next(10).await?, ["a", "b"]);
    Ok(())
}
