//! Runs the statements of a queue with groups.

use std::time::Duration;

use windlass_core::store::{GroupChange, GroupName, OnDuplicate, OwnLimit, Retry, SnoozeScope};
use windlass_core::{
    Change, Claim, ClaimRequest, Due, Filter, JobId, JobState, ManualClock, NewJob, Priority,
    QueueName, Result, Store, Target,
};

use super::{explain_all, job_lease};
use crate::SqliteStore;

/// Claims in turn from groups that are full, closed, resting and paused, and lets jobs leave them in every way.
pub(super) async fn run(store: &SqliteStore, clock: &ManualClock) -> Result<()> {
    for slot in ["run", "job", "success"] {
        let q = QueueName::new(slot)?;
        let slot = format!("group_slot={slot}");
        let settings = [slot.as_str(), "group_rate=2/1m", "group_burst=2"];
        let settings = settings.map(|setting| setting.parse().unwrap());
        store.set(&q, settings.to_vec()).await?;
        leave(store, &q, clock).await?;
        change(store, &q, clock).await?;
        read(store, &q).await?;
        while store.purge(&q).await? > 0 {}
        clock.advance(Duration::from_secs(3600));
        store.maintain(&q, 100).await?;
    }
    Ok(())
}

fn group(n: usize) -> GroupName {
    GroupName::new(format!("group {n}")).unwrap()
}

fn job(n: usize) -> NewJob {
    let job = NewJob::new("x").id(JobId::new(format!("{n}")).unwrap());
    job.group(group(n % 4))
}

async fn claim(store: &SqliteStore, q: &QueueName) -> Result<Claim> {
    let claim = store.claim(q, ClaimRequest::single(9)).await?;
    Ok(claim.expect("jobs may start"))
}

async fn leave(store: &SqliteStore, q: &QueueName, clock: &ManualClock) -> Result<()> {
    store.enqueue(q, (0..40).map(job).collect()).await?;
    store.enqueue(q, vec![NewJob::new("no group")]).await?;
    let late = job(41).expires(Due::After(Duration::from_secs(1)));
    let late = late.priority(Priority::new(0)?);
    store.enqueue(q, vec![late]).await?;
    let held = claim(store, q).await?;
    assert!(held.jobs.len() >= 4, "{held:?}");
    let done = vec![job_lease(&held, 0).completion()];
    let next = Some(ClaimRequest::single(9));
    store.complete(q, done, next).await?;
    let later = Due::After(Duration::from_secs(5));
    let snooze = job_lease(&held, 1).snooze(later).scope(SnoozeScope::Group);
    store.snooze(q, vec![snooze]).await?;
    let mut failure = job_lease(&held, 2).failure("no");
    failure.retry = Retry::Permanent;
    store.fail(q, vec![failure]).await?;
    store.release(q, vec![job_lease(&held, 3)]).await?;
    store.stats(q).await?;
    clock.advance(Duration::from_secs(120));
    // Reaps the others.
    store.claim(q, ClaimRequest::single(9)).await?;
    Ok(())
}

async fn change(store: &SqliteStore, q: &QueueName, clock: &ManualClock) -> Result<()> {
    let states = [JobState::Dead, JobState::Scheduled, JobState::Ready];
    let changes = [Change::Retry, Change::Promote, Change::Cancel];
    for (state, change) in states.into_iter().zip(changes) {
        let all = Target::Filter(Filter {
            state: Some(state),
            ..Filter::default()
        });
        store.change(q, change, &all, None).await?;
        store.enqueue(q, (0..40).map(job).collect()).await?;
    }
    let moved = |n: usize| {
        let job = job(n)
            .group(group(n + 1))
            .on_duplicate(OnDuplicate::Replace);
        job.delay(Duration::from_secs(9))
    };
    store.enqueue(q, (0..40).map(moved).collect()).await?;
    for (is_paused, max) in [(Some(true), 1), (Some(false), 5), (None, 2)] {
        let change = GroupChange {
            is_paused,
            max_running: Some(OwnLimit::At(max)),
            ..GroupChange::default()
        };
        store.set_group(q, &group(1), change).await?;
    }
    clock.step_back(Duration::from_secs(10));
    store.claim(q, ClaimRequest::single(5)).await?;
    store.set(q, vec!["group_rate=none".parse()?]).await?;
    clock.advance(Duration::from_secs(120));
    store.claim(q, ClaimRequest::single(5)).await?;
    Ok(())
}

async fn read(store: &SqliteStore, q: &QueueName) -> Result<()> {
    store.stats(q).await?;
    store.group(q, &group(1)).await?;
    explain_all(store, q).await?;
    let page = store.groups(q, None, 1).await?;
    assert!(page.next.is_some());
    store.groups(q, page.next, 9).await?;
    let ready = Filter {
        state: Some(JobState::Ready),
        ..Filter::default()
    };
    let mut from = None;
    loop {
        let page = store.list(q, &ready, from, 2).await?;
        from = page.next;
        if from.is_none() {
            return Ok(());
        }
    }
}
