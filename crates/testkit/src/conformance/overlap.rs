//! What happens at an instant while the previous job of a schedule has not ended; and pending jobs.

use windlass_core::limits::PAGE;
use windlass_core::store::{
    Changed, Filter, Overlap, Retry, ScheduleChange, ScheduleRecord, SkipReason,
};
use windlass_core::{Claim, Due, JobState, Result, Schedule};

use crate::fixture::{Fixture, every, secs, skips};

/// A schedule that fires every 10 s.
fn schedule(overlap: Overlap) -> Schedule {
    let mut schedule = every("s", 10);
    schedule.overlap = overlap;
    schedule
}

/// The current and the waiting job.
fn jobs_of(record: &ScheduleRecord) -> [Option<String>; 2] {
    [&record.current, &record.waiting].map(|id| id.as_ref().map(ToString::to_string))
}

pub async fn an_overlap_is_skipped_and_says_so(fixture: &Fixture) -> Result<()> {
    fixture.put(schedule(Overlap::Skip)).await?;
    fixture.advance(secs(10));
    let claim = fixture.take(1).await?;

    fixture.advance(secs(10));
    assert!(fixture.claim(1).await?.is_none());
    // Waiting for a retry is not an end.
    fixture
        .fail(&claim, Retry::At(Due::After(secs(15))))
        .await?;
    fixture.advance(secs(10));
    assert!(fixture.claim(1).await?.is_none());
    fixture.advance(secs(5));
    let claim = fixture.take(1).await?;
    assert_eq!(claim.jobs[0].attempt, 2);
    fixture.complete(&claim).await?;
    fixture.advance(secs(5));

    assert_eq!(fixture.next(2).await?, [fixture.id_at("s", 40)]);
    let skipped = Some(SkipReason::Overlap);
    let record = fixture.schedule("s").await?;
    assert_eq!(skips(&record), [None, skipped, skipped, None]);
    Ok(())
}

pub async fn an_overlap_is_allowed(fixture: &Fixture) -> Result<()> {
    fixture.put(schedule(Overlap::Allow)).await?;

    fixture.advance(secs(30));

    let ids = [10, 20, 30].map(|seconds| fixture.id_at("s", seconds));
    assert_eq!(fixture.next(10).await?, ids);
    Ok(())
}

pub async fn a_buffer_holds_one_job_until_the_previous_one_ends(fixture: &Fixture) -> Result<()> {
    fixture.put(schedule(Overlap::Buffer)).await?;
    fixture.advance(secs(10));
    let claim = fixture.take(1).await?;

    fixture.advance(secs(20));
    assert!(fixture.claim(1).await?.is_none());
    let second = fixture.id_at("s", 20);
    assert_eq!(
        fixture.in_state(JobState::Pending).await?,
        std::slice::from_ref(&second)
    );
    let record = fixture.schedule("s").await?;
    assert_eq!(skips(&record), [None, None, Some(SkipReason::Overlap)]);
    assert_eq!(
        jobs_of(&record),
        [Some(fixture.id_at("s", 10)), Some(second.clone())]
    );

    fixture.complete(&claim).await?;
    assert_eq!(fixture.ready().await?, std::slice::from_ref(&second));
    assert_eq!(jobs_of(&fixture.schedule("s").await?), [Some(second), None]);
    Ok(())
}

pub async fn a_pending_job_with_a_delay_is_released_to_its_due_time(
    fixture: &Fixture,
) -> Result<()> {
    let mut buffer = schedule(Overlap::Buffer);
    buffer.job.due = Due::After(secs(8));
    fixture.put(buffer).await?;
    fixture.advance(secs(18));
    let claim = fixture.take(1).await?;
    fixture.advance(secs(3));
    fixture.maintain().await?;

    fixture.complete(&claim).await?;

    assert_eq!(
        fixture.in_state(JobState::Scheduled).await?,
        [fixture.id_at("s", 20)]
    );
    fixture.advance(secs(7));
    assert_eq!(fixture.next(1).await?, [fixture.id_at("s", 20)]);
    Ok(())
}

pub async fn a_job_is_released_when_the_previous_one_is_dead(fixture: &Fixture) -> Result<()> {
    let claim = buffered(fixture).await?;

    fixture.fail(&claim, Retry::Permanent).await?;

    assert_released(fixture, JobState::Dead).await
}

pub async fn a_job_is_released_when_the_previous_one_is_cancelled(fixture: &Fixture) -> Result<()> {
    let claim = buffered(fixture).await?;

    fixture.cancel(claim.jobs[0].id.as_str()).await?;
    fixture.release(&claim).await?;

    assert_released(fixture, JobState::Cancelled).await
}

pub async fn a_job_is_released_when_the_previous_one_is_poison(fixture: &Fixture) -> Result<()> {
    fixture.set("poison_after=1").await?;
    buffered(fixture).await?;

    fixture.outlast_lease();
    fixture.maintain().await?;

    assert_released(fixture, JobState::Dead).await
}

/// Starts a job, and lets another one wait for it.
async fn buffered(fixture: &Fixture) -> Result<Claim> {
    fixture.put(schedule(Overlap::Buffer)).await?;
    fixture.advance(secs(10));
    let claim = fixture.take(1).await?;
    fixture.advance(secs(10));
    fixture.maintain().await?;
    assert_eq!(
        fixture.in_state(JobState::Pending).await?,
        [fixture.id_at("s", 20)]
    );
    fixture.change_schedule("s", ScheduleChange::Pause).await?;
    Ok(claim)
}

/// Checks that the previous job ended in a state, and that the next one is ready.
async fn assert_released(fixture: &Fixture, state: JobState) -> Result<()> {
    let next = fixture.id_at("s", 20);
    assert_eq!(fixture.ready().await?, std::slice::from_ref(&next));
    let record = fixture.schedule("s").await?;
    assert_eq!(jobs_of(&record), [Some(next), None]);
    assert_eq!(record.last_end.map(|end| end.state), Some(state));
    Ok(())
}

pub async fn a_purge_ends_the_jobs_of_a_schedule(fixture: &Fixture) -> Result<()> {
    fixture.put(schedule(Overlap::Buffer)).await?;
    fixture.advance(secs(20));
    fixture.maintain().await?;
    assert_eq!(fixture.in_state(JobState::Pending).await?.len(), 1);

    while fixture.store.purge(&fixture.queue).await? > 0 {}

    let record = fixture.schedule("s").await?;
    assert_eq!(jobs_of(&record), [None, None]);
    fixture.advance(secs(10));
    assert_eq!(fixture.next(2).await?, [fixture.id_at("s", 30)]);
    Ok(())
}

pub async fn a_cancel_never_runs_two(fixture: &Fixture) -> Result<()> {
    fixture.put(schedule(Overlap::Cancel)).await?;
    fixture.advance(secs(10));
    let claim = fixture.take(1).await?;

    fixture.advance(secs(10));
    assert!(fixture.claim(1).await?.is_none());
    let renewed = fixture.renew(claim.token).await?;
    assert_eq!(renewed.cancel, [claim.jobs[0].id.clone()]);
    // Another instant replaces the job that waits.
    fixture.advance(secs(10));
    assert!(fixture.claim(1).await?.is_none());
    assert_eq!(
        fixture.in_state(JobState::Cancelled).await?,
        [fixture.id_at("s", 20)]
    );
    assert_eq!(
        fixture.in_state(JobState::Pending).await?,
        [fixture.id_at("s", 30)]
    );

    fixture.release(&claim).await?;
    assert_eq!(fixture.next(10).await?, [fixture.id_at("s", 30)]);
    let record = fixture.schedule("s").await?;
    assert_eq!(record.total.fired, 3);
    Ok(())
}

pub async fn a_job_that_has_not_started_is_cancelled_at_once(fixture: &Fixture) -> Result<()> {
    fixture.put(schedule(Overlap::Cancel)).await?;

    fixture.advance(secs(30));
    fixture.maintain().await?;

    let cancelled = [10, 20].map(|seconds| fixture.id_at("s", seconds));
    assert_eq!(fixture.in_state(JobState::Cancelled).await?, cancelled);
    assert_eq!(fixture.ready().await?, [fixture.id_at("s", 30)]);
    Ok(())
}

pub async fn a_pending_job_can_be_cancelled(fixture: &Fixture) -> Result<()> {
    buffered(fixture).await?;
    let id = fixture.id_at("s", 20);

    assert_eq!(fixture.cancel(&id).await?, Changed::Done);

    let record = fixture.schedule("s").await?;
    assert_eq!(jobs_of(&record), [Some(fixture.id_at("s", 10)), None]);
    Ok(())
}

pub async fn a_pending_job_can_be_promoted(fixture: &Fixture) -> Result<()> {
    buffered(fixture).await?;
    let id = fixture.id_at("s", 20);

    assert_eq!(fixture.promote(&id).await?, Changed::Done);

    assert_eq!(fixture.ready().await?, std::slice::from_ref(&id));
    assert_eq!(jobs_of(&fixture.schedule("s").await?), [Some(id), None]);
    Ok(())
}

pub async fn a_pending_job_expires(fixture: &Fixture) -> Result<()> {
    let mut buffer = schedule(Overlap::Buffer);
    buffer.job.expires = Some(Due::After(secs(15)));
    fixture.put(buffer).await?;
    fixture.advance(secs(10));
    fixture.take(1).await?;
    fixture.advance(secs(10));
    fixture.maintain().await?;
    fixture.change_schedule("s", ScheduleChange::Pause).await?;

    fixture.advance(secs(15));
    fixture.maintain().await?;

    let job = fixture.get(&fixture.id_at("s", 20)).await?;
    assert_eq!(job.map(|job| job.state), Some(JobState::Dead));
    assert_eq!(fixture.schedule("s").await?.waiting, None);
    Ok(())
}

pub async fn a_pending_job_expires_together_with_the_previous_one(fixture: &Fixture) -> Result<()> {
    let mut buffer = schedule(Overlap::Buffer);
    buffer.job.expires = Some(Due::After(secs(15)));
    fixture.put(buffer).await?;
    fixture.advance(secs(20));
    fixture.maintain().await?;
    assert_eq!(fixture.in_state(JobState::Pending).await?.len(), 1);
    fixture.change_schedule("s", ScheduleChange::Pause).await?;

    fixture.advance(secs(20));
    assert_eq!(fixture.maintain().await?.expired, 2);

    assert_eq!(fixture.in_state(JobState::Dead).await?.len(), 2);
    let stats = fixture.store.stats(&fixture.queue).await?;
    let stats = stats.expect("the queue exists");
    assert_eq!((stats.pending, stats.ready), (0, 0));
    Ok(())
}

pub async fn a_pending_job_is_listed_and_counted(fixture: &Fixture) -> Result<()> {
    buffered(fixture).await?;
    let id = fixture.id_at("s", 20);

    let filter = Filter {
        state: Some(JobState::Pending),
        ..Filter::default()
    };
    let (store, queue) = (&fixture.store, &fixture.queue);
    let page = store.list(queue, &filter, None, PAGE).await?;
    let ids: Vec<_> = page.items.iter().map(|job| job.id.to_string()).collect();
    assert_eq!(ids, [id]);
    let stats = store.stats(queue).await?.expect("the queue exists");
    assert_eq!((stats.pending, stats.ready, stats.running), (1, 0, 1));
    Ok(())
}

pub async fn deleting_a_schedule_releases_its_pending_job(fixture: &Fixture) -> Result<()> {
    buffered(fixture).await?;
    let id = fixture.id_at("s", 20);

    fixture.change_schedule("s", ScheduleChange::Delete).await?;

    assert_eq!(fixture.ready().await?, [id]);
    Ok(())
}

pub async fn a_job_that_waits_is_released_after_the_policy_changed(
    fixture: &Fixture,
) -> Result<()> {
    fixture.put(schedule(Overlap::Buffer)).await?;
    fixture.advance(secs(10));
    let claim = fixture.take(1).await?;
    fixture.advance(secs(10));
    fixture.maintain().await?;

    fixture.put(schedule(Overlap::Allow)).await?;
    fixture.advance(secs(9));
    fixture.renew(claim.token).await?;
    fixture.advance(secs(1));
    fixture.maintain().await?;
    assert_eq!(fixture.ready().await?, [fixture.id_at("s", 30)]);
    fixture.complete(&claim).await?;

    let ids = [30, 20].map(|seconds| fixture.id_at("s", seconds));
    assert_eq!(fixture.ready().await?, ids);
    Ok(())
}
