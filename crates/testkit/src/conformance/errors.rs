//! The record of failed attempts, and errors in groups.

use windlass_core::limits::{ATTEMPT_ERROR_BYTES_MAX, ATTEMPTS_MAX, ERROR_GROUPS_MAX};
use windlass_core::store::{
    AttemptEnd, Changed, Claimer, ErrorGroup, Fingerprint, Jitter, NewWorker, Retry,
};
use windlass_core::{
    Claim, ClaimRequest, Filter, JobLease, JobState, OutcomeStatus, Result, RetryPolicy,
};

use crate::fixture::{Fixture, boot, id, lease_of, leases_of, named, numbered, secs};

const AT_ONCE: Retry = Retry::ByPolicy(Jitter(0));

/// Fails one job with this error.
async fn fail(fixture: &Fixture, lease: JobLease, error: &str) -> Result<OutcomeStatus> {
    let failures = vec![lease.failure(error).retry(AT_ONCE)];
    Ok(fixture.store.fail(&fixture.queue, failures).await?[0])
}

/// Enqueues a job that can be retried at once.
async fn enqueue(fixture: &Fixture, name: &str) -> Result<()> {
    let retry = RetryPolicy::exponential(secs(1), secs(1)).max_attempts(100);
    fixture.enqueue(named(name).retry(retry)).await.map(drop)
}

/// Claims one job and fails it with this error.
async fn fail_next(fixture: &Fixture, error: &str) -> Result<Claim> {
    let claim = fixture.take(1).await?;
    fail(fixture, lease_of(&claim, 0), error).await?;
    fixture.advance(secs(1));
    Ok(claim)
}

async fn groups(fixture: &Fixture) -> Result<Vec<ErrorGroup>> {
    fixture.store.error_groups(&fixture.queue).await
}

pub async fn a_failed_attempt_is_kept_with_its_times_worker_and_error(
    fixture: &Fixture,
) -> Result<()> {
    enqueue(fixture, "a").await?;
    let (boot, started_at) = (boot("one"), fixture.now());
    let claim = fixture.take_as(&boot, 1, 1).await?;
    fixture.advance(secs(3));

    fail(fixture, lease_of(&claim, 0), "no stamp\nat all").await?;

    let job = fixture.job("a").await?;
    let attempt = &job.attempts[0];
    assert_eq!((job.attempts.len(), attempt.attempt), (1, 1));
    assert_eq!(
        (attempt.started_at, attempt.ended_at),
        (started_at, fixture.now())
    );
    assert_eq!(
        (&attempt.worker, attempt.how),
        (&Some(boot), AttemptEnd::Failed)
    );
    assert_eq!(attempt.error.as_deref(), Some("no stamp\nat all"));
    Ok(())
}

pub async fn the_worker_of_a_single_claim_is_kept_with_its_attempt(
    fixture: &Fixture,
) -> Result<()> {
    enqueue(fixture, "a").await?;
    let mut request = ClaimRequest::single(1);
    request.claimer = Claimer::Single {
        worker: Some(boot("one")),
    };
    let claim = fixture.store.claim(&fixture.queue, request).await?;

    fail(fixture, lease_of(&claim.expect("a job is ready"), 0), "").await?;

    let job = fixture.job("a").await?;
    let attempt = &job.attempts[0];
    assert_eq!(
        (&attempt.worker, attempt.error.as_deref()),
        (&Some(boot("one")), Some(""))
    );
    Ok(())
}

pub async fn the_last_ten_attempts_are_kept(fixture: &Fixture) -> Result<()> {
    enqueue(fixture, "a").await?;
    for number in 1..=12 {
        fail_next(fixture, &format!("error {number}")).await?;
    }

    let job = fixture.job("a").await?;

    let kept: Vec<_> = job.attempts.iter().map(|record| record.attempt).collect();
    assert_eq!(kept, (3..=12).collect::<Vec<_>>());
    let errors = job.attempts.iter().map(|record| record.error.as_deref());
    let expected: Vec<_> = (3..=12).map(|number| format!("error {number}")).collect();
    assert!(errors.eq(expected.iter().map(|error| Some(error.as_str()))));
    assert_eq!(kept.len(), ATTEMPTS_MAX);
    Ok(())
}

pub async fn the_last_error_is_whole_and_the_record_of_it_is_cut(fixture: &Fixture) -> Result<()> {
    enqueue(fixture, "a").await?;
    // A character of two bytes crosses the limit.
    let long = format!("x{}", "é".repeat(ATTEMPT_ERROR_BYTES_MAX));
    let cut = format!("x{}", "é".repeat(ATTEMPT_ERROR_BYTES_MAX / 2 - 1));
    fail_next(fixture, &long).await?;
    assert_eq!(fixture.job("a").await?.error.as_ref(), Some(&long));

    fail_next(fixture, "short").await?;

    let job = fixture.job("a").await?;
    assert_eq!(job.error.as_deref(), Some("short"));
    assert_eq!(job.attempts[0].error.as_ref(), Some(&cut));
    assert_eq!(job.attempts[1].error.as_deref(), Some("short"));
    Ok(())
}

pub async fn an_expired_lease_is_an_attempt_on_record(fixture: &Fixture) -> Result<()> {
    enqueue(fixture, "a").await?;
    fail_next(fixture, "no stamp").await?;
    let (boot, started_at) = (boot("one"), fixture.now());
    fixture.take_as(&boot, 1, 1).await?;
    fixture.outlast_lease();

    fixture.maintain().await?;

    let job = fixture.job("a").await?;
    assert_eq!(job.error.as_deref(), Some("no stamp"));
    let ends: Vec<_> = job.attempts.iter().map(|record| record.how).collect();
    assert_eq!(ends, [AttemptEnd::Failed, AttemptEnd::Expired]);
    let expired = &job.attempts[1];
    assert_eq!((expired.attempt, &expired.error), (2, &None));
    assert_eq!(
        (expired.started_at, expired.ended_at),
        (started_at, fixture.now())
    );
    assert_eq!(expired.worker, Some(boot));
    Ok(())
}

pub async fn a_worker_declared_dead_ends_its_attempts_on_record(fixture: &Fixture) -> Result<()> {
    enqueue(fixture, "a").await?;
    let boot = boot("one");
    let worker = NewWorker {
        boot: boot.clone(),
        name: "one".to_owned(),
        host: "here".to_owned(),
        pid: 1,
        version: "0.1.0".to_owned(),
        queues: vec![fixture.queue.clone()],
    };
    fixture.store.register(worker).await?;
    fixture.take_as(&boot, 1, 1).await?;

    fixture.store.fail_worker(&boot).await?;

    let job = fixture.job("a").await?;
    assert_eq!(job.attempts[0].how, AttemptEnd::Expired);
    Ok(())
}

pub async fn a_released_attempt_is_not_on_record(fixture: &Fixture) -> Result<()> {
    enqueue(fixture, "a").await?;
    fixture.release(&fixture.take(1).await?).await?;

    assert_eq!(fixture.job("a").await?.attempts, []);
    Ok(())
}

pub async fn a_job_that_expired_and_was_released_completes_without_a_trace(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue(windlass_core::NewJob::new("x")).await?;
    fixture.take(1).await?;
    fixture.outlast_lease();
    fixture.maintain().await?;
    let claim = fixture.take(1).await?;
    fixture.release(&claim).await?;
    let job = fixture.store.get(&fixture.queue, &claim.jobs[0].id).await?;
    assert_eq!(job.map(|job| job.attempts.len()), Some(1));

    let claim = fixture.take(1).await?;
    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::Completed);

    let stats = fixture.store.stats(&fixture.queue).await?;
    assert_eq!(stats.map(|stats| stats.bytes), Some(0));
    Ok(())
}

pub async fn a_retried_job_keeps_its_record(fixture: &Fixture) -> Result<()> {
    fixture.kill(named("a")).await?;
    assert_eq!(fixture.retry("a").await?, Changed::Done);

    let job = fixture.job("a").await?;
    assert_eq!((job.attempt, &job.error), (1, &None));
    assert_eq!(job.attempts[0].error.as_deref(), Some("it broke"));

    fail_next(fixture, "again").await?;
    let job = fixture.job("a").await?;
    assert_eq!(job.attempts[0].error.as_deref(), Some("it broke"));
    assert_eq!(job.attempts[1].error.as_deref(), Some("again"));
    fixture.complete(&fixture.take(1).await?).await?;
    let stats = fixture.store.stats(&fixture.queue).await?;
    assert_eq!(stats.map(|stats| stats.bytes), Some(0));
    Ok(())
}

pub async fn a_listing_has_the_error_without_the_record(fixture: &Fixture) -> Result<()> {
    fixture.kill(named("a")).await?;

    let filter = Filter {
        state: Some(JobState::Dead),
        ..Filter::default()
    };
    let jobs = fixture.list(&filter, 10).await?;

    assert_eq!(jobs[0].error.as_deref(), Some("it broke"));
    assert_eq!(jobs[0].attempts, []);
    Ok(())
}

pub async fn equal_messages_with_other_numbers_are_one_group(fixture: &Fixture) -> Result<()> {
    let mail = "mail".parse()?;
    fixture.enqueue(named("a").kind(mail)).await?;
    fixture.fill(&["b", "c"]).await?;
    for number in 1..=3 {
        let claim = fixture.take(1).await?;
        let error = format!("user {number} is gone");
        fail(fixture, lease_of(&claim, 0), &error).await?;
        fixture.advance(secs(1));
    }

    let found = groups(fixture).await?;

    let of = |group: &ErrorGroup| (group.message.clone(), group.count);
    let expected = ("user # is gone".to_owned(), 2);
    assert_eq!((found.len(), of(&found[0])), (2, expected));
    assert_eq!((&found[0].kind, found[1].count), (&None, 1));
    assert_eq!(
        found[1].kind.as_ref().map(|kind| kind.as_str()),
        Some("mail")
    );
    let job = fixture.job("c").await?;
    assert_eq!(job.error_group(), Some(found[0].fingerprint()));
    Ok(())
}

pub async fn a_group_counts_and_remembers_the_first_and_the_last(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let first_seen = fixture.now();
    fail_next(fixture, "no stamp 1").await?;
    fixture.advance(secs(2 * 3600));
    let claim = fixture.take(1).await?;
    let last_seen = fixture.now();
    fail(fixture, lease_of(&claim, 0), "no stamp 2\nmore").await?;
    fixture.advance(secs(3600));

    let group = groups(fixture).await?.remove(0);

    assert_eq!((group.first_seen, group.last_seen), (first_seen, last_seen));
    assert_eq!(
        (group.count, group.example.as_str()),
        (2, "no stamp 2\nmore")
    );
    assert_eq!(group.last_job, claim.jobs[0].id);
    assert_eq!((group.hours[20], group.hours[22]), (1, 1));
    assert_eq!(group.hours.iter().sum::<u64>(), 2);
    Ok(())
}

pub async fn the_number_of_groups_is_bounded(fixture: &Fixture) -> Result<()> {
    // Letters, since numbers are removed.
    let error = |number: usize| {
        let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap_or(0));
        format!("error {}{}", letter(number / 26), letter(number))
    };
    fixture.enqueue_all(numbered(ERROR_GROUPS_MAX + 2)).await?;
    let mut taken = 0;
    while taken < ERROR_GROUPS_MAX + 2 {
        let claim = fixture.take(100).await?;
        for lease in leases_of(&claim) {
            // The first group is seen again before the others are replaced.
            let number = if taken == ERROR_GROUPS_MAX { 0 } else { taken };
            let failures = vec![lease.failure(error(number)).retry(Retry::Permanent)];
            fixture.store.fail(&fixture.queue, failures).await?;
            fixture.advance(secs(1));
            fixture.renew(claim.token).await?;
            taken += 1;
        }
    }

    let found = groups(fixture).await?;

    assert_eq!(found.len(), ERROR_GROUPS_MAX);
    let has = |number| found.iter().any(|group| group.message == error(number));
    assert!(has(0) && !has(1) && has(2) && has(ERROR_GROUPS_MAX + 1));
    assert_eq!(found[0].message, error(ERROR_GROUPS_MAX + 1));
    Ok(())
}

pub async fn a_repeated_fail_counts_once(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    for _ in 0..2 {
        let status = fixture.fail(&claim, Retry::Permanent).await?;
        assert_eq!(status, OutcomeStatus::Dead);
    }

    assert_eq!(fixture.job("a").await?.attempts.len(), 1);
    assert_eq!(groups(fixture).await?[0].count, 1);
    Ok(())
}

pub async fn a_lost_lease_counts_no_error(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.outlast_lease();
    fixture.maintain().await?;

    let status = fixture.fail(&claim, AT_ONCE).await?;

    assert_eq!(status, OutcomeStatus::LeaseLost);
    assert_eq!(fixture.job("a").await?.attempts.len(), 1);
    assert_eq!(groups(fixture).await?, []);
    Ok(())
}

pub async fn a_cleared_group_is_gone_and_its_jobs_stay(fixture: &Fixture) -> Result<()> {
    fixture.kill(named("a")).await?;
    let group = groups(fixture).await?[0].fingerprint();
    let clear = |group| fixture.store.clear_error_group(&fixture.queue, group);

    assert!(!clear(Fingerprint::of(None, "another")).await?);
    assert!(clear(group).await?);
    assert!(!clear(group).await?);

    assert_eq!(groups(fixture).await?, []);
    assert_eq!(fixture.job("a").await?.error_group(), Some(group));
    fixture.kill(named("b")).await?;
    assert_eq!(groups(fixture).await?[0].count, 1);
    Ok(())
}

pub async fn a_deleted_queue_has_no_errors(fixture: &Fixture) -> Result<()> {
    fixture.kill(named("a")).await?;
    fixture.delete("a").await?;
    assert_eq!(groups(fixture).await?.len(), 1);

    fixture.store.delete_queue(&fixture.queue).await?;
    fixture.fill(&["a"]).await?;

    assert_eq!(groups(fixture).await?, []);
    assert_eq!(fixture.job("a").await?.attempts, []);
    let job = fixture.store.get(&fixture.queue, &id("b")).await?;
    assert_eq!(job, None);
    Ok(())
}
