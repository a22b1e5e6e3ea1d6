//! Outcomes: fail, release and snooze, and the replies to repeated calls.

use windlass_core::limits::MESSAGE_BYTES_MAX;
use windlass_core::store::{Jitter, Reason, Retry};
use windlass_core::{Due, ErrorKind, JobLease, JobState, OutcomeStatus, Result, RetryPolicy};

use crate::fixture::{Fixture, almost, lease_of, leases_of, ms, named, secs};

const FULL: Retry = Retry::ByPolicy(Jitter(u16::MAX));

pub async fn a_failed_job_runs_again_after_its_delay(fixture: &Fixture) -> Result<()> {
    fixture
        .enqueue(named("a").retry(RetryPolicy::fixed(secs(7))))
        .await?;
    let claim = fixture.take(1).await?;

    assert_eq!(fixture.fail(&claim, FULL).await?, OutcomeStatus::Retrying);

    let job = fixture.job("a").await?;
    assert_eq!((job.state, job.attempt), (JobState::Scheduled, 2));
    assert_eq!(job.due_at, fixture.now().plus(secs(7)));
    assert_eq!(job.error.as_deref(), Some("it broke"));
    fixture.advance(almost(secs(7)));
    assert_eq!(fixture.claim(1).await?, None);
    fixture.advance(ms(1));
    assert_eq!(fixture.take(1).await?.jobs[0].attempt, 2);
    Ok(())
}

pub async fn delays_double_with_every_failure(fixture: &Fixture) -> Result<()> {
    fixture
        .enqueue(named("a").retry(RetryPolicy::exponential(secs(1), secs(5))))
        .await?;

    for delay in [1, 2, 4, 5, 5] {
        let claim = fixture.take(1).await?;
        fixture.fail(&claim, FULL).await?;
        assert_eq!(
            fixture.job("a").await?.due_at,
            fixture.now().plus(secs(delay))
        );
        fixture.advance(secs(delay));
    }
    Ok(())
}

pub async fn the_caller_draws_the_jitter(fixture: &Fixture) -> Result<()> {
    fixture
        .enqueue(named("a").retry(RetryPolicy::exponential(secs(10), secs(10))))
        .await?;

    for (draw, delay) in [(0, ms(0)), (32_767, secs(5)), (u16::MAX, secs(10))] {
        let claim = fixture.take(1).await?;
        let status = fixture.fail(&claim, Retry::ByPolicy(Jitter(draw))).await?;
        assert_eq!(status, OutcomeStatus::Retrying);
        assert_eq!(
            fixture.job("a").await?.due_at,
            fixture.now().plus(delay),
            "{draw}"
        );
        fixture.advance(delay);
    }
    Ok(())
}

pub async fn a_job_out_of_attempts_is_dead(fixture: &Fixture) -> Result<()> {
    fixture
        .enqueue(named("a").retry(RetryPolicy::fixed(secs(1)).max_attempts(2)))
        .await?;
    fixture.fail(&fixture.take(1).await?, FULL).await?;
    fixture.advance(secs(1));

    let status = fixture.fail(&fixture.take(1).await?, FULL).await?;

    assert_eq!(status, OutcomeStatus::Dead);
    let job = fixture.job("a").await?;
    assert_eq!(
        (job.state, job.reason),
        (JobState::Dead, Some(Reason::Exhausted))
    );
    assert_eq!((job.attempt, job.finished_at), (2, Some(fixture.now())));
    assert_eq!(job.error.as_deref(), Some("it broke"));
    Ok(())
}

pub async fn attempts_run_out_at_chosen_times_too(fixture: &Fixture) -> Result<()> {
    fixture
        .enqueue(named("a").retry(RetryPolicy::never()))
        .await?;
    let claim = fixture.take(1).await?;

    let status = fixture.fail(&claim, Retry::At(Due::After(secs(1)))).await?;

    assert_eq!(status, OutcomeStatus::Dead);
    assert_eq!(fixture.job("a").await?.reason, Some(Reason::Exhausted));
    Ok(())
}

pub async fn a_permanent_failure_is_death(fixture: &Fixture) -> Result<()> {
    fixture.kill(named("a")).await?;

    let job = fixture.job("a").await?;
    assert_eq!(
        (job.state, job.reason),
        (JobState::Dead, Some(Reason::Permanent))
    );
    assert_eq!(job.attempt, 1);
    Ok(())
}

pub async fn no_attempt_starts_after_the_retry_deadline(fixture: &Fixture) -> Result<()> {
    let policy = RetryPolicy::fixed(secs(5)).until(Due::After(secs(10)));
    fixture.enqueue(named("a").retry(policy)).await?;

    let status = fixture.fail(&fixture.take(1).await?, FULL).await?;
    assert_eq!(status, OutcomeStatus::Retrying);

    fixture.advance(secs(5));
    let status = fixture.fail(&fixture.take(1).await?, FULL).await?;
    assert_eq!(
        status,
        OutcomeStatus::Retrying,
        "due at the deadline is not after it"
    );

    fixture.advance(secs(5));
    let status = fixture.fail(&fixture.take(1).await?, FULL).await?;
    assert_eq!(status, OutcomeStatus::Dead);
    let job = fixture.job("a").await?;
    assert_eq!((job.reason, job.attempt), (Some(Reason::Deadline), 3));
    Ok(())
}

pub async fn a_handler_may_choose_the_time_of_the_next_attempt(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(2).await?;
    let at = fixture.now().plus(secs(90));

    fixture.fail(&claim, Retry::At(Due::At(at))).await?;
    fixture
        .fail(lease_of(&claim, 1), Retry::At(Due::Now))
        .await?;

    assert_eq!(fixture.job("a").await?.due_at, at);
    let handed = fixture.take(10).await?;
    assert_eq!((handed.jobs.len(), handed.jobs[0].id.as_str()), (1, "b"));
    assert_eq!(handed.jobs[0].attempt, 2);
    Ok(())
}

pub async fn a_release_is_no_attempt(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;

    assert_eq!(fixture.release(&claim).await?, OutcomeStatus::Released);

    let job = fixture.job("a").await?;
    assert_eq!(
        (job.state, job.attempt, job.expiries),
        (JobState::Ready, 1, 0)
    );
    assert_eq!((job.worker, job.token), (None, None));
    Ok(())
}

pub async fn a_snooze_is_no_attempt(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;

    let status = fixture.snooze(&claim, Due::After(secs(5))).await?;

    assert_eq!(status, OutcomeStatus::Snoozed);
    let job = fixture.job("a").await?;
    assert_eq!((job.state, job.attempt), (JobState::Scheduled, 1));
    assert_eq!(job.due_at, fixture.now().plus(secs(5)));
    fixture.advance(secs(5));
    assert_eq!(fixture.take(1).await?.jobs[0].attempt, 1);
    Ok(())
}

pub async fn a_repeated_verb_returns_the_same_and_another_returns_lease_lost(
    fixture: &Fixture,
) -> Result<()> {
    fixture
        .fill(&["again", "dead", "released", "snoozed", "open"])
        .await?;
    let claim = fixture.take(5).await?;
    let settle = || report_four(fixture, leases_of(&claim));
    let reply = [
        OutcomeStatus::Retrying,
        OutcomeStatus::Dead,
        OutcomeStatus::Released,
        OutcomeStatus::Snoozed,
    ];
    assert_eq!(settle().await?, reply);
    let before = fixture.snapshot().await?;

    assert_eq!(settle().await?, reply);

    let others = fixture
        .complete_all(leases_of(&claim)[..4].to_vec())
        .await?;
    assert_eq!(others.statuses, [OutcomeStatus::LeaseLost; 4]);
    assert_eq!(fixture.release(&claim).await?, OutcomeStatus::LeaseLost);
    assert_eq!(
        fixture.fail(lease_of(&claim, 2), Retry::Permanent).await?,
        OutcomeStatus::LeaseLost
    );
    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn repeats_are_answered_for_a_minute_after_the_last_job_left(
    fixture: &Fixture,
) -> Result<()> {
    fixture
        .fill(&["again", "dead", "released", "snoozed"])
        .await?;
    let claim = fixture.take(4).await?;
    let settle = || report_four(fixture, leases_of(&claim));
    let reply = settle().await?;

    fixture.advance(almost(secs(60)));
    assert_eq!(settle().await?, reply);

    fixture.advance(ms(1));
    assert_eq!(settle().await?, [OutcomeStatus::LeaseLost; 4]);
    Ok(())
}

/// Fails the first job, fails the second permanently, releases the third and snoozes the fourth.
async fn report_four(fixture: &Fixture, mut holds: Vec<JobLease>) -> Result<[OutcomeStatus; 4]> {
    let later = Due::After(secs(500));
    let mut next = || holds.remove(0);
    Ok([
        fixture.fail(next(), Retry::At(later)).await?,
        fixture.fail(next(), Retry::Permanent).await?,
        fixture.release(next()).await?,
        fixture.snooze(next(), later).await?,
    ])
}

pub async fn each_job_of_an_outcome_batch_has_its_own_reply(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(1).await?;
    let mut stranger = lease_of(&claim, 0);
    stranger.id = crate::fixture::id("b");

    let batch = vec![stranger.clone(), lease_of(&claim, 0), lease_of(&claim, 0)];
    let replies = fixture.complete_all(batch).await?;

    assert_eq!(
        replies.statuses,
        [
            OutcomeStatus::LeaseLost,
            OutcomeStatus::Completed,
            OutcomeStatus::Completed
        ]
    );
    assert_eq!(fixture.snapshot().await?.stats.total.succeeded, 1);
    Ok(())
}

pub async fn a_result_is_kept_with_its_job(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;

    fixture.complete_with(&claim, "the answer").await?;

    let job = fixture.job("a").await?;
    assert_eq!(
        (job.state, job.finished_at),
        (JobState::Succeeded, Some(fixture.now()))
    );
    assert_eq!(job.result.as_deref(), Some(&b"the answer"[..]));
    Ok(())
}

pub async fn a_result_over_the_limit_is_refused_and_changes_nothing(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(2).await?;
    let before = fixture.snapshot().await?;

    let large = lease_of(&claim, 1)
        .completion()
        .result(vec![0; 1024 * 1024 + 1]);
    let batch = vec![lease_of(&claim, 0).completion(), large];
    let refused = fixture.store.complete(&fixture.queue, batch, None).await;

    assert_eq!(
        refused.map_err(|error| error.kind()),
        Err(ErrorKind::Invalid)
    );
    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn a_long_error_is_truncated_between_characters(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    let error = format!("x{}", "é".repeat(MESSAGE_BYTES_MAX));

    fixture
        .store
        .fail(
            &fixture.queue,
            vec![lease_of(&claim, 0).failure(error.clone())],
        )
        .await?;

    let kept = fixture.job("a").await?.error.expect("the error is kept");
    assert_eq!(kept.len(), MESSAGE_BYTES_MAX - 1);
    assert!(error.starts_with(&kept));
    Ok(())
}
