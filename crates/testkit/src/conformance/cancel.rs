//! Cancel: waiting jobs end at once, running ones are asked to stop.

use windlass_core::{
    Changed, ChangedJob, Due, Filter, JobState, Kind, NewJob, Result, Retry, Settled, Target,
};

use crate::bench::{Bench, boot, hold, holds, id, named, secs};

/// A claim on the job `a`, which has been asked to stop.
async fn asked_to_stop(bench: &Bench) -> Result<windlass_core::Claim> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;
    assert_eq!(bench.cancel("a").await?, Changed::WillStop);
    Ok(claim)
}

pub async fn a_waiting_job_is_cancelled_at_once(bench: &Bench) -> Result<()> {
    bench.fill(&["ready"]).await?;
    bench.enqueue(named("scheduled").delay(secs(1))).await?;

    assert_eq!(bench.cancel("ready").await?, Changed::Done);
    assert_eq!(bench.cancel("scheduled").await?, Changed::Done);

    for name in ["ready", "scheduled"] {
        let job = bench.job(name).await?;
        assert_eq!(
            (job.state, job.finished_at),
            (JobState::Cancelled, Some(bench.now()))
        );
    }
    bench.advance(secs(2));
    assert_eq!(bench.claim(10).await?, None);
    assert_eq!(bench.whole().await?.stats.total.cancelled, 2);
    Ok(())
}

pub async fn a_running_jobs_holder_learns_of_it_by_renewing(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c"]).await?;
    let worker = boot("worker");
    let claim = bench.take_as(&worker, 1, 3).await?;
    bench.cancel("c").await?;
    bench.cancel("a").await?;

    let renewed = bench.renew_as(&worker, &[claim.token], 1).await?;

    assert_eq!(renewed.cancel, [id("a"), id("c")]);
    assert!(renewed.lost.is_empty() && renewed.until.is_some());
    let job = bench.job("a").await?;
    assert!(job.is_cancel_requested && job.state == JobState::Running);
    Ok(())
}

pub async fn a_single_holder_learns_of_it_by_renewing(bench: &Bench) -> Result<()> {
    let claim = asked_to_stop(bench).await?;

    assert_eq!(bench.renew(claim.token).await?.cancel, [id("a")]);
    Ok(())
}

pub async fn asking_again_changes_nothing(bench: &Bench) -> Result<()> {
    asked_to_stop(bench).await?;
    let before = bench.whole().await?;

    assert_eq!(bench.cancel("a").await?, Changed::WillStop);

    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn completing_wins_over_cancelling(bench: &Bench) -> Result<()> {
    let claim = asked_to_stop(bench).await?;

    assert_eq!(
        bench.complete_with(hold(&claim, 0), "done").await?,
        Settled::Completed
    );

    assert_eq!(bench.state("a").await?, Some(JobState::Succeeded));
    Ok(())
}

pub async fn a_failed_job_asked_to_stop_is_cancelled(bench: &Bench) -> Result<()> {
    let claim = asked_to_stop(bench).await?;

    let settled = bench.fail(hold(&claim, 0), Retry::At(Due::Now)).await?;

    assert_eq!(settled, Settled::Cancelled);
    assert_eq!(bench.state("a").await?, Some(JobState::Cancelled));
    assert_eq!(
        bench.fail(hold(&claim, 0), Retry::At(Due::Now)).await?,
        Settled::Cancelled
    );
    Ok(())
}

pub async fn a_released_job_asked_to_stop_is_cancelled(bench: &Bench) -> Result<()> {
    let claim = asked_to_stop(bench).await?;

    assert_eq!(bench.release(hold(&claim, 0)).await?, Settled::Cancelled);

    assert_eq!(bench.state("a").await?, Some(JobState::Cancelled));
    assert_eq!(bench.release(hold(&claim, 0)).await?, Settled::Cancelled);
    Ok(())
}

pub async fn a_snoozed_job_asked_to_stop_is_cancelled(bench: &Bench) -> Result<()> {
    let claim = asked_to_stop(bench).await?;

    assert_eq!(
        bench.snooze(hold(&claim, 0), Due::Now).await?,
        Settled::Cancelled
    );

    assert_eq!(bench.state("a").await?, Some(JobState::Cancelled));
    Ok(())
}

pub async fn a_reaped_job_asked_to_stop_is_cancelled(bench: &Bench) -> Result<()> {
    asked_to_stop(bench).await?;

    bench.outlast_lease();
    bench.maintain().await?;

    assert_eq!(bench.state("a").await?, Some(JobState::Cancelled));
    assert_eq!(bench.claim(1).await?, None);
    Ok(())
}

pub async fn a_job_asked_to_stop_is_cancelled_when_its_worker_leaves(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let worker = boot("worker");
    bench.take_as(&worker, 1, 1).await?;
    bench.cancel("a").await?;

    bench.store.leave(&worker, Some(&bench.queue)).await?;

    assert_eq!(bench.state("a").await?, Some(JobState::Cancelled));
    Ok(())
}

pub async fn an_ended_job_cannot_be_cancelled(bench: &Bench) -> Result<()> {
    bench.kill(named("dead")).await?;
    bench.fill(&["cancelled"]).await?;
    bench.cancel("cancelled").await?;
    bench.fill(&["succeeded"]).await?;
    bench
        .complete_with(hold(&bench.take(1).await?, 0), "kept")
        .await?;
    let before = bench.whole().await?;

    assert_eq!(
        bench.cancel("dead").await?,
        Changed::WrongState(JobState::Dead)
    );
    assert_eq!(
        bench.cancel("cancelled").await?,
        Changed::WrongState(JobState::Cancelled)
    );
    assert_eq!(
        bench.cancel("succeeded").await?,
        Changed::WrongState(JobState::Succeeded)
    );
    assert_eq!(bench.cancel("nobody").await?, Changed::NotFound);

    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn every_id_named_has_its_answer_in_order(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    bench.take(1).await?;

    let target = Target::Ids(vec![id("b"), id("nobody"), id("a")]);
    let changes = bench.store.cancel(&bench.queue, &target, None).await?;

    let told = |name: &str, changed| ChangedJob {
        id: Some(id(name)),
        changed,
    };
    assert_eq!(
        changes.items,
        [
            told("b", Changed::Done),
            told("nobody", Changed::NotFound),
            told("a", Changed::WillStop),
        ]
    );
    assert_eq!(changes.next, None);
    Ok(())
}

pub async fn the_holder_of_a_unique_key_is_cancelled_by_it(bench: &Bench) -> Result<()> {
    bench.enqueue(named("a").unique_key("key".parse()?)).await?;
    let target = Target::UniqueKey("key".parse()?);

    let changes = bench.store.cancel(&bench.queue, &target, None).await?;
    assert_eq!(
        changes.items,
        [ChangedJob {
            id: Some(id("a")),
            changed: Changed::Done
        }]
    );

    let changes = bench.store.cancel(&bench.queue, &target, None).await?;
    assert_eq!(
        changes.items,
        [ChangedJob {
            id: None,
            changed: Changed::NotFound
        }]
    );
    Ok(())
}

/// Cancels over all pages and answers how many (were cancelled, will stop).
async fn cancel_all(bench: &Bench, target: &Target) -> Result<(usize, usize)> {
    let mut counts = (0, 0);
    let mut from = None;
    loop {
        let page = bench.store.cancel(&bench.queue, target, from).await?;
        let count = |what| page.items.iter().filter(|job| job.changed == what).count();
        counts.0 += count(Changed::Done);
        counts.1 += count(Changed::WillStop);
        from = page.next;
        if from.is_none() {
            return Ok(counts);
        }
    }
}

pub async fn every_job_with_equal_bytes_is_cancelled_by_them(bench: &Bench) -> Result<()> {
    let twin = |name: &str| NewJob::new("twin").id(id(name));
    bench
        .enqueue_all(vec![twin("running"), named("other")])
        .await?;
    let claim = bench.take(1).await?;
    bench
        .enqueue_all(vec![twin("ready"), twin("scheduled").delay(secs(5))])
        .await?;
    bench
        .enqueue(NewJob::new("twin more").id(id("longer")))
        .await?;

    let counts = cancel_all(bench, &Target::Payload("twin".into())).await?;

    assert_eq!(counts, (2, 1));
    assert_eq!(bench.ready().await?, ["other", "longer"]);
    assert_eq!(bench.renew(claim.token).await?.cancel, [id("running")]);
    Ok(())
}

pub async fn many_jobs_are_cancelled_in_pages(bench: &Bench) -> Result<()> {
    let jobs = (0..1200).map(|_| NewJob::new("same")).collect();
    bench.enqueue_all(jobs).await?;
    let claim = bench.take(100).await?;

    let counts = cancel_all(bench, &Target::Payload("same".into())).await?;

    assert_eq!(counts, (1100, 100));
    assert_eq!(bench.claim(1).await?, None);
    let answers = bench.store.release(&bench.queue, holds(&claim)).await?;
    assert!(answers.iter().all(|settled| *settled == Settled::Cancelled));
    assert_eq!(bench.whole().await?.stats.cancelled, 1200);
    Ok(())
}

pub async fn jobs_are_cancelled_by_state_and_kind(bench: &Bench) -> Result<()> {
    let mail = Kind::new("mail")?;
    bench.fill(&["plain"]).await?;
    bench.enqueue(named("mail").kind(mail.clone())).await?;
    bench
        .enqueue(named("later mail").kind(mail.clone()).delay(secs(5)))
        .await?;

    let filter = Filter {
        state: Some(JobState::Ready),
        kind: Some(mail),
    };
    let counts = cancel_all(bench, &Target::Filter(filter)).await?;

    assert_eq!(counts, (1, 0));
    assert_eq!(bench.in_state(JobState::Cancelled).await?, ["mail"]);
    Ok(())
}
