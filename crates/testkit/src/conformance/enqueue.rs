//! Enqueue: new jobs and deduplication by id.

use windlass_core::store::{Headers, Kind};
use windlass_core::{Due, Enqueued, JobState, NewJob, Priority, Result, RetryPolicy};

use crate::fixture::{Fixture, almost, duplicate_of, id, ms, named, queue, secs};

pub async fn a_new_job_is_accepted_and_ready(fixture: &Fixture) -> Result<()> {
    let reply = fixture.enqueue(named("a")).await?;

    assert!(matches!(
        &reply,
        Enqueued::Accepted { id: accepted, state: JobState::Ready, .. } if *accepted == id("a")
    ));
    let job = fixture.job("a").await?;
    assert_eq!(job.state, JobState::Ready);
    assert_eq!((job.attempt, job.expiries), (1, 0));
    assert_eq!((job.created_at, job.due_at), (fixture.now(), fixture.now()));
    assert_eq!((job.started_at, job.finished_at), (None, None));
    Ok(())
}

pub async fn a_delayed_job_is_accepted_as_scheduled(fixture: &Fixture) -> Result<()> {
    let reply = fixture.enqueue(named("a").delay(secs(5))).await?;

    assert_eq!(reply.state(), JobState::Scheduled);
    let job = fixture.job("a").await?;
    assert_eq!(
        (job.state, job.due_at),
        (JobState::Scheduled, fixture.now().plus(secs(5)))
    );
    Ok(())
}

pub async fn a_due_time_in_the_past_is_now(fixture: &Fixture) -> Result<()> {
    let past = fixture.now();
    fixture.advance(secs(60));

    let reply = fixture.enqueue(named("a").at(past)).await?;

    assert_eq!(reply.state(), JobState::Ready);
    assert_eq!(fixture.job("a").await?.due_at, fixture.now());
    Ok(())
}

pub async fn every_field_of_a_job_is_kept(fixture: &Fixture) -> Result<()> {
    let mut headers = Headers::default();
    headers.set("Content-Type", "text/plain")?;
    let retry = RetryPolicy::exponential(secs(3), secs(90)).max_attempts(7);
    let new = NewJob::new("payload")
        .id(id("räksmörgås"))
        .kind(Kind::new("mail")?)
        .priority(Priority::new(2)?)
        .retry(retry)
        .timeout(secs(40))
        .expires(Due::After(secs(600)))
        .unique_key("one at a time".parse()?)
        .headers(headers.clone())
        .keep_outcome();

    fixture.enqueue(new.clone()).await?;

    let job = fixture.job("räksmörgås").await?;
    assert_eq!(job.queue, fixture.queue);
    assert_eq!(job.payload.as_deref(), Some(&b"payload"[..]));
    assert_eq!(
        (job.kind, job.priority, job.retry),
        (new.kind, new.priority, retry)
    );
    assert_eq!(
        (job.timeout, job.unique_key),
        (Some(secs(40)), new.unique_key)
    );
    assert_eq!(job.expires_at, Some(fixture.now().plus(secs(600))));
    assert_eq!(job.headers, headers);
    assert!(job.is_named && job.keep_outcome);

    let handed = fixture.take(1).await?.jobs.remove(0);
    assert_eq!(
        (handed.kind, handed.priority, handed.retry),
        (job_kind()?, new.priority, retry)
    );
    assert_eq!((handed.headers, handed.timeout), (headers, Some(secs(40))));
    assert_eq!(
        (handed.created_at, handed.due_at),
        (fixture.now(), fixture.now())
    );
    Ok(())
}

fn job_kind() -> Result<Option<Kind>> {
    Kind::new("mail").map(Some)
}

pub async fn the_same_id_is_the_same_job(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("a")).await?;
    let before = fixture.snapshot().await?;

    let again = fixture
        .enqueue(NewJob::new("other bytes").id(id("a")))
        .await?;

    assert_eq!(duplicate_of(&again), Some((id("a"), JobState::Ready)));
    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn a_duplicate_returns_the_first_jobs_state(fixture: &Fixture) -> Result<()> {
    let again =
        || async { Ok::<_, windlass_core::Error>(fixture.enqueue(named("a")).await?.state()) };
    fixture.enqueue(named("a").delay(secs(1))).await?;
    assert_eq!(again().await?, JobState::Scheduled);

    fixture.promote("a").await?;
    assert_eq!(again().await?, JobState::Ready);

    let claim = fixture.take(1).await?;
    assert_eq!(again().await?, JobState::Running);

    fixture.complete(&claim).await?;
    assert_eq!(again().await?, JobState::Succeeded);
    Ok(())
}

pub async fn a_duplicate_of_an_ended_job_returns_how_it_ended(fixture: &Fixture) -> Result<()> {
    fixture.kill(named("dead")).await?;
    fixture.enqueue(named("cancelled")).await?;
    fixture.cancel("cancelled").await?;
    fixture.enqueue(named("kept")).await?;
    fixture
        .complete_with(&fixture.take(1).await?, "result")
        .await?;

    for (name, state) in [
        ("dead", JobState::Dead),
        ("cancelled", JobState::Cancelled),
        ("kept", JobState::Succeeded),
    ] {
        let again = fixture.enqueue(named(name)).await?;
        assert_eq!(duplicate_of(&again), Some((id(name), state)), "{name}");
    }
    Ok(())
}

pub async fn each_job_of_a_batch_has_its_own_reply(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("old")).await?;

    let batch = vec![
        named("a"),
        named("old"),
        named("b").delay(secs(1)),
        named("a"),
    ];
    let replies = fixture.enqueue_all(batch).await?;

    let reply: Vec<_> = replies
        .iter()
        .map(|a| (a.id().as_str(), a.is_duplicate()))
        .collect();
    assert_eq!(
        reply,
        [("a", false), ("old", true), ("b", false), ("a", true)]
    );
    assert_eq!(fixture.ready().await?, ["old", "a"]);
    Ok(())
}

pub async fn an_id_is_remembered_for_an_hour_after_its_end(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("a")).await?;
    fixture.complete(&fixture.take(1).await?).await?;
    assert_eq!(fixture.get("a").await?, None);

    fixture.advance(almost(secs(3600)));
    assert!(fixture.enqueue(named("a")).await?.is_duplicate());

    fixture.advance(ms(1));
    assert!(!fixture.enqueue(named("a")).await?.is_duplicate());
    Ok(())
}

pub async fn an_id_is_remembered_when_its_job_is_no_longer_kept(fixture: &Fixture) -> Result<()> {
    fixture.set("dead_age=1s").await?;
    fixture.kill(named("a")).await?;

    fixture.advance(secs(2));
    fixture.maintain().await?;

    assert_eq!(fixture.get("a").await?, None);
    assert_eq!(fixture.enqueue(named("a")).await?.state(), JobState::Dead);
    Ok(())
}

pub async fn dedup_for_sets_how_long_an_id_is_remembered(fixture: &Fixture) -> Result<()> {
    fixture.set("dedup_for=10s").await?;
    fixture.enqueue(named("a")).await?;
    fixture.complete(&fixture.take(1).await?).await?;

    fixture.advance(almost(secs(10)));
    assert!(fixture.enqueue(named("a")).await?.is_duplicate());

    fixture.advance(ms(1));
    assert!(!fixture.enqueue(named("a")).await?.is_duplicate());
    Ok(())
}

pub async fn dedup_max_bounds_the_ids_remembered(fixture: &Fixture) -> Result<()> {
    fixture.set("dedup_max=2").await?;
    for name in ["first", "second", "third"] {
        fixture.enqueue(named(name)).await?;
        fixture.complete(&fixture.take(1).await?).await?;
        fixture.advance(ms(1));
    }

    assert_eq!(fixture.snapshot().await?.tombstones.len(), 2);
    assert!(!fixture.enqueue(named("first")).await?.is_duplicate());
    assert!(fixture.enqueue(named("second")).await?.is_duplicate());
    assert!(fixture.enqueue(named("third")).await?.is_duplicate());
    Ok(())
}

pub async fn a_generated_id_is_forgotten_at_its_end(fixture: &Fixture) -> Result<()> {
    let job = NewJob::new("a");
    fixture.enqueue(job.clone()).await?;
    assert!(fixture.enqueue(job.clone()).await?.is_duplicate());

    fixture.complete(&fixture.take(1).await?).await?;

    assert!(fixture.snapshot().await?.tombstones.is_empty());
    assert!(!fixture.enqueue(job).await?.is_duplicate());
    Ok(())
}

pub async fn an_id_belongs_to_its_queue(fixture: &Fixture) -> Result<()> {
    let other = queue(&format!("{}.other", fixture.queue));
    fixture.enqueue(named("a")).await?;

    let replies = fixture.store.enqueue(&other, vec![named("a")]).await?;

    assert!(!replies[0].is_duplicate());
    assert_eq!(fixture.next(10).await?, ["a"]);
    Ok(())
}

pub async fn waiting_for_a_job_that_was_there_before_keeps_its_outcome(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue(named("a")).await?;
    fixture.enqueue(named("a").keep_outcome()).await?;
    let claim = fixture.take(1).await?;

    fixture.complete(&claim).await?;

    assert_eq!(fixture.state("a").await?, Some(JobState::Succeeded));
    Ok(())
}
