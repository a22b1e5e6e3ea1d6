//! Order: which job is claimed next, and the position of jobs that return.

use std::time::Duration;

use windlass_core::store::{Jitter, Retry};
use windlass_core::{
    BootId, ClaimRequest, Due, JobLease, JobState, LeaseTime, OutcomeStatus, Priority, Result,
    RetryPolicy,
};

use super::workers::worker;
use crate::fixture::{Fixture, almost, boot, ids, lease_of, leases_of, ms, named, numbered, secs};

pub async fn jobs_of_one_priority_run_in_the_order_they_came(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["c", "a"]).await?;
    fixture.fill(&["b"]).await?;

    assert_eq!(fixture.next(2).await?, ["c", "a"]);
    assert_eq!(fixture.next(2).await?, ["b"]);
    Ok(())
}

pub async fn priority_comes_before_age(fixture: &Fixture) -> Result<()> {
    for (name, level) in [("last", 9), ("middle", 5), ("soon", 1), ("first", 0)] {
        fixture.enqueue_at(level, name).await?;
        fixture.advance(secs(1));
    }

    assert_eq!(fixture.next(3).await?, ["first", "soon", "middle"]);
    assert_eq!(fixture.next(3).await?, ["last"]);
    Ok(())
}

pub async fn a_job_is_never_early(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("a").delay(secs(5))).await?;

    fixture.advance(almost(secs(5)));
    assert_eq!(fixture.claim(1).await?, None);
    assert_eq!(fixture.state("a").await?, Some(JobState::Scheduled));

    fixture.advance(ms(1));
    assert_eq!(fixture.next(1).await?, ["a"]);
    Ok(())
}

pub async fn a_delay_is_not_cut_to_whole_milliseconds(fixture: &Fixture) -> Result<()> {
    let clock = |us| fixture.advance(Duration::from_micros(us));
    fixture
        .fill(&["failed", "failed by policy", "snoozed"])
        .await?;
    let claim = fixture.take(3).await?;
    // Ten milliseconds from here end within a millisecond of the clock.
    clock(900);
    fixture.enqueue(named("delayed").delay(ms(10))).await?;
    fixture.enqueue(named("not delayed").delay(ms(0))).await?;
    assert_eq!(fixture.next(10).await?, ["not delayed"]);
    let due = Due::After(ms(10));
    fixture.fail(&claim, Retry::At(due)).await?;
    let jitter = Jitter(999);
    fixture
        .fail(lease_of(&claim, 1), Retry::ByPolicy(jitter))
        .await?;
    fixture.snooze(lease_of(&claim, 2), due).await?;
    let policy_due = fixture.job("failed by policy").await?.due_at;
    let delay = RetryPolicy::default().delay(1, jitter);
    assert!(delay > ms(10), "{delay:?}");

    clock(9_999);
    assert_eq!(fixture.claim(10).await?, None, "1 µs before they are due");
    clock(101);
    assert_eq!(policy_due.plus(ms(10)), fixture.now().plus(delay));
    assert_eq!(fixture.next(10).await?, ["delayed", "failed", "snoozed"]);
    Ok(())
}

pub async fn due_jobs_are_promoted_by_due_time_then_id(fixture: &Fixture) -> Result<()> {
    for (name, delay) in [("z", 1), ("b", 2), ("c", 2), ("a", 2), ("y", 3)] {
        fixture.enqueue(named(name).delay(secs(delay))).await?;
    }
    fixture.advance(secs(2));

    assert_eq!(fixture.next(10).await?, ["z", "a", "b", "c"]);
    Ok(())
}

pub async fn ids_are_compared_by_their_bytes(fixture: &Fixture) -> Result<()> {
    for name in ["a", "é", "Z", "10", "9"] {
        fixture.enqueue(named(name).delay(secs(1))).await?;
    }
    fixture.advance(secs(1));

    assert_eq!(fixture.next(10).await?, ["10", "9", "Z", "a", "é"]);
    Ok(())
}

pub async fn a_promoted_job_stands_at_the_back_of_its_priority(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("due").delay(secs(1))).await?;
    fixture
        .enqueue(named("urgent").delay(secs(1)).priority(Priority::new(0)?))
        .await?;
    fixture.fill(&["a"]).await?;
    fixture.advance(secs(1));

    assert_eq!(fixture.next(10).await?, ["urgent", "a", "due"]);
    Ok(())
}

pub async fn released_jobs_return_to_the_front_in_claim_order(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c", "d"]).await?;
    let claim = fixture.take(3).await?;
    let mut all = leases_of(&claim);
    all.rotate_left(1);

    fixture.store.release(&fixture.queue, all).await?;

    assert_eq!(fixture.next(10).await?, ["a", "b", "c", "d"]);
    Ok(())
}

pub async fn reaped_jobs_return_to_the_front_in_claim_order(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c", "d"]).await?;
    let worker = boot("worker");
    fixture.take_as(&worker, 1, 2).await?;
    fixture.take_as(&worker, 2, 1).await?;

    fixture.outlast_lease();

    assert_eq!(fixture.next(10).await?, ["a", "b", "c", "d"]);
    Ok(())
}

/// 260 jobs, of which a worker has claimed 250.
async fn busy_worker(fixture: &Fixture) -> Result<(BootId, Vec<JobLease>)> {
    fixture.enqueue_all(numbered(260)).await?;
    let worker = boot("worker");
    let mut leases = Vec::new();
    for (seq, max) in [(1, 100), (2, 100), (3, 50)] {
        leases.extend(leases_of(&fixture.take_as(&worker, seq, max).await?));
    }
    Ok((worker, leases))
}

/// Claims everything and asserts that it comes in the order it was enqueued.
async fn assert_in_order(fixture: &Fixture) -> Result<()> {
    let mut claimed = Vec::new();
    while let Some(claim) = fixture.claim(100).await? {
        claimed.extend(claim.jobs.into_iter().map(|job| job.id));
    }
    let expected: Vec<_> = numbered(260).into_iter().map(|job| job.id).collect();
    assert_eq!(claimed, expected);
    Ok(())
}

pub async fn many_reaped_jobs_return_in_claim_order(fixture: &Fixture) -> Result<()> {
    busy_worker(fixture).await?;

    fixture.outlast_lease();

    assert_in_order(fixture).await
}

pub async fn many_reaped_jobs_return_in_claim_order_to_the_next_call_of_complete(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["done"]).await?;
    let long = ClaimRequest::single(1).lease(LeaseTime::nearest(secs(60)));
    let done = fixture.store.claim(&fixture.queue, long).await?;
    let done = lease_of(&done.expect("a job is ready"), 0).completion();
    busy_worker(fixture).await?;
    fixture.outlast_lease();

    let next = Some(ClaimRequest::single(2));
    let completed = fixture
        .store
        .complete(&fixture.queue, vec![done], next)
        .await?;

    assert_eq!(completed.statuses, [OutcomeStatus::Completed]);
    assert_eq!(
        ids(&completed.next.expect("jobs are ready")),
        ["j000", "j001"]
    );
    Ok(())
}

pub async fn many_jobs_of_a_leaver_return_in_claim_order(fixture: &Fixture) -> Result<()> {
    let (worker, _) = busy_worker(fixture).await?;

    let returned = fixture.store.leave(&worker, Some(&fixture.queue)).await?;

    assert_eq!(returned, 250);
    assert_in_order(fixture).await
}

pub async fn many_jobs_of_a_failed_worker_return_in_claim_order(fixture: &Fixture) -> Result<()> {
    let record = worker(&boot("worker"), &[&fixture.queue]);
    fixture.store.register(record).await?;
    let (boot, _) = busy_worker(fixture).await?;

    assert_eq!(fixture.store.fail_worker(&boot).await?, Some(250));

    assert_in_order(fixture).await
}

pub async fn many_released_jobs_return_in_claim_order(fixture: &Fixture) -> Result<()> {
    let (_, mut leases) = busy_worker(fixture).await?;
    leases.rotate_left(70);
    leases[..200].reverse();

    let statuses = fixture.store.release(&fixture.queue, leases).await?;

    assert_eq!(statuses, [OutcomeStatus::Released; 250]);
    assert_in_order(fixture).await
}

pub async fn many_released_jobs_keep_their_order_at_the_back(fixture: &Fixture) -> Result<()> {
    fixture.set("requeue=back").await?;
    let (_, leases) = busy_worker(fixture).await?;
    let others: Vec<_> = (250..260).map(|n| format!("j{n:03}")).collect();
    assert_eq!(fixture.next(10).await?, others);

    fixture.store.release(&fixture.queue, leases).await?;

    let expected: Vec<_> = (0..250).map(|n| format!("j{n:03}")).collect();
    assert_eq!(fixture.ready().await?, expected);
    Ok(())
}

pub async fn a_job_returns_to_the_front_of_its_own_priority(fixture: &Fixture) -> Result<()> {
    fixture.enqueue_at(9, "low").await?;
    fixture.take(1).await?;
    fixture.fill(&["a"]).await?;
    fixture.enqueue_at(9, "low 2").await?;

    fixture.outlast_lease();

    assert_eq!(fixture.next(10).await?, ["a", "low", "low 2"]);
    Ok(())
}

pub async fn a_later_reap_stands_ahead_of_an_earlier_one(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c"]).await?;
    fixture.take(1).await?;
    fixture.advance(secs(1));
    fixture.take(1).await?;

    fixture.advance(secs(29));
    assert_eq!(fixture.maintain().await?.reaped, 1);
    fixture.advance(secs(1));
    assert_eq!(fixture.maintain().await?.reaped, 1);

    assert_eq!(fixture.next(10).await?, ["b", "a", "c"]);
    Ok(())
}

pub async fn leases_are_reaped_in_the_order_they_ended(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c"]).await?;
    let long = ClaimRequest::single(1).lease(LeaseTime::nearest(secs(20)));
    let short = ClaimRequest::single(1).lease(LeaseTime::nearest(secs(10)));
    fixture.store.claim(&fixture.queue, long).await?;
    fixture.store.claim(&fixture.queue, short).await?;

    // The lease of b expired first, so a was reaped later and is ahead of it.
    fixture.advance(secs(20));

    assert_eq!(fixture.next(10).await?, ["a", "b", "c"]);
    Ok(())
}

pub async fn a_queue_may_put_returned_jobs_at_the_back(fixture: &Fixture) -> Result<()> {
    fixture.set("requeue=back").await?;
    fixture.fill(&["a", "b", "c", "d"]).await?;
    let claim = fixture.take(2).await?;
    fixture
        .store
        .release(&fixture.queue, leases_of(&claim))
        .await?;
    assert_eq!(fixture.ready().await?, ["c", "d", "a", "b"]);

    fixture.take_as(&boot("worker"), 1, 2).await?;
    fixture.outlast_lease();
    fixture.maintain().await?;

    assert_eq!(fixture.ready().await?, ["a", "b", "c", "d"]);
    Ok(())
}

pub async fn claims_lost_in_transit_keep_their_order_at_the_back(fixture: &Fixture) -> Result<()> {
    fixture.set("requeue=back").await?;
    fixture.fill(&["a", "b", "c", "d", "e"]).await?;
    let worker = boot("worker");
    fixture.take_as(&worker, 1, 2).await?;
    fixture.take_as(&worker, 2, 2).await?;

    fixture.renew_as(&worker, &[], 2).await?;

    assert_eq!(fixture.ready().await?, ["e", "a", "b", "c", "d"]);
    Ok(())
}

pub async fn a_retried_job_stands_at_the_back(fixture: &Fixture) -> Result<()> {
    fixture.kill(named("a")).await?;
    fixture.fill(&["b"]).await?;

    fixture.retry("a").await?;

    assert_eq!(fixture.ready().await?, ["b", "a"]);
    Ok(())
}

pub async fn a_job_promoted_by_hand_stands_at_the_back(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("a").delay(secs(60))).await?;
    fixture.fill(&["b"]).await?;

    fixture.promote("a").await?;

    assert_eq!(fixture.next(10).await?, ["b", "a"]);
    Ok(())
}

pub async fn a_job_cancelled_and_enqueued_again_has_only_its_new_position(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    fixture.cancel("a").await?;
    fixture.delete("a").await?;
    fixture.fill(&["a"]).await?;

    assert_eq!(fixture.next(10).await?, ["b", "a"]);
    assert_eq!(fixture.claim(10).await?, None);
    Ok(())
}

pub async fn a_thousand_jobs_run_in_the_order_they_came(fixture: &Fixture) -> Result<()> {
    let jobs = numbered(1000);
    let expected: Vec<_> = jobs.iter().map(|job| job.id.to_string()).collect();
    fixture.enqueue_all(jobs).await?;
    let worker = boot("worker");
    let mut order = Vec::new();

    for seq in 1..=10 {
        let claim = fixture.take_as(&worker, seq, 100).await?;
        order.extend(ids(&claim).into_iter().map(str::to_owned));
        // Completing in another order does not affect the waiting jobs.
        fixture.complete(lease_of(&claim, 99)).await?;
        fixture
            .complete_all(leases_of(&claim)[..99].to_vec())
            .await?;
    }

    assert_eq!(order, expected);
    Ok(())
}
