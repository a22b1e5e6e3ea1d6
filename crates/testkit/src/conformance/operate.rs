//! Operator calls: retry, delete, promote and purge.

use windlass_core::limits::SCAN_PAGE;
use windlass_core::store::{Changed, Kind, QueueDeletion, Settings};
use windlass_core::{
    Change, Due, Filter, JobState, NewJob, OutcomeStatus, Result, RetryPolicy, Target,
};

use crate::fixture::{Fixture, duplicate_of, id, lease_of, named, numbered, secs};

pub async fn a_retried_job_starts_over(fixture: &Fixture) -> Result<()> {
    let policy = RetryPolicy::fixed(secs(0)).max_attempts(2);
    fixture
        .enqueue(named("a").retry(policy).expires(Due::After(secs(60))))
        .await?;
    for _ in 0..2 {
        let claim = fixture.take(1).await?;
        fixture
            .store
            .fail(&fixture.queue, vec![lease_of(&claim, 0).failure("no")])
            .await?;
    }
    assert_eq!(fixture.state("a").await?, Some(JobState::Dead));
    fixture.advance(secs(120));

    assert_eq!(fixture.retry("a").await?, Changed::Done);

    let job = fixture.job("a").await?;
    assert_eq!(
        (job.state, job.attempt, job.expiries),
        (JobState::Ready, 1, 0)
    );
    assert_eq!((job.error, job.reason, job.finished_at), (None, None, None));
    assert_eq!(job.expires_at, None);
    assert_eq!(fixture.next(1).await?, ["a"]);
    Ok(())
}

pub async fn only_a_dead_job_is_retried(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["running", "ready"]).await?;
    fixture.take(1).await?;
    fixture.enqueue(named("scheduled").delay(secs(5))).await?;
    fixture.fill(&["cancelled"]).await?;
    fixture.cancel("cancelled").await?;
    let before = fixture.snapshot().await?;

    for state in [
        JobState::Running,
        JobState::Ready,
        JobState::Scheduled,
        JobState::Cancelled,
    ] {
        assert_eq!(
            fixture.retry(state.as_str()).await?,
            Changed::WrongState(state)
        );
    }
    assert_eq!(fixture.retry("missing").await?, Changed::NotFound);

    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn a_retried_job_is_live_for_duplicates(fixture: &Fixture) -> Result<()> {
    fixture.kill(named("a")).await?;
    fixture.retry("a").await?;

    let again = fixture.enqueue(named("a")).await?;

    assert_eq!(duplicate_of(&again), Some((id("a"), JobState::Ready)));
    Ok(())
}

pub async fn a_deleted_job_is_forgotten_with_its_id(fixture: &Fixture) -> Result<()> {
    fixture.kill(named("a")).await?;

    assert_eq!(fixture.delete("a").await?, Changed::Done);

    assert_eq!(fixture.get("a").await?, None);
    let dump = fixture.snapshot().await?;
    assert!(dump.jobs.is_empty() && dump.tombstones.is_empty());
    assert_eq!((dump.stats.dead, dump.stats.bytes), (0, 0));
    assert!(!fixture.enqueue(named("a")).await?.is_duplicate());
    Ok(())
}

pub async fn an_id_that_is_only_remembered_is_forgotten_by_deleting_it(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.complete(&fixture.take(1).await?).await?;
    assert!(fixture.enqueue(named("a")).await?.is_duplicate());

    assert_eq!(fixture.delete("a").await?, Changed::Done);

    assert!(!fixture.enqueue(named("a")).await?.is_duplicate());
    Ok(())
}

pub async fn an_id_no_longer_remembered_is_not_found(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.complete(&fixture.take(1).await?).await?;
    fixture.advance(secs(3601));

    assert_eq!(fixture.delete("a").await?, Changed::NotFound);
    Ok(())
}

pub async fn a_live_job_cannot_be_deleted(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["running", "ready"]).await?;
    fixture.take(1).await?;
    fixture.enqueue(named("scheduled").delay(secs(5))).await?;
    let before = fixture.snapshot().await?;

    for state in [JobState::Running, JobState::Ready, JobState::Scheduled] {
        assert_eq!(
            fixture.delete(state.as_str()).await?,
            Changed::WrongState(state)
        );
    }
    assert_eq!(fixture.delete("missing").await?, Changed::NotFound);

    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn a_scheduled_job_is_promoted_by_hand(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("a").delay(secs(60))).await?;

    assert_eq!(fixture.promote("a").await?, Changed::Done);

    assert_eq!(fixture.state("a").await?, Some(JobState::Ready));
    assert_eq!(
        fixture.promote("a").await?,
        Changed::WrongState(JobState::Ready)
    );
    assert_eq!(fixture.promote("missing").await?, Changed::NotFound);
    assert_eq!(fixture.next(1).await?, ["a"]);
    Ok(())
}

/// Deletes all pages. Returns the number of deleted jobs.
async fn delete_all(fixture: &Fixture, filter: Filter) -> Result<usize> {
    let target = Target::Filter(filter);
    let mut count = 0;
    let mut from = None;
    loop {
        let page = fixture
            .store
            .change(&fixture.queue, Change::Delete, &target, from)
            .await?;
        count += page
            .items
            .iter()
            .filter(|job| job.changed == Changed::Done)
            .count();
        from = page.next;
        if from.is_none() {
            return Ok(count);
        }
    }
}

pub async fn jobs_are_changed_by_filter_in_pages(fixture: &Fixture) -> Result<()> {
    fixture
        .enqueue_all((0..1100).map(|_| NewJob::new("same")).collect())
        .await?;
    let all = Target::Payload("same".into());
    let mut from = None;
    loop {
        let page = fixture
            .store
            .change(&fixture.queue, Change::Cancel, &all, from)
            .await?;
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    fixture.fill(&["live"]).await?;

    let filter = Filter {
        state: Some(JobState::Cancelled),
        ..Filter::default()
    };
    assert_eq!(delete_all(fixture, filter).await?, 1100);

    assert_eq!(fixture.snapshot().await?.jobs.len(), 1);
    Ok(())
}

pub async fn dead_jobs_of_a_kind_are_retried_together(fixture: &Fixture) -> Result<()> {
    let mail = Kind::new("mail")?;
    for name in ["a", "b"] {
        fixture.kill(named(name).kind(mail.clone())).await?;
    }
    fixture
        .kill(named("other").kind(Kind::new("other")?))
        .await?;

    let target = Target::Filter(Filter {
        state: Some(JobState::Dead),
        kind: Some(mail),
        ..Filter::default()
    });
    let changes = fixture
        .store
        .change(&fixture.queue, Change::Retry, &target, None)
        .await?;

    assert_eq!(changes.items.len(), 2);
    assert!(changes.items.iter().all(|job| job.changed == Changed::Done));
    let mut ready = fixture.ready().await?;
    ready.sort();
    assert_eq!(ready, ["a", "b"]);
    Ok(())
}

pub async fn a_purge_removes_all_that_wait_in_pages(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["running"]).await?;
    let held = fixture.take(1).await?;
    fixture.kill(named("dead")).await?;
    fixture.enqueue_all(numbered(800)).await?;
    let later = (0..700).map(|n| named(&format!("later {n}")).delay(secs(5)));
    fixture.enqueue_all(later.collect()).await?;

    let mut removed = Vec::new();
    while removed.last() != Some(&0) {
        removed.push(fixture.store.purge(&fixture.queue).await?);
    }

    assert_eq!(removed.iter().sum::<u64>(), 1500);
    assert!(
        removed.iter().all(|count| *count <= SCAN_PAGE as u64),
        "{removed:?}"
    );
    let dump = fixture.snapshot().await?;
    assert_eq!(
        (dump.stats.running, dump.stats.dead, dump.jobs.len()),
        (1, 1, 2)
    );
    assert_eq!(fixture.complete(&held).await?, OutcomeStatus::Completed);
    Ok(())
}

pub async fn a_purged_id_may_be_used_again(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;

    fixture.store.purge(&fixture.queue).await?;

    assert!(fixture.snapshot().await?.tombstones.is_empty());
    assert!(!fixture.enqueue(named("a")).await?.is_duplicate());
    assert_eq!(fixture.next(10).await?, ["a"]);
    Ok(())
}

pub async fn a_queue_without_jobs_is_deleted_with_all_it_remembers(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("dead_age=1h").await?;
    fixture.store.set_paused(&fixture.queue, true).await?;
    fixture.fill(&["a"]).await?;
    fixture.store.set_paused(&fixture.queue, false).await?;
    let claim = fixture.take(1).await?;
    fixture.complete(&claim).await?;
    assert!(fixture.enqueue(named("a")).await?.is_duplicate());

    let deleted = fixture.store.delete_queue(&fixture.queue).await?;

    assert_eq!(deleted, QueueDeletion::Deleted);
    assert!(!fixture.store.queues().await?.contains(&fixture.queue));
    assert_eq!(fixture.store.stats(&fixture.queue).await?, None);
    let settings = fixture.store.settings(&fixture.queue).await?;
    assert_eq!(settings, Settings::default());
    assert!(fixture.dump().await?.is_none());
    assert_eq!(fixture.complete(&claim).await?, OutcomeStatus::Gone);
    let again = fixture.store.delete_queue(&fixture.queue).await?;
    assert_eq!(again, QueueDeletion::NotFound);

    // It is created like any other queue.
    assert!(!fixture.enqueue(named("a")).await?.is_duplicate());
    assert_eq!(fixture.next(1).await?, ["a"]);
    assert!(fixture.store.queues().await?.contains(&fixture.queue));
    assert_eq!(fixture.snapshot().await?.stats.total.enqueued, 1);
    Ok(())
}

pub async fn a_queue_with_jobs_is_not_deleted(fixture: &Fixture) -> Result<()> {
    let delete = || fixture.store.delete_queue(&fixture.queue);
    fixture.fill(&["a"]).await?;
    assert_eq!(delete().await?, QueueDeletion::HasJobs);
    fixture.take(1).await?;
    assert_eq!(delete().await?, QueueDeletion::HasJobs);
    fixture.outlast_lease();
    fixture.maintain().await?;
    fixture.cancel("a").await?;
    assert_eq!(fixture.state("a").await?, Some(JobState::Cancelled));
    assert_eq!(delete().await?, QueueDeletion::HasJobs);

    fixture.delete("a").await?;

    assert_eq!(delete().await?, QueueDeletion::Deleted);
    Ok(())
}

pub async fn changes_to_a_missing_queue_do_not_create_it(fixture: &Fixture) -> Result<()> {
    assert_eq!(fixture.cancel("a").await?, Changed::NotFound);
    assert_eq!(fixture.retry("a").await?, Changed::NotFound);
    assert_eq!(fixture.delete("a").await?, Changed::NotFound);
    assert_eq!(fixture.promote("a").await?, Changed::NotFound);
    assert_eq!(fixture.store.purge(&fixture.queue).await?, 0);
    assert!(fixture.maintain().await?.is_idle());
    assert_eq!(fixture.get("a").await?, None);

    assert_eq!(fixture.dump().await?, None);
    Ok(())
}

pub async fn a_filter_meets_the_dead_in_the_order_they_died(fixture: &Fixture) -> Result<()> {
    for name in ["c", "a", "b"] {
        fixture.kill(named(name)).await?;
        fixture.advance(secs(1));
    }
    let dead = Target::Filter(Filter {
        state: Some(JobState::Dead),
        ..Filter::default()
    });

    fixture
        .store
        .change(&fixture.queue, Change::Retry, &dead, None)
        .await?;

    assert_eq!(fixture.ready().await?, ["c", "a", "b"]);
    Ok(())
}
