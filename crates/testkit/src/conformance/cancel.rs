//! Cancel: waiting jobs are cancelled at once, running ones are asked to stop.

use windlass_core::store::{Changed, ChangedJob, Kind, Retry};
use windlass_core::{Change, Due, Filter, JobState, NewJob, OutcomeStatus, Result, Target};

use crate::fixture::{Fixture, boot, id, leases_of, named, secs};

/// Claims the job `a` and requests its cancellation.
async fn asked_to_stop(fixture: &Fixture) -> Result<windlass_core::Claim> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    assert_eq!(fixture.cancel("a").await?, Changed::WillStop);
    Ok(claim)
}

pub async fn a_waiting_job_is_cancelled_at_once(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["ready"]).await?;
    fixture.enqueue(named("scheduled").delay(secs(1))).await?;

    assert_eq!(fixture.cancel("ready").await?, Changed::Done);
    assert_eq!(fixture.cancel("scheduled").await?, Changed::Done);

    for name in ["ready", "scheduled"] {
        let job = fixture.job(name).await?;
        assert_eq!(
            (job.state, job.finished_at),
            (JobState::Cancelled, Some(fixture.now()))
        );
    }
    fixture.advance(secs(2));
    assert_eq!(fixture.claim(10).await?, None);
    assert_eq!(fixture.snapshot().await?.stats.total.cancelled, 2);
    Ok(())
}

pub async fn a_running_jobs_holder_learns_of_it_by_renewing(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c"]).await?;
    let worker = boot("worker");
    let claim = fixture.take_as(&worker, 1, 3).await?;
    fixture.cancel("c").await?;
    fixture.cancel("a").await?;

    let renewed = fixture.renew_as(&worker, &[claim.token], 1).await?;

    assert_eq!(renewed.cancel, [id("a"), id("c")]);
    assert!(renewed.lost.is_empty() && renewed.until.is_some());
    let job = fixture.job("a").await?;
    assert!(job.is_cancel_requested && job.state == JobState::Running);
    Ok(())
}

pub async fn a_single_holder_learns_of_it_by_renewing(fixture: &Fixture) -> Result<()> {
    let claim = asked_to_stop(fixture).await?;

    assert_eq!(fixture.renew(claim.token).await?.cancel, [id("a")]);
    Ok(())
}

pub async fn asking_again_changes_nothing(fixture: &Fixture) -> Result<()> {
    asked_to_stop(fixture).await?;
    let before = fixture.snapshot().await?;

    assert_eq!(fixture.cancel("a").await?, Changed::WillStop);

    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn completing_wins_over_cancelling(fixture: &Fixture) -> Result<()> {
    let claim = asked_to_stop(fixture).await?;

    assert_eq!(
        fixture.complete_with(&claim, "done").await?,
        OutcomeStatus::Completed
    );

    assert_eq!(fixture.state("a").await?, Some(JobState::Succeeded));
    Ok(())
}

pub async fn a_failed_job_asked_to_stop_is_cancelled(fixture: &Fixture) -> Result<()> {
    let claim = asked_to_stop(fixture).await?;

    let status = fixture.fail(&claim, Retry::At(Due::Now)).await?;

    assert_eq!(status, OutcomeStatus::Cancelled);
    assert_eq!(fixture.state("a").await?, Some(JobState::Cancelled));
    assert_eq!(
        fixture.fail(&claim, Retry::At(Due::Now)).await?,
        OutcomeStatus::Cancelled
    );
    Ok(())
}

pub async fn a_released_job_asked_to_stop_is_cancelled(fixture: &Fixture) -> Result<()> {
    let claim = asked_to_stop(fixture).await?;

    assert_eq!(fixture.release(&claim).await?, OutcomeStatus::Cancelled);

    assert_eq!(fixture.state("a").await?, Some(JobState::Cancelled));
    assert_eq!(fixture.release(&claim).await?, OutcomeStatus::Cancelled);
    Ok(())
}

pub async fn a_snoozed_job_asked_to_stop_is_cancelled(fixture: &Fixture) -> Result<()> {
    let claim = asked_to_stop(fixture).await?;

    assert_eq!(
        fixture.snooze(&claim, Due::Now).await?,
        OutcomeStatus::Cancelled
    );

    assert_eq!(fixture.state("a").await?, Some(JobState::Cancelled));
    Ok(())
}

pub async fn a_reaped_job_asked_to_stop_is_cancelled(fixture: &Fixture) -> Result<()> {
    asked_to_stop(fixture).await?;

    fixture.outlast_lease();
    fixture.maintain().await?;

    assert_eq!(fixture.state("a").await?, Some(JobState::Cancelled));
    assert_eq!(fixture.claim(1).await?, None);
    Ok(())
}

pub async fn a_job_asked_to_stop_is_cancelled_when_its_worker_leaves(
    fixture: &Fixture,
) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let worker = boot("worker");
    fixture.take_as(&worker, 1, 1).await?;
    fixture.cancel("a").await?;

    fixture.store.leave(&worker, Some(&fixture.queue)).await?;

    assert_eq!(fixture.state("a").await?, Some(JobState::Cancelled));
    Ok(())
}

pub async fn an_ended_job_cannot_be_cancelled(fixture: &Fixture) -> Result<()> {
    fixture.kill(named("dead")).await?;
    fixture.fill(&["cancelled"]).await?;
    fixture.cancel("cancelled").await?;
    fixture.fill(&["succeeded"]).await?;
    fixture
        .complete_with(&fixture.take(1).await?, "kept")
        .await?;
    let before = fixture.snapshot().await?;

    assert_eq!(
        fixture.cancel("dead").await?,
        Changed::WrongState(JobState::Dead)
    );
    assert_eq!(
        fixture.cancel("cancelled").await?,
        Changed::WrongState(JobState::Cancelled)
    );
    assert_eq!(
        fixture.cancel("succeeded").await?,
        Changed::WrongState(JobState::Succeeded)
    );
    assert_eq!(fixture.cancel("missing").await?, Changed::NotFound);

    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn every_id_named_has_its_answer_in_order(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b"]).await?;
    fixture.take(1).await?;

    let target = Target::Ids(vec![id("b"), id("missing"), id("a")]);
    let changes = fixture
        .store
        .change(&fixture.queue, Change::Cancel, &target, None)
        .await?;

    let reply = |name: &str, changed| ChangedJob {
        id: Some(id(name)),
        changed,
    };
    assert_eq!(
        changes.items,
        [
            reply("b", Changed::Done),
            reply("missing", Changed::NotFound),
            reply("a", Changed::WillStop),
        ]
    );
    assert_eq!(changes.next, None);
    Ok(())
}

pub async fn the_holder_of_a_unique_key_is_cancelled_by_it(fixture: &Fixture) -> Result<()> {
    fixture
        .enqueue(named("a").unique_key("key".parse()?))
        .await?;
    let target = Target::UniqueKey("key".parse()?);

    let changes = fixture
        .store
        .change(&fixture.queue, Change::Cancel, &target, None)
        .await?;
    assert_eq!(
        changes.items,
        [ChangedJob {
            id: Some(id("a")),
            changed: Changed::Done
        }]
    );

    let changes = fixture
        .store
        .change(&fixture.queue, Change::Cancel, &target, None)
        .await?;
    assert_eq!(
        changes.items,
        [ChangedJob {
            id: None,
            changed: Changed::NotFound
        }]
    );
    Ok(())
}

/// Cancels all pages. Returns the number of jobs (cancelled, that will stop).
async fn cancel_all(fixture: &Fixture, target: &Target) -> Result<(usize, usize)> {
    let mut counts = (0, 0);
    let mut from = None;
    loop {
        let page = fixture
            .store
            .change(&fixture.queue, Change::Cancel, target, from)
            .await?;
        let count = |what| page.items.iter().filter(|job| job.changed == what).count();
        counts.0 += count(Changed::Done);
        counts.1 += count(Changed::WillStop);
        from = page.next;
        if from.is_none() {
            return Ok(counts);
        }
    }
}

pub async fn every_job_with_equal_bytes_is_cancelled_by_them(fixture: &Fixture) -> Result<()> {
    let twin = |name: &str| NewJob::new("twin").id(id(name));
    fixture
        .enqueue_all(vec![twin("running"), named("other")])
        .await?;
    let claim = fixture.take(1).await?;
    fixture
        .enqueue_all(vec![twin("ready"), twin("scheduled").delay(secs(5))])
        .await?;
    fixture
        .enqueue(NewJob::new("twin more").id(id("longer")))
        .await?;

    let counts = cancel_all(fixture, &Target::Payload("twin".into())).await?;

    assert_eq!(counts, (2, 1));
    assert_eq!(fixture.ready().await?, ["other", "longer"]);
    assert_eq!(fixture.renew(claim.token).await?.cancel, [id("running")]);
    Ok(())
}

pub async fn many_jobs_are_cancelled_in_pages(fixture: &Fixture) -> Result<()> {
    let jobs = (0..1200).map(|_| NewJob::new("same")).collect();
    fixture.enqueue_all(jobs).await?;
    let claim = fixture.take(100).await?;

    let counts = cancel_all(fixture, &Target::Payload("same".into())).await?;

    assert_eq!(counts, (1100, 100));
    assert_eq!(fixture.claim(1).await?, None);
    let replies = fixture
        .store
        .release(&fixture.queue, leases_of(&claim))
        .await?;
    assert!(
        replies
            .iter()
            .all(|status| *status == OutcomeStatus::Cancelled)
    );
    assert_eq!(fixture.snapshot().await?.stats.cancelled, 1200);
    Ok(())
}

pub async fn jobs_are_cancelled_by_state_and_kind(fixture: &Fixture) -> Result<()> {
    let mail = Kind::new("mail")?;
    fixture.fill(&["plain"]).await?;
    fixture.enqueue(named("mail").kind(mail.clone())).await?;
    fixture
        .enqueue(named("later mail").kind(mail.clone()).delay(secs(5)))
        .await?;

    let filter = Filter {
        state: Some(JobState::Ready),
        kind: Some(mail),
        ..Filter::default()
    };
    let counts = cancel_all(fixture, &Target::Filter(filter)).await?;

    assert_eq!(counts, (1, 0));
    assert_eq!(fixture.in_state(JobState::Cancelled).await?, ["mail"]);
    Ok(())
}
