//! Rests: a snooze that postpones a whole group or queue, as an answer to "429 Too Many Requests".

use windlass_core::store::SnoozeScope;
use windlass_core::{Claim, Due, JobState, OutcomeStatus, Result};

use crate::fixture::{Fixture, almost, ids, leases_of, ms, named, secs};

async fn rest(fixture: &Fixture, claim: &Claim, scope: SnoozeScope) -> Result<Vec<OutcomeStatus>> {
    let due = Due::After(secs(30));
    let leases = leases_of(claim).into_iter();
    let snoozes = leases.map(|lease| lease.snooze(due).scope(scope)).collect();
    fixture.store.snooze(&fixture.queue, snoozes).await
}

pub async fn nothing_of_a_resting_group_starts_and_no_attempt_is_used(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill_groups(&["a1", "a2", "b1", "b2"]).await?;
    let claim = fixture.take(1).await?;

    let status = rest(fixture, &claim, SnoozeScope::Group).await?;
    assert_eq!(status, [OutcomeStatus::Snoozed]);
    let job = fixture.job("a1").await?;
    assert_eq!((job.state, job.attempt), (JobState::Ready, 1));
    let until = fixture.now().plus(secs(30));
    let group = fixture.group("a").await?.expect("it has jobs");
    assert_eq!(group.resting_until, Some(until));

    let others = fixture.take(9).await?;
    assert_eq!(ids(&others), ["b1", "b2"]);
    fixture.complete_all(leases_of(&others)).await?;
    let stats = fixture.store.stats(&fixture.queue).await?;
    assert_eq!(stats.and_then(|stats| stats.next_due_ms), Some(30_000));
    fixture.advance(almost(secs(30)));
    assert!(fixture.claim(9).await?.is_none());
    fixture.advance(ms(1));
    assert_eq!(fixture.next(9).await?, ["a1", "a2"]);
    Ok(())
}

pub async fn nothing_of_a_resting_queue_starts(fixture: &Fixture) -> Result<()> {
    fixture.fill_groups(&["a1", "b1"]).await?;
    fixture.enqueue(named("plain")).await?;
    let claim = fixture.take(1).await?;
    rest(fixture, &claim, SnoozeScope::Queue).await?;

    assert!(fixture.claim(9).await?.is_none());
    let stats = fixture.store.stats(&fixture.queue).await?;
    let stats = stats.expect("the queue exists");
    assert_eq!(stats.resting_ms, Some(30_000));
    assert_eq!(stats.next_due_ms, Some(30_000));

    fixture.advance(secs(30));
    assert_eq!(fixture.next(9).await?.len(), 3);
    Ok(())
}

pub async fn a_plain_queue_can_rest(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(1).await?;
    rest(fixture, &claim, SnoozeScope::Queue).await?;
    fixture.enqueue(named("c")).await?;

    assert!(fixture.claim(9).await?.is_none());
    fixture.advance(secs(30));
    assert_eq!(fixture.next(9).await?, ["a", "b", "c"]);
    Ok(())
}

pub async fn the_later_of_two_rests_counts_and_resuming_ends_it(fixture: &Fixture) -> Result<()> {
    fixture.fill_groups(&["a1", "a2"]).await?;
    let claim = fixture.take(2).await?;
    let leases = leases_of(&claim);
    let snooze = |index: usize, time| {
        let due = Due::After(secs(time));
        vec![leases[index].clone().snooze(due).scope(SnoozeScope::Group)]
    };
    fixture.store.snooze(&fixture.queue, snooze(0, 60)).await?;
    fixture.store.snooze(&fixture.queue, snooze(1, 10)).await?;

    fixture.advance(secs(10));
    assert!(fixture.claim(9).await?.is_none());
    fixture.pause_group("a", false).await?;
    let claim = fixture.take(9).await?;
    assert_eq!(claim.jobs.len(), 2);

    rest(fixture, &claim, SnoozeScope::Queue).await?;
    assert!(fixture.claim(9).await?.is_none());
    fixture.store.set_paused(&fixture.queue, false).await?;
    assert_eq!(fixture.next(9).await?.len(), 2);
    Ok(())
}

pub async fn a_job_without_a_group_is_snoozed_alone(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    let claim = fixture.take(1).await?;

    rest(fixture, &claim, SnoozeScope::Group).await?;

    assert_eq!(fixture.state("a").await?, Some(JobState::Scheduled));
    assert_eq!(fixture.next(9).await?, ["b"]);
    Ok(())
}

pub async fn a_repeated_snooze_of_a_group_changes_nothing(fixture: &Fixture) -> Result<()> {
    fixture.fill_groups(&["a1"]).await?;
    let claim = fixture.take(1).await?;
    rest(fixture, &claim, SnoozeScope::Group).await?;
    fixture.advance(secs(20));

    let status = rest(fixture, &claim, SnoozeScope::Group).await?;

    assert_eq!(status, [OutcomeStatus::Snoozed]);
    fixture.advance(secs(10));
    assert_eq!(fixture.next(1).await?, ["a1"]);
    Ok(())
}

pub async fn the_jobs_of_a_snoozed_group_keep_their_order(fixture: &Fixture) -> Result<()> {
    fixture.fill_groups(&["a1", "a2", "a3", "a4"]).await?;
    let claim = fixture.take(3).await?;

    rest(fixture, &claim, SnoozeScope::Group).await?;

    fixture.advance(secs(30));
    assert_eq!(fixture.next(9).await?, ["a1", "a2", "a3", "a4"]);
    Ok(())
}
