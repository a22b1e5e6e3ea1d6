//! Operating a queue: retry, delete, promote and purge.

use windlass_core::limits::SCAN_PAGE;
use windlass_core::{
    Changed, Due, Filter, JobState, Kind, NewJob, Result, RetryPolicy, Settled, Target,
};

use crate::bench::{Bench, duplicate_of, hold, id, named, numbered, secs};

pub async fn a_retried_job_begins_anew(bench: &Bench) -> Result<()> {
    let policy = RetryPolicy::fixed(secs(0)).max_attempts(2);
    bench
        .enqueue(named("a").retry(policy).expires(Due::After(secs(60))))
        .await?;
    for _ in 0..2 {
        let claim = bench.take(1).await?;
        bench
            .store
            .fail(&bench.queue, vec![hold(&claim, 0).failure("no")])
            .await?;
    }
    assert_eq!(bench.state("a").await?, Some(JobState::Dead));
    bench.advance(secs(120));

    assert_eq!(bench.retry("a").await?, Changed::Done);

    let job = bench.job("a").await?;
    assert_eq!(
        (job.state, job.attempt, job.expiries),
        (JobState::Ready, 1, 0)
    );
    assert_eq!((job.error, job.reason, job.finished_at), (None, None, None));
    assert_eq!(job.expires_at, None);
    assert_eq!(bench.next(1).await?, ["a"]);
    Ok(())
}

pub async fn only_a_dead_job_is_retried(bench: &Bench) -> Result<()> {
    bench.fill(&["running", "ready"]).await?;
    bench.take(1).await?;
    bench.enqueue(named("scheduled").delay(secs(5))).await?;
    bench.fill(&["cancelled"]).await?;
    bench.cancel("cancelled").await?;
    let before = bench.whole().await?;

    for state in [
        JobState::Running,
        JobState::Ready,
        JobState::Scheduled,
        JobState::Cancelled,
    ] {
        assert_eq!(
            bench.retry(state.as_str()).await?,
            Changed::WrongState(state)
        );
    }
    assert_eq!(bench.retry("nobody").await?, Changed::NotFound);

    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn a_retried_job_is_live_for_duplicates(bench: &Bench) -> Result<()> {
    bench.kill(named("a")).await?;
    bench.retry("a").await?;

    let again = bench.enqueue(named("a")).await?;

    assert_eq!(duplicate_of(&again), Some((id("a"), JobState::Ready)));
    Ok(())
}

pub async fn a_deleted_job_is_forgotten_with_its_id(bench: &Bench) -> Result<()> {
    bench.kill(named("a")).await?;

    assert_eq!(bench.delete("a").await?, Changed::Done);

    assert_eq!(bench.get("a").await?, None);
    let dump = bench.whole().await?;
    assert!(dump.jobs.is_empty() && dump.tombstones.is_empty());
    assert_eq!((dump.stats.dead, dump.stats.bytes), (0, 0));
    assert!(!bench.enqueue(named("a")).await?.is_duplicate());
    Ok(())
}

pub async fn an_id_that_is_only_remembered_is_forgotten_by_deleting_it(
    bench: &Bench,
) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench.complete(hold(&bench.take(1).await?, 0)).await?;
    assert!(bench.enqueue(named("a")).await?.is_duplicate());

    assert_eq!(bench.delete("a").await?, Changed::Done);

    assert!(!bench.enqueue(named("a")).await?.is_duplicate());
    Ok(())
}

pub async fn an_id_no_longer_remembered_is_not_found(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench.complete(hold(&bench.take(1).await?, 0)).await?;
    bench.advance(secs(3601));

    assert_eq!(bench.delete("a").await?, Changed::NotFound);
    Ok(())
}

pub async fn a_live_job_cannot_be_deleted(bench: &Bench) -> Result<()> {
    bench.fill(&["running", "ready"]).await?;
    bench.take(1).await?;
    bench.enqueue(named("scheduled").delay(secs(5))).await?;
    let before = bench.whole().await?;

    for state in [JobState::Running, JobState::Ready, JobState::Scheduled] {
        assert_eq!(
            bench.delete(state.as_str()).await?,
            Changed::WrongState(state)
        );
    }
    assert_eq!(bench.delete("nobody").await?, Changed::NotFound);

    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn a_scheduled_job_is_promoted_by_hand(bench: &Bench) -> Result<()> {
    bench.enqueue(named("a").delay(secs(60))).await?;

    assert_eq!(bench.promote("a").await?, Changed::Done);

    assert_eq!(bench.state("a").await?, Some(JobState::Ready));
    assert_eq!(
        bench.promote("a").await?,
        Changed::WrongState(JobState::Ready)
    );
    assert_eq!(bench.promote("nobody").await?, Changed::NotFound);
    assert_eq!(bench.next(1).await?, ["a"]);
    Ok(())
}

/// Deletes over all pages and answers how many were deleted.
async fn delete_all(bench: &Bench, filter: Filter) -> Result<usize> {
    let target = Target::Filter(filter);
    let mut count = 0;
    let mut from = None;
    loop {
        let page = bench.store.delete(&bench.queue, &target, from).await?;
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

pub async fn jobs_are_changed_by_filter_in_pages(bench: &Bench) -> Result<()> {
    bench
        .enqueue_all((0..1100).map(|_| NewJob::new("same")).collect())
        .await?;
    let all = Target::Payload("same".into());
    let mut from = None;
    loop {
        let page = bench.store.cancel(&bench.queue, &all, from).await?;
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    bench.fill(&["live"]).await?;

    let filter = Filter {
        state: Some(JobState::Cancelled),
        kind: None,
    };
    assert_eq!(delete_all(bench, filter).await?, 1100);

    assert_eq!(bench.whole().await?.jobs.len(), 1);
    Ok(())
}

pub async fn dead_jobs_of_a_kind_are_retried_together(bench: &Bench) -> Result<()> {
    let mail = Kind::new("mail")?;
    for name in ["a", "b"] {
        bench.kill(named(name).kind(mail.clone())).await?;
    }
    bench.kill(named("other").kind(Kind::new("other")?)).await?;

    let target = Target::Filter(Filter {
        state: Some(JobState::Dead),
        kind: Some(mail),
    });
    let changes = bench.store.retry(&bench.queue, &target, None).await?;

    assert_eq!(changes.items.len(), 2);
    assert!(changes.items.iter().all(|job| job.changed == Changed::Done));
    let mut ready = bench.ready().await?;
    ready.sort();
    assert_eq!(ready, ["a", "b"]);
    Ok(())
}

pub async fn a_purge_removes_all_that_wait_in_pages(bench: &Bench) -> Result<()> {
    bench.fill(&["running"]).await?;
    let held = bench.take(1).await?;
    bench.kill(named("dead")).await?;
    bench.enqueue_all(numbered(800)).await?;
    let later = (0..700).map(|n| named(&format!("later {n}")).delay(secs(5)));
    bench.enqueue_all(later.collect()).await?;

    let mut removed = Vec::new();
    while removed.last() != Some(&0) {
        removed.push(bench.store.purge(&bench.queue).await?);
    }

    assert_eq!(removed.iter().sum::<u64>(), 1500);
    assert!(
        removed.iter().all(|count| *count <= SCAN_PAGE as u64),
        "{removed:?}"
    );
    let dump = bench.whole().await?;
    assert_eq!(
        (dump.stats.running, dump.stats.dead, dump.jobs.len()),
        (1, 1, 2)
    );
    assert_eq!(bench.complete(hold(&held, 0)).await?, Settled::Completed);
    Ok(())
}

pub async fn a_purged_id_may_be_used_again(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;

    bench.store.purge(&bench.queue).await?;

    assert!(bench.whole().await?.tombstones.is_empty());
    assert!(!bench.enqueue(named("a")).await?.is_duplicate());
    assert_eq!(bench.next(10).await?, ["a"]);
    Ok(())
}

pub async fn changes_to_a_queue_that_never_was_make_none(bench: &Bench) -> Result<()> {
    assert_eq!(bench.cancel("a").await?, Changed::NotFound);
    assert_eq!(bench.retry("a").await?, Changed::NotFound);
    assert_eq!(bench.delete("a").await?, Changed::NotFound);
    assert_eq!(bench.promote("a").await?, Changed::NotFound);
    assert_eq!(bench.store.purge(&bench.queue).await?, 0);
    assert!(bench.maintain().await?.is_idle());
    assert_eq!(bench.get("a").await?, None);

    assert_eq!(bench.dump().await?, None);
    Ok(())
}

pub async fn a_filter_meets_the_dead_in_the_order_they_died(bench: &Bench) -> Result<()> {
    for name in ["c", "a", "b"] {
        bench.kill(named(name)).await?;
        bench.advance(secs(1));
    }
    let dead = Target::Filter(Filter {
        state: Some(JobState::Dead),
        kind: None,
    });

    bench.store.retry(&bench.queue, &dead, None).await?;

    assert_eq!(bench.ready().await?, ["c", "a", "b"]);
    Ok(())
}
