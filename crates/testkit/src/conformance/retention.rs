//! Retention: finished jobs are kept by age, count and bytes, and no longer.

use windlass_core::{JobState, NewJob, Result, Retry, Settled};

use crate::bench::{Bench, almost, hold, id, ms, named, secs};

/// Ends jobs well, one after the other, a millisecond apart; each leaves `result`.
async fn succeed(bench: &Bench, names: &[&str], result: &'static str) -> Result<()> {
    for name in names {
        bench.fill(&[name]).await?;
        let claim = bench.take(1).await?;
        assert_eq!(
            bench.complete_with(hold(&claim, 0), result).await?,
            Settled::Completed
        );
        bench.advance(ms(1));
    }
    Ok(())
}

pub async fn a_job_without_result_is_not_kept(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench.complete(hold(&bench.take(1).await?, 0)).await?;

    assert_eq!(bench.get("a").await?, None);
    let stats = bench.whole().await?.stats;
    assert_eq!(
        (stats.succeeded, stats.total.succeeded, stats.bytes),
        (0, 1, 0)
    );
    Ok(())
}

pub async fn a_job_with_result_is_kept_for_an_hour(bench: &Bench) -> Result<()> {
    succeed(bench, &["a"], "result").await?;

    // A millisecond has passed since it ended.
    bench.advance(ms(3_599_998));
    assert_eq!(bench.maintain().await?.pruned, 0);
    assert_eq!(bench.state("a").await?, Some(JobState::Succeeded));

    bench.advance(ms(1));
    bench.maintain().await?;
    assert_eq!(bench.get("a").await?, None);
    Ok(())
}

pub async fn a_job_somebody_waits_for_is_kept_without_result(bench: &Bench) -> Result<()> {
    bench.enqueue(named("a").keep_outcome()).await?;

    bench.complete(hold(&bench.take(1).await?, 0)).await?;

    let job = bench.job("a").await?;
    assert_eq!((job.state, job.result), (JobState::Succeeded, None));
    Ok(())
}

pub async fn an_empty_result_is_a_result(bench: &Bench) -> Result<()> {
    succeed(bench, &["a"], "").await?;

    assert_eq!(bench.job("a").await?.result.as_deref(), Some(&b""[..]));
    Ok(())
}

pub async fn a_dead_job_is_kept_for_thirty_days(bench: &Bench) -> Result<()> {
    bench.kill(named("a")).await?;

    bench.advance(almost(secs(30 * 24 * 3600)));
    bench.maintain().await?;
    assert_eq!(bench.state("a").await?, Some(JobState::Dead));

    bench.advance(ms(1));
    bench.maintain().await?;
    assert_eq!(bench.get("a").await?, None);
    Ok(())
}

pub async fn a_cancelled_job_is_kept_for_an_hour(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench.cancel("a").await?;

    bench.advance(almost(secs(3600)));
    bench.maintain().await?;
    assert_eq!(bench.state("a").await?, Some(JobState::Cancelled));

    bench.advance(ms(1));
    bench.maintain().await?;
    assert_eq!(bench.get("a").await?, None);
    Ok(())
}

pub async fn the_oldest_go_when_there_are_too_many(bench: &Bench) -> Result<()> {
    bench.set("succeeded_count=2").await?;

    succeed(bench, &["z", "b", "a"], "result").await?;

    assert_eq!(bench.in_state(JobState::Succeeded).await?, ["a", "b"]);
    Ok(())
}

pub async fn the_oldest_go_when_they_take_too_many_bytes(bench: &Bench) -> Result<()> {
    bench.set("succeeded_bytes=21").await?;

    // Each has one byte of payload and nine of result.
    succeed(bench, &["z", "b", "a"], "012345678").await?;

    assert_eq!(bench.in_state(JobState::Succeeded).await?, ["a", "b"]);
    assert_eq!(bench.whole().await?.stats.bytes, 20);
    Ok(())
}

pub async fn jobs_ended_at_one_moment_go_in_the_order_of_their_ids(bench: &Bench) -> Result<()> {
    bench.set("cancelled_count=1").await?;
    bench.fill(&["c", "a", "b"]).await?;

    for name in ["b", "c", "a"] {
        bench.cancel(name).await?;
    }
    bench.maintain().await?;

    assert_eq!(bench.in_state(JobState::Cancelled).await?, ["c"]);
    Ok(())
}

pub async fn a_queue_may_keep_nothing(bench: &Bench) -> Result<()> {
    for setting in [
        "keep_succeeded=nothing",
        "dead_count=0",
        "cancelled_count=0",
    ] {
        bench.set(setting).await?;
    }

    succeed(bench, &["succeeded"], "result").await?;
    bench.kill(named("dead")).await?;
    bench.fill(&["cancelled"]).await?;
    bench.cancel("cancelled").await?;

    let dump = bench.whole().await?;
    assert!(dump.jobs.is_empty(), "{:?}", dump.jobs);
    assert_eq!(dump.stats.bytes, 0);
    for (name, state) in [("succeeded", JobState::Succeeded), ("dead", JobState::Dead)] {
        assert_eq!(
            bench.enqueue(named(name)).await?.state(),
            state,
            "ids are remembered"
        );
    }
    Ok(())
}

pub async fn a_queue_may_keep_all(bench: &Bench) -> Result<()> {
    let keep_all = [
        "keep_succeeded=all",
        "succeeded_age=all",
        "succeeded_count=all",
        "succeeded_bytes=all",
    ];
    for setting in keep_all {
        bench.set(setting).await?;
    }
    bench.fill(&["a"]).await?;
    bench.complete(hold(&bench.take(1).await?, 0)).await?;

    bench.advance(secs(400 * 24 * 3600));
    bench.maintain().await?;

    assert_eq!(bench.state("a").await?, Some(JobState::Succeeded));
    Ok(())
}

pub async fn a_tighter_setting_prunes_what_was_kept(bench: &Bench) -> Result<()> {
    succeed(bench, &["a", "b", "c"], "result").await?;

    bench.set("succeeded_count=1").await?;
    bench.maintain().await?;

    assert_eq!(bench.in_state(JobState::Succeeded).await?, ["c"]);
    Ok(())
}

pub async fn a_verb_that_ends_one_job_prunes_two(bench: &Bench) -> Result<()> {
    succeed(bench, &["a", "b", "c", "d", "e"], "result").await?;
    bench.fill(&["f"]).await?;
    let claim = bench.take(1).await?;
    bench.set("succeeded_count=1").await?;

    bench.complete_with(hold(&claim, 0), "result").await?;

    assert_eq!(
        bench.in_state(JobState::Succeeded).await?,
        ["c", "d", "e", "f"]
    );
    Ok(())
}

pub async fn a_claim_prunes_too(bench: &Bench) -> Result<()> {
    succeed(bench, &["a"], "result").await?;
    bench.fill(&["b"]).await?;
    bench.advance(secs(3601));

    bench.take(1).await?;

    assert_eq!(bench.get("a").await?, None);
    Ok(())
}

pub async fn the_error_of_a_dead_job_counts_as_bytes(bench: &Bench) -> Result<()> {
    bench.enqueue(NewJob::new("12345").id(id("a"))).await?;
    let claim = bench.take(1).await?;

    let failure = hold(&claim, 0).failure("1234567").retry(Retry::Permanent);
    bench.store.fail(&bench.queue, vec![failure]).await?;

    assert_eq!(bench.whole().await?.stats.bytes, 12);
    Ok(())
}

pub async fn a_finished_queue_returns_to_nothing(bench: &Bench) -> Result<()> {
    succeed(bench, &["a", "b"], "result").await?;
    bench.kill(named("dead")).await?;
    bench.fill(&["cancelled"]).await?;
    bench.cancel("cancelled").await?;

    bench.advance(secs(31 * 24 * 3600));
    while !bench.maintain().await?.is_idle() {}

    let dump = bench.whole().await?;
    assert!(dump.jobs.is_empty() && dump.tombstones.is_empty() && dump.claims.is_empty());
    assert!(dump.leases.is_empty() && dump.unique_keys.is_empty());
    assert_eq!(dump.stats.bytes, 0);
    Ok(())
}

pub async fn maintenance_counts_the_ids_and_claims_it_forgets(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;
    bench.complete(hold(&claim, 0)).await?;
    bench.advance(secs(60 * 60));

    let maintained = bench.maintain().await?;

    assert_eq!((maintained.pruned, maintained.forgotten), (0, 2));
    assert!(bench.maintain().await?.is_idle());
    Ok(())
}
