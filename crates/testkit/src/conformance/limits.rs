//! Limits of a queue: how many jobs run at the same time, and how many are claimed per period.

use std::time::Duration;

use windlass_core::store::Retry;
use windlass_core::{
    Change, ClaimRequest, Due, ErrorKind, JobState, Mode, OutcomeStatus, Result, Target,
};

use crate::fixture::{Fixture, almost, boot, id, lease_of, leases_of, ms, named, numbered, secs};
use crate::paging;

async fn running(fixture: &Fixture) -> Result<usize> {
    Ok(fixture.in_state(JobState::Running).await?.len())
}

pub async fn a_queue_never_runs_more_jobs_than_its_limit(fixture: &Fixture) -> Result<()> {
    fixture.set("max_running=3").await?;
    fixture.enqueue_all(numbered(10)).await?;

    let first = fixture.take_as(&boot("w1"), 1, 2).await?;
    let second = fixture.take_as(&boot("w2"), 1, 5).await?;
    assert_eq!((first.jobs.len(), second.jobs.len()), (2, 1));
    assert!(fixture.claim(1).await?.is_none());

    fixture.complete(&first).await?;
    assert_eq!(fixture.next(9).await?, ["j003"]);
    assert_eq!(running(fixture).await?, 3);
    Ok(())
}

pub async fn a_completion_and_a_claim_in_one_call_use_the_slot_that_it_frees(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("max_running=2").await?;
    fixture.enqueue_all(numbered(6)).await?;
    let claim = fixture.take_as(&boot("w"), 1, 2).await?;

    let completions = vec![lease_of(&claim, 0).completion()];
    let next = ClaimRequest::worker(boot("w"), 2, 5);
    let reply = fixture
        .store
        .complete(&fixture.queue, completions, Some(next));

    let jobs = reply.await?.next.expect("a slot is free").jobs;
    assert_eq!(jobs.len(), 1);
    Ok(())
}

pub async fn every_end_of_an_attempt_frees_its_slot(fixture: &Fixture) -> Result<()> {
    fixture.set("max_running=1").await?;
    fixture.enqueue_all(numbered(7)).await?;
    let later = || Due::After(secs(3600));

    let claim = fixture.take(9).await?;
    fixture.fail(&claim, Retry::At(later())).await?;
    let claim = fixture.take(9).await?;
    fixture.fail(&claim, Retry::Permanent).await?;
    let claim = fixture.take(9).await?;
    fixture.snooze(&claim, later()).await?;
    let claim = fixture.take(9).await?;
    fixture.release(&claim).await?;
    let claim = fixture.take(9).await?;
    assert_eq!(claim.jobs[0].id, id("j003"));
    fixture.cancel("j003").await?;
    fixture.release(&claim).await?;
    let claim = fixture.take_as(&boot("w"), 1, 9).await?;
    assert_eq!(claim.jobs[0].id, id("j004"));
    fixture
        .store
        .leave(&boot("w"), Some(&fixture.queue))
        .await?;

    assert_eq!(fixture.next(9).await?, ["j004"]);
    assert_eq!(running(fixture).await?, 1);
    Ok(())
}

pub async fn the_slot_of_a_dead_worker_is_free_when_it_is_reaped(fixture: &Fixture) -> Result<()> {
    fixture.set("max_running=1").await?;
    fixture.fill(&["a", "b"]).await?;
    fixture.take_as(&boot("w1"), 1, 5).await?;
    assert!(fixture.claim_as(&boot("w2"), 1, 5).await?.is_none());

    fixture.outlast_lease();

    let rescued = fixture.take_as(&boot("w2"), 2, 5).await?;
    assert_eq!(rescued.jobs.len(), 1);
    assert_eq!(rescued.jobs[0].id, id("a"));
    Ok(())
}

pub async fn a_stale_complete_frees_no_slot(fixture: &Fixture) -> Result<()> {
    fixture.set("max_running=1").await?;
    fixture.fill(&["a", "b"]).await?;
    let stale = fixture.take(1).await?;
    fixture.outlast_lease();
    fixture.take(1).await?;

    let late = fixture.complete(&stale).await?;

    assert_eq!(late, OutcomeStatus::LeaseLost);
    assert!(fixture.claim(1).await?.is_none());
    Ok(())
}

pub async fn a_lowered_limit_stops_nothing_and_a_raised_one_lets_jobs_start(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue_all(numbered(9)).await?;
    let claim = fixture.take(3).await?;
    fixture.set("max_running=1").await?;

    assert_eq!(fixture.renew(claim.token).await?.lost, []);
    fixture
        .complete_all(leases_of(&claim)[..2].to_vec())
        .await?;
    assert!(fixture.claim(5).await?.is_none());

    fixture.set("max_running=4").await?;
    assert_eq!(fixture.next(9).await?.len(), 3);
    fixture.set("max_running=none").await?;
    assert_eq!(fixture.next(9).await?.len(), 3);
    Ok(())
}

pub async fn a_job_that_may_not_start_stays_ready_and_uses_no_attempt(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("rate=1/1h").await?;
    fixture.fill(&["a", "b"]).await?;
    fixture.complete(&fixture.take(5).await?).await?;
    let before = fixture.job("b").await?;

    for _ in 0..5 {
        fixture.advance(secs(60));
        assert!(fixture.claim(5).await?.is_none());
    }

    assert_eq!(fixture.job("b").await?, before);
    assert_eq!((before.state, before.attempt), (JobState::Ready, 1));
    Ok(())
}

/// Claims as much as possible at every `step`. Returns the times of the claimed jobs.
async fn claim_all(fixture: &Fixture, step: Duration, steps: u32) -> Result<Vec<u64>> {
    let mut times = Vec::new();
    for _ in 0..steps {
        if let Some(claim) = fixture.claim(100).await? {
            times.extend(claim.jobs.iter().map(|_| fixture.now().as_ms()));
            fixture.complete_all(leases_of(&claim)).await?;
        }
        fixture.advance(step);
    }
    Ok(times)
}

pub async fn no_period_has_more_claims_than_the_rate_whatever_the_burst(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue_all(numbered(400)).await?;
    for (burst, at_once) in [(1, 1), (3, 3), (8, 8), (50, 8)] {
        fixture.set("rate=8/10s").await?;
        fixture.set(&format!("burst={burst}")).await?;
        fixture.advance(secs(100));

        let times = claim_all(fixture, ms(500), 120).await?;

        let first = times.iter().filter(|time| **time == times[0]).count();
        assert_eq!(first, at_once);
        // What a burst takes at once is missing from the steady rate.
        let least = at_once + 4 * (8 - at_once + 1);
        assert!(times.len() >= least, "{} in a minute", times.len());
        for window in times.windows(9) {
            assert!(window[8] - window[0] >= 10_000, "burst {burst}: {window:?}");
        }
    }
    Ok(())
}

pub async fn a_retry_counts_and_a_repeated_claim_does_not(fixture: &Fixture) -> Result<()> {
    fixture.set("rate=2/10s").await?;
    fixture.set("burst=2").await?;
    fixture.fill(&["a", "b", "c"]).await?;
    let claim = fixture.take_as(&boot("w"), 1, 1).await?;

    let repeated = fixture.take_as(&boot("w"), 1, 1).await?;
    assert_eq!(repeated.token, claim.token);
    fixture.fail(&claim, Retry::At(Due::Now)).await?;
    fixture.advance(ms(1));
    let second = fixture.take_as(&boot("w"), 2, 5).await?;
    assert_eq!(second.jobs.len(), 1);

    assert!(fixture.claim(5).await?.is_none());
    Ok(())
}

pub async fn a_closed_rate_says_when_it_opens(fixture: &Fixture) -> Result<()> {
    fixture.set("rate=4/10s").await?;
    fixture.fill(&["a", "b"]).await?;
    fixture.take(5).await?;

    let stats = fixture.store.stats(&fixture.queue).await?;
    assert_eq!(stats.and_then(|stats| stats.next_due_ms), Some(2_500));

    fixture.advance(almost(ms(2_500)));
    assert!(fixture.claim(5).await?.is_none());
    fixture.advance(ms(1));
    assert_eq!(fixture.next(5).await?, ["b"]);
    let stats = fixture.store.stats(&fixture.queue).await?;
    assert_eq!(stats.and_then(|stats| stats.next_due_ms), None);
    Ok(())
}

pub async fn both_limits_apply(fixture: &Fixture) -> Result<()> {
    fixture.set("max_running=2").await?;
    fixture.set("rate=3/10s").await?;
    fixture.set("burst=3").await?;
    fixture.enqueue_all(numbered(6)).await?;

    let first = fixture.take(9).await?;
    assert_eq!(first.jobs.len(), 2);
    fixture.complete_all(leases_of(&first)).await?;
    assert_eq!(fixture.next(9).await?.len(), 1);
    assert!(fixture.claim(9).await?.is_none());
    Ok(())
}

pub async fn a_clock_set_back_closes_a_rate_for_one_period_at_most(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("rate=1/1h").await?;
    fixture.fill(&["a", "b"]).await?;
    fixture.complete(&fixture.take(1).await?).await?;
    fixture.clock.step_back(secs(86_400));

    assert!(fixture.claim(1).await?.is_none());
    fixture.maintain().await?;

    fixture.advance(secs(3_600));
    assert_eq!(fixture.next(1).await?, ["b"]);
    Ok(())
}

pub async fn a_queue_with_a_limit_of_running_jobs_refuses_claims_at_most_once(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(1).await?;
    fixture.set("max_running=5").await?;
    let at_most_once = || ClaimRequest::single(1).mode(Mode::AtMostOnce);

    let alone = fixture.store.claim(&fixture.queue, at_most_once()).await;
    let completions = vec![lease_of(&claim, 0).completion()];
    let with = fixture
        .store
        .complete(&fixture.queue, completions, Some(at_most_once()));

    assert_eq!(
        alone.map_err(|error| error.kind()),
        Err(ErrorKind::Conflict)
    );
    assert_eq!(
        with.await.map_err(|error| error.kind()),
        Err(ErrorKind::Conflict)
    );
    assert_eq!(fixture.state("a").await?, Some(JobState::Running));
    fixture.set("max_running=none").await?;
    fixture.set("rate=1/1s").await?;
    let claimed = fixture.store.claim(&fixture.queue, at_most_once()).await?;
    assert!(claimed.is_some());
    Ok(())
}

pub async fn limits_and_several_partitions_exclude_each_other(fixture: &Fixture) -> Result<()> {
    fixture.set("max_running=5").await?;
    let before = fixture.store.settings(&fixture.queue).await?;

    for setting in ["partitions=4", "partitions=2"] {
        let refused = fixture.set(setting).await.map_err(|error| error.kind());
        assert_eq!(refused, Err(ErrorKind::Conflict));
    }

    assert_eq!(fixture.store.settings(&fixture.queue).await?, before);
    fixture.set("max_running=none").await?;
    fixture.set("partitions=2").await?;
    let refused = fixture.set("rate=5/1s").await.map_err(|error| error.kind());
    assert_eq!(refused, Err(ErrorKind::Conflict));
    Ok(())
}

pub async fn pausing_promoting_and_retrying_ignore_the_limits(fixture: &Fixture) -> Result<()> {
    fixture.set("max_running=1").await?;
    fixture.kill(named("dead")).await?;
    fixture.enqueue(named("later").delay(secs(60))).await?;
    fixture.enqueue(named("a")).await?;
    fixture.take(1).await?;

    fixture.retry("dead").await?;
    fixture.promote("later").await?;
    let all = Target::Ids(vec![id("dead")]);
    fixture
        .store
        .change(&fixture.queue, Change::Cancel, &all, None)
        .await?;

    assert_eq!(fixture.ready().await?, ["later"]);
    assert!(fixture.claim(1).await?.is_none());
    Ok(())
}

pub async fn a_deleted_queue_forgets_its_rate(fixture: &Fixture) -> Result<()> {
    fixture.set("rate=1/1h").await?;
    fixture.fill(&["a"]).await?;
    fixture.complete(&fixture.take(1).await?).await?;
    fixture.store.delete_queue(&fixture.queue).await?;

    fixture.enqueue_all(Vec::new()).await?;
    fixture.set("rate=1/1h").await?;

    fixture.fill(&["b"]).await?;
    assert_eq!(fixture.next(1).await?, ["b"]);
    Ok(())
}

pub async fn an_audit_keeps_the_rate(fixture: &Fixture) -> Result<()> {
    fixture.set("rate=1/1h").await?;
    fixture.fill(&["a", "b"]).await?;
    fixture.take(1).await?;
    let before = fixture.snapshot().await?;

    let (_, repairs) = paging::audit(fixture.store.as_ref(), &fixture.queue).await?;

    assert_eq!(repairs, []);
    assert_eq!(fixture.snapshot().await?, before);
    assert!(fixture.claim(1).await?.is_none());
    Ok(())
}
