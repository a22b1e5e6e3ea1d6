//! Settling: what a failed attempt, a release and a snooze lead to, and what repeats are told.

use windlass_core::limits::MESSAGE_BYTES_MAX;
use windlass_core::{
    Due, ErrorKind, Hold, Jitter, JobState, Reason, Result, Retry, RetryPolicy, Settled,
};

use crate::bench::{Bench, almost, hold, holds, ms, named, secs};

const FULL: Retry = Retry::ByPolicy(Jitter(u16::MAX));

pub async fn a_failed_job_runs_again_after_its_delay(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("a").retry(RetryPolicy::fixed(secs(7))))
        .await?;
    let claim = bench.take(1).await?;

    assert_eq!(bench.fail(hold(&claim, 0), FULL).await?, Settled::Scheduled);

    let job = bench.job("a").await?;
    assert_eq!((job.state, job.attempt), (JobState::Scheduled, 2));
    assert_eq!(job.due_at, bench.now().plus(secs(7)));
    assert_eq!(job.error.as_deref(), Some("it broke"));
    bench.advance(almost(secs(7)));
    assert_eq!(bench.claim(1).await?, None);
    bench.advance(ms(1));
    assert_eq!(bench.take(1).await?.jobs[0].attempt, 2);
    Ok(())
}

pub async fn delays_double_with_every_failure(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("a").retry(RetryPolicy::exponential(secs(1), secs(5))))
        .await?;

    for delay in [1, 2, 4, 5, 5] {
        let claim = bench.take(1).await?;
        bench.fail(hold(&claim, 0), FULL).await?;
        assert_eq!(bench.job("a").await?.due_at, bench.now().plus(secs(delay)));
        bench.advance(secs(delay));
    }
    Ok(())
}

pub async fn the_caller_draws_the_jitter(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("a").retry(RetryPolicy::exponential(secs(10), secs(10))))
        .await?;

    for (draw, delay) in [(0, ms(0)), (32_767, secs(5)), (u16::MAX, secs(10))] {
        let claim = bench.take(1).await?;
        let settled = bench
            .fail(hold(&claim, 0), Retry::ByPolicy(Jitter(draw)))
            .await?;
        assert_eq!(settled, Settled::Scheduled);
        assert_eq!(
            bench.job("a").await?.due_at,
            bench.now().plus(delay),
            "{draw}"
        );
        bench.advance(delay);
    }
    Ok(())
}

pub async fn a_job_out_of_attempts_is_dead(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("a").retry(RetryPolicy::fixed(secs(1)).max_attempts(2)))
        .await?;
    bench.fail(hold(&bench.take(1).await?, 0), FULL).await?;
    bench.advance(secs(1));

    let settled = bench.fail(hold(&bench.take(1).await?, 0), FULL).await?;

    assert_eq!(settled, Settled::Dead);
    let job = bench.job("a").await?;
    assert_eq!(
        (job.state, job.reason),
        (JobState::Dead, Some(Reason::Exhausted))
    );
    assert_eq!((job.attempt, job.finished_at), (2, Some(bench.now())));
    assert_eq!(job.error.as_deref(), Some("it broke"));
    Ok(())
}

pub async fn attempts_run_out_at_chosen_times_too(bench: &Bench) -> Result<()> {
    bench
        .enqueue(named("a").retry(RetryPolicy::never()))
        .await?;
    let claim = bench.take(1).await?;

    let settled = bench
        .fail(hold(&claim, 0), Retry::At(Due::After(secs(1))))
        .await?;

    assert_eq!(settled, Settled::Dead);
    assert_eq!(bench.job("a").await?.reason, Some(Reason::Exhausted));
    Ok(())
}

pub async fn a_permanent_failure_is_death(bench: &Bench) -> Result<()> {
    bench.kill(named("a")).await?;

    let job = bench.job("a").await?;
    assert_eq!(
        (job.state, job.reason),
        (JobState::Dead, Some(Reason::Permanent))
    );
    assert_eq!(job.attempt, 1);
    Ok(())
}

pub async fn no_attempt_starts_after_the_retry_deadline(bench: &Bench) -> Result<()> {
    let policy = RetryPolicy::fixed(secs(5)).until(Due::After(secs(10)));
    bench.enqueue(named("a").retry(policy)).await?;

    let settled = bench.fail(hold(&bench.take(1).await?, 0), FULL).await?;
    assert_eq!(settled, Settled::Scheduled);

    bench.advance(secs(5));
    let settled = bench.fail(hold(&bench.take(1).await?, 0), FULL).await?;
    assert_eq!(
        settled,
        Settled::Scheduled,
        "due at the deadline is not after it"
    );

    bench.advance(secs(5));
    let settled = bench.fail(hold(&bench.take(1).await?, 0), FULL).await?;
    assert_eq!(settled, Settled::Dead);
    let job = bench.job("a").await?;
    assert_eq!((job.reason, job.attempt), (Some(Reason::Deadline), 3));
    Ok(())
}

pub async fn a_handler_may_choose_the_time_of_the_next_attempt(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let claim = bench.take(2).await?;
    let at = bench.now().plus(secs(90));

    bench.fail(hold(&claim, 0), Retry::At(Due::At(at))).await?;
    bench.fail(hold(&claim, 1), Retry::At(Due::Now)).await?;

    assert_eq!(bench.job("a").await?.due_at, at);
    let handed = bench.take(10).await?;
    assert_eq!((handed.jobs.len(), handed.jobs[0].id.as_str()), (1, "b"));
    assert_eq!(handed.jobs[0].attempt, 2);
    Ok(())
}

pub async fn a_release_is_no_attempt(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;

    assert_eq!(bench.release(hold(&claim, 0)).await?, Settled::Released);

    let job = bench.job("a").await?;
    assert_eq!(
        (job.state, job.attempt, job.expiries),
        (JobState::Ready, 1, 0)
    );
    assert_eq!((job.worker, job.token), (None, None));
    Ok(())
}

pub async fn a_snooze_is_no_attempt(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;

    let settled = bench.snooze(hold(&claim, 0), Due::After(secs(5))).await?;

    assert_eq!(settled, Settled::Snoozed);
    let job = bench.job("a").await?;
    assert_eq!((job.state, job.attempt), (JobState::Scheduled, 1));
    assert_eq!(job.due_at, bench.now().plus(secs(5)));
    bench.advance(secs(5));
    assert_eq!(bench.take(1).await?.jobs[0].attempt, 1);
    Ok(())
}

pub async fn a_repeated_verb_is_told_the_same_and_another_is_told_lost(
    bench: &Bench,
) -> Result<()> {
    bench
        .fill(&["again", "dead", "released", "snoozed", "open"])
        .await?;
    let claim = bench.take(5).await?;
    let settle = || settle_four(bench, holds(&claim));
    let told = [
        Settled::Scheduled,
        Settled::Dead,
        Settled::Released,
        Settled::Snoozed,
    ];
    assert_eq!(settle().await?, told);
    let before = bench.whole().await?;

    assert_eq!(settle().await?, told);

    let others = bench.complete_all(holds(&claim)[..4].to_vec()).await?;
    assert_eq!(others.settled, [Settled::Lost; 4]);
    assert_eq!(bench.release(hold(&claim, 0)).await?, Settled::Lost);
    assert_eq!(
        bench.fail(hold(&claim, 2), Retry::Permanent).await?,
        Settled::Lost
    );
    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn repeats_are_answered_for_a_minute_after_the_last_job_left(
    bench: &Bench,
) -> Result<()> {
    bench
        .fill(&["again", "dead", "released", "snoozed"])
        .await?;
    let claim = bench.take(4).await?;
    let settle = || settle_four(bench, holds(&claim));
    let told = settle().await?;

    bench.advance(almost(secs(60)));
    assert_eq!(settle().await?, told);

    bench.advance(ms(1));
    assert_eq!(settle().await?, [Settled::Lost; 4]);
    Ok(())
}

/// Fails the first job, fails the second for good, releases the third and snoozes the fourth.
async fn settle_four(bench: &Bench, mut holds: Vec<Hold>) -> Result<[Settled; 4]> {
    let later = Due::After(secs(500));
    let mut next = || holds.remove(0);
    Ok([
        bench.fail(next(), Retry::At(later)).await?,
        bench.fail(next(), Retry::Permanent).await?,
        bench.release(next()).await?,
        bench.snooze(next(), later).await?,
    ])
}

pub async fn each_job_of_a_settling_batch_has_its_own_answer(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let claim = bench.take(1).await?;
    let mut stranger = hold(&claim, 0);
    stranger.id = crate::bench::id("b");

    let batch = vec![stranger.clone(), hold(&claim, 0), hold(&claim, 0)];
    let answers = bench.complete_all(batch).await?;

    assert_eq!(
        answers.settled,
        [Settled::Lost, Settled::Completed, Settled::Completed]
    );
    assert_eq!(bench.whole().await?.stats.total.succeeded, 1);
    Ok(())
}

pub async fn a_result_is_kept_with_its_job(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;

    bench.complete_with(hold(&claim, 0), "the answer").await?;

    let job = bench.job("a").await?;
    assert_eq!(
        (job.state, job.finished_at),
        (JobState::Succeeded, Some(bench.now()))
    );
    assert_eq!(job.result.as_deref(), Some(&b"the answer"[..]));
    Ok(())
}

pub async fn a_result_over_the_limit_is_refused_and_changes_nothing(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let claim = bench.take(2).await?;
    let before = bench.whole().await?;

    let large = hold(&claim, 1)
        .completion()
        .result(vec![0; 1024 * 1024 + 1]);
    let batch = vec![hold(&claim, 0).completion(), large];
    let refused = bench.store.complete(&bench.queue, batch, None).await;

    assert_eq!(
        refused.map_err(|error| error.kind()),
        Err(ErrorKind::Invalid)
    );
    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn a_long_error_is_cut_between_characters(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;
    let error = format!("x{}", "é".repeat(MESSAGE_BYTES_MAX));

    bench
        .store
        .fail(&bench.queue, vec![hold(&claim, 0).failure(error.clone())])
        .await?;

    let kept = bench.job("a").await?.error.expect("the error is kept");
    assert_eq!(kept.len(), MESSAGE_BYTES_MAX - 1);
    assert!(error.starts_with(&kept));
    Ok(())
}
