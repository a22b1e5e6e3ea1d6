//! Handlers that misbehave: each ends as documented, without effect on other jobs.

use std::time::Duration;

use windlass_chaos::behaviour::{Behaviour, PANIC};
use windlass_core::store::Reason;
use windlass_core::{JobId, JobState, RetryPolicy};

use crate::fixture::{Fixture, TIMEOUT_MAX, job};
use crate::workers::Spec;

const OTHERS: usize = 100;
const TIMEOUT: Duration = Duration::from_millis(300);
const TEN_MB: usize = 10 * 1024 * 1024;

on_each_store!(a_handler_that_misbehaves_ends_as_documented_and_does_not_affect_other_jobs);

async fn a_handler_that_misbehaves_ends_as_documented_and_does_not_affect_other_jobs(
    fixture: Fixture,
) {
    let once = |id: &str, behaviour| job(id, behaviour).retry(RetryPolicy::never());
    let mut jobs = vec![
        once("panic", Behaviour::Panic),
        once("never", Behaviour::Never).timeout(TIMEOUT),
        // Long enough that the timeout comes first, even on a busy machine.
        once("blocked", Behaviour::Block(TIMEOUT * 10)).timeout(TIMEOUT),
        job("huge", Behaviour::ReturnBytes(TEN_MB)),
        job("again", Behaviour::Panic).retry(RetryPolicy::fixed(Duration::ZERO).max_attempts(3)),
    ];
    let other = |n| {
        job(
            &format!("other-{n}"),
            Behaviour::Sleep(Duration::from_millis(20)),
        )
    };
    jobs.extend((0..OTHERS).map(other));
    fixture.enqueue(jobs).await;
    let spec = Spec {
        concurrency: 20,
        // Long enough that no lease ends because of a stalled machine.
        lease: Duration::from_secs(20),
        ..Spec::default()
    };

    let worker = fixture.start_worker("worker", spec).await;
    fixture.wait_until_done(TIMEOUT_MAX).await;
    let process = worker.process;
    fixture.terminate(worker).await;

    let stats = fixture.assert_sound().await;
    assert_eq!(
        (stats.total.succeeded, stats.total.dead),
        (OTHERS as u64, 5)
    );
    assert_eq!(fixture.exit_counts(process).0, OTHERS as u64);
    let jobs = fixture.jobs().await;
    let panicked = format!("the handler panicked: {PANIC}");
    let timed_out = format!("the attempt timed out after {TIMEOUT:?}");
    let too_large = format!("the result is too large: {TEN_MB} bytes, the limit is 1048576");
    for (id, reason, attempt, error) in [
        ("panic", Reason::Exhausted, 1, &panicked),
        ("never", Reason::Exhausted, 1, &timed_out),
        ("blocked", Reason::Exhausted, 1, &timed_out),
        ("huge", Reason::Permanent, 1, &too_large),
        ("again", Reason::Exhausted, 3, &panicked),
    ] {
        let job = &jobs[&JobId::new(id).unwrap()];
        let seen = (job.state, job.reason, job.attempt, job.expiries);
        assert_eq!(seen, (JobState::Dead, Some(reason), attempt, 0), "{job:?}");
        let message = job.error.as_deref().unwrap();
        assert!(message.starts_with(error.as_str()), "{id}: {message}");
    }
}
