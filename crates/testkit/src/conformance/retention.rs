//! Retention: how long finished jobs are kept, by age, count and bytes.

use windlass_core::store::Retry;
use windlass_core::{JobState, NewJob, OutcomeStatus, Result};

use crate::fixture::{Fixture, almost, id, lease_of, ms, named, secs};

/// Completes jobs with `result`, one millisecond apart.
async fn succeed(fixture: &Fixture, names: &[&str], result: &'static str) -> Result<()> {
    for name in names {
        fixture.fill(&[name]).await?;
        let claim = fixture.take(1).await?;
        assert_eq!(
            fixture.complete_with(&claim, result).await?,
            OutcomeStatus::Completed
        );
        fixture.advance(ms(1));
    }
    Ok(())
}

pub async fn a_job_without_result_is_not_kept(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.complete(&fixture.take(1).await?).await?;

    assert_eq!(fixture.get("a").await?, None);
    let stats = fixture.snapshot().await?.stats;
    assert_eq!(
        (stats.succeeded, stats.total.succeeded, stats.bytes),
        (0, 1, 0)
    );
    Ok(())
}

pub async fn a_job_with_result_is_kept_for_an_hour(fixture: &Fixture) -> Result<()> {
    succeed(fixture, &["a"], "result").await?;

    // One millisecond has passed since the job finished.
    fixture.advance(ms(3_599_998));
    assert_eq!(fixture.maintain().await?.pruned, 0);
    assert_eq!(fixture.state("a").await?, Some(JobState::Succeeded));

    fixture.advance(ms(1));
    fixture.maintain().await?;
    assert_eq!(fixture.get("a").await?, None);
    Ok(())
}

pub async fn a_job_somebody_waits_for_is_kept_without_result(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("a").keep_outcome()).await?;

    fixture.complete(&fixture.take(1).await?).await?;

    let job = fixture.job("a").await?;
    assert_eq!((job.state, job.result), (JobState::Succeeded, None));
    Ok(())
}

pub async fn an_empty_result_is_a_result(fixture: &Fixture) -> Result<()> {
    succeed(fixture, &["a"], "").await?;

    assert_eq!(fixture.job("a").await?.result.as_deref(), Some(&b""[..]));
    Ok(())
}

pub async fn a_dead_job_is_kept_for_thirty_days(fixture: &Fixture) -> Result<()> {
    fixture.kill(named("a")).await?;

    fixture.advance(almost(secs(30 * 24 * 3600)));
    fixture.maintain().await?;
    assert_eq!(fixture.state("a").await?, Some(JobState::Dead));

    fixture.advance(ms(1));
    fixture.maintain().await?;
    assert_eq!(fixture.get("a").await?, None);
    Ok(())
}

pub async fn a_cancelled_job_is_kept_for_an_hour(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.cancel("a").await?;

    fixture.advance(almost(secs(3600)));
    fixture.maintain().await?;
    assert_eq!(fixture.state("a").await?, Some(JobState::Cancelled));

    fixture.advance(ms(1));
    fixture.maintain().await?;
    assert_eq!(fixture.get("a").await?, None);
    Ok(())
}

pub async fn the_oldest_go_when_there_are_too_many(fixture: &Fixture) -> Result<()> {
    fixture.set("succeeded_count=2").await?;

    succeed(fixture, &["z", "b", "a"], "result").await?;

    assert_eq!(fixture.in_state(JobState::Succeeded).await?, ["a", "b"]);
    Ok(())
}

pub async fn the_oldest_go_when_they_take_too_many_bytes(fixture: &Fixture) -> Result<()> {
    fixture.set("succeeded_bytes=21").await?;

    // Each job has a payload of one byte and a result of nine.
    succeed(fixture, &["z", "b", "a"], "012345678").await?;

    assert_eq!(fixture.in_state(JobState::Succeeded).await?, ["a", "b"]);
    assert_eq!(fixture.snapshot().await?.stats.bytes, 20);
    Ok(())
}

pub async fn jobs_ended_at_one_moment_go_in_the_order_of_their_ids(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("cancelled_count=1").await?;
    fixture.fill(&["c", "a", "b"]).await?;

    for name in ["b", "c", "a"] {
        fixture.cancel(name).await?;
    }
    fixture.maintain().await?;

    assert_eq!(fixture.in_state(JobState::Cancelled).await?, ["c"]);
    Ok(())
}

pub async fn a_queue_may_keep_nothing(fixture: &Fixture) -> Result<()> {
    for setting in [
        "keep_succeeded=nothing",
        "dead_count=0",
        "cancelled_count=0",
    ] {
        fixture.set(setting).await?;
    }

    succeed(fixture, &["succeeded"], "result").await?;
    fixture.kill(named("dead")).await?;
    fixture.fill(&["cancelled"]).await?;
    fixture.cancel("cancelled").await?;

    let dump = fixture.snapshot().await?;
    assert!(dump.jobs.is_empty(), "{:?}", dump.jobs);
    assert_eq!(dump.stats.bytes, 0);
    for (name, state) in [("succeeded", JobState::Succeeded), ("dead", JobState::Dead)] {
        assert_eq!(
            fixture.enqueue(named(name)).await?.state(),
            state,
            "ids are remembered"
        );
    }
    Ok(())
}

pub async fn a_queue_may_keep_all(fixture: &Fixture) -> Result<()> {
    let keep_all = [
        "keep_succeeded=all",
        "succeeded_age=all",
        "succeeded_count=all",
        "succeeded_bytes=all",
    ];
    for setting in keep_all {
        fixture.set(setting).await?;
    }
    fixture.fill(&["a"]).await?;
    fixture.complete(&fixture.take(1).await?).await?;

    fixture.advance(secs(400 * 24 * 3600));
    fixture.maintain().await?;

    assert_eq!(fixture.state("a").await?, Some(JobState::Succeeded));
    Ok(())
}

pub async fn a_tighter_setting_prunes_what_was_kept(fixture: &Fixture) -> Result<()> {
    succeed(fixture, &["a", "b", "c"], "result").await?;

    fixture.set("succeeded_count=1").await?;
    fixture.maintain().await?;

    assert_eq!(fixture.in_state(JobState::Succeeded).await?, ["c"]);
    Ok(())
}

pub async fn a_verb_that_ends_one_job_prunes_two(fixture: &Fixture) -> Result<()> {
    succeed(fixture, &["a", "b", "c", "d", "e"], "result").await?;
    fixture.fill(&["f"]).await?;
    let claim = fixture.take(1).await?;
    fixture.set("succeeded_count=1").await?;

    fixture.complete_with(&claim, "result").await?;

    assert_eq!(
        fixture.in_state(JobState::Succeeded).await?,
        ["c", "d", "e", "f"]
    );
    Ok(())
}

pub async fn a_claim_prunes_too(fixture: &Fixture) -> Result<()> {
    succeed(fixture, &["a"], "result").await?;
    fixture.fill(&["b"]).await?;
    fixture.advance(secs(3601));

    fixture.take(1).await?;

    assert_eq!(fixture.get("a").await?, None);
    Ok(())
}

pub async fn the_error_of_a_dead_job_counts_as_bytes(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(NewJob::new("12345").id(id("a"))).await?;
    let claim = fixture.take(1).await?;

    let failure = lease_of(&claim, 0)
        .failure("1234567")
        .retry(Retry::Permanent);
    fixture.store.fail(&fixture.queue, vec![failure]).await?;

    let errors = fixture.job("a").await?.stored_errors().to_text();
    let errors = errors.map_or(0, |errors| errors.len() as u64);
    assert!(errors >= 7);
    assert_eq!(fixture.snapshot().await?.stats.bytes, 5 + errors);
    Ok(())
}

pub async fn a_finished_queue_returns_to_nothing(fixture: &Fixture) -> Result<()> {
    succeed(fixture, &["a", "b"], "result").await?;
    fixture.kill(named("dead")).await?;
    fixture.fill(&["cancelled"]).await?;
    fixture.cancel("cancelled").await?;

    fixture.advance(secs(31 * 24 * 3600));
    while !fixture.maintain().await?.is_idle() {}

    let dump = fixture.snapshot().await?;
    assert!(dump.jobs.is_empty() && dump.tombstones.is_empty() && dump.claims.is_empty());
    assert!(dump.leases.is_empty() && dump.unique_keys.is_empty());
    assert_eq!(dump.stats.bytes, 0);
    Ok(())
}

pub async fn maintenance_counts_the_ids_and_claims_it_forgets(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.complete(&claim).await?;
    fixture.advance(secs(60 * 60));

    let maintained = fixture.maintain().await?;

    assert_eq!((maintained.pruned, maintained.forgotten), (0, 2));
    assert!(fixture.maintain().await?.is_idle());
    Ok(())
}
