//! Enqueue: what is accepted, and what an id means.

use windlass_core::{
    Due, Enqueued, Headers, JobState, Kind, NewJob, Priority, Result, RetryPolicy,
};

use crate::bench::{Bench, almost, duplicate_of, hold, id, ms, named, queue, secs};

pub async fn a_new_job_is_accepted_and_ready(bench: &Bench) -> Result<()> {
    let answer = bench.enqueue(named("a")).await?;

    assert!(matches!(
        &answer,
        Enqueued::Accepted { id: accepted, state: JobState::Ready, .. } if *accepted == id("a")
    ));
    let job = bench.job("a").await?;
    assert_eq!(job.state, JobState::Ready);
    assert_eq!((job.attempt, job.expiries), (1, 0));
    assert_eq!((job.created_at, job.due_at), (bench.now(), bench.now()));
    assert_eq!((job.started_at, job.finished_at), (None, None));
    Ok(())
}

pub async fn a_delayed_job_is_accepted_as_scheduled(bench: &Bench) -> Result<()> {
    let answer = bench.enqueue(named("a").delay(secs(5))).await?;

    assert_eq!(answer.state(), JobState::Scheduled);
    let job = bench.job("a").await?;
    assert_eq!(
        (job.state, job.due_at),
        (JobState::Scheduled, bench.now().plus(secs(5)))
    );
    Ok(())
}

pub async fn a_due_time_in_the_past_is_now(bench: &Bench) -> Result<()> {
    let past = bench.now();
    bench.advance(secs(60));

    let answer = bench.enqueue(named("a").at(past)).await?;

    assert_eq!(answer.state(), JobState::Ready);
    assert_eq!(bench.job("a").await?.due_at, bench.now());
    Ok(())
}

pub async fn everything_said_of_a_job_is_kept(bench: &Bench) -> Result<()> {
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

    bench.enqueue(new.clone()).await?;

    let job = bench.job("räksmörgås").await?;
    assert_eq!(job.queue, bench.queue);
    assert_eq!(job.payload.as_deref(), Some(&b"payload"[..]));
    assert_eq!(
        (job.kind, job.priority, job.retry),
        (new.kind, new.priority, retry)
    );
    assert_eq!(
        (job.timeout, job.unique_key),
        (Some(secs(40)), new.unique_key)
    );
    assert_eq!(job.expires_at, Some(bench.now().plus(secs(600))));
    assert_eq!(job.headers, headers);
    assert!(job.is_named && job.keep_outcome);

    let handed = bench.take(1).await?.jobs.remove(0);
    assert_eq!(
        (handed.kind, handed.priority, handed.retry),
        (job_kind()?, new.priority, retry)
    );
    assert_eq!((handed.headers, handed.timeout), (headers, Some(secs(40))));
    assert_eq!(
        (handed.created_at, handed.due_at),
        (bench.now(), bench.now())
    );
    Ok(())
}

fn job_kind() -> Result<Option<Kind>> {
    Kind::new("mail").map(Some)
}

pub async fn the_same_id_is_the_same_job(bench: &Bench) -> Result<()> {
    bench.enqueue(named("a")).await?;
    let before = bench.whole().await?;

    let again = bench
        .enqueue(NewJob::new("other bytes").id(id("a")))
        .await?;

    assert_eq!(duplicate_of(&again), Some((id("a"), JobState::Ready)));
    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn a_duplicate_is_told_the_first_jobs_state(bench: &Bench) -> Result<()> {
    let again =
        || async { Ok::<_, windlass_core::Error>(bench.enqueue(named("a")).await?.state()) };
    bench.enqueue(named("a").delay(secs(1))).await?;
    assert_eq!(again().await?, JobState::Scheduled);

    bench.promote("a").await?;
    assert_eq!(again().await?, JobState::Ready);

    let claim = bench.take(1).await?;
    assert_eq!(again().await?, JobState::Running);

    bench.complete(hold(&claim, 0)).await?;
    assert_eq!(again().await?, JobState::Succeeded);
    Ok(())
}

pub async fn a_duplicate_of_an_ended_job_is_told_how_it_ended(bench: &Bench) -> Result<()> {
    bench.kill(named("dead")).await?;
    bench.enqueue(named("cancelled")).await?;
    bench.cancel("cancelled").await?;
    bench.enqueue(named("kept")).await?;
    bench
        .complete_with(hold(&bench.take(1).await?, 0), "result")
        .await?;

    for (name, state) in [
        ("dead", JobState::Dead),
        ("cancelled", JobState::Cancelled),
        ("kept", JobState::Succeeded),
    ] {
        let again = bench.enqueue(named(name)).await?;
        assert_eq!(duplicate_of(&again), Some((id(name), state)), "{name}");
    }
    Ok(())
}

pub async fn each_job_of_a_batch_has_its_own_answer(bench: &Bench) -> Result<()> {
    bench.enqueue(named("old")).await?;

    let batch = vec![
        named("a"),
        named("old"),
        named("b").delay(secs(1)),
        named("a"),
    ];
    let answers = bench.enqueue_all(batch).await?;

    let told: Vec<_> = answers
        .iter()
        .map(|a| (a.id().as_str(), a.is_duplicate()))
        .collect();
    assert_eq!(
        told,
        [("a", false), ("old", true), ("b", false), ("a", true)]
    );
    assert_eq!(bench.ready().await?, ["old", "a"]);
    Ok(())
}

pub async fn an_id_is_remembered_for_an_hour_after_its_end(bench: &Bench) -> Result<()> {
    bench.enqueue(named("a")).await?;
    bench.complete(hold(&bench.take(1).await?, 0)).await?;
    assert_eq!(bench.get("a").await?, None);

    bench.advance(almost(secs(3600)));
    assert!(bench.enqueue(named("a")).await?.is_duplicate());

    bench.advance(ms(1));
    assert!(!bench.enqueue(named("a")).await?.is_duplicate());
    Ok(())
}

pub async fn an_id_is_remembered_when_its_job_is_no_longer_kept(bench: &Bench) -> Result<()> {
    bench.set("dead_age=1s").await?;
    bench.kill(named("a")).await?;

    bench.advance(secs(2));
    bench.maintain().await?;

    assert_eq!(bench.get("a").await?, None);
    assert_eq!(bench.enqueue(named("a")).await?.state(), JobState::Dead);
    Ok(())
}

pub async fn dedup_for_says_how_long_an_id_is_remembered(bench: &Bench) -> Result<()> {
    bench.set("dedup_for=10s").await?;
    bench.enqueue(named("a")).await?;
    bench.complete(hold(&bench.take(1).await?, 0)).await?;

    bench.advance(almost(secs(10)));
    assert!(bench.enqueue(named("a")).await?.is_duplicate());

    bench.advance(ms(1));
    assert!(!bench.enqueue(named("a")).await?.is_duplicate());
    Ok(())
}

pub async fn dedup_max_bounds_the_ids_remembered(bench: &Bench) -> Result<()> {
    bench.set("dedup_max=2").await?;
    for name in ["first", "second", "third"] {
        bench.enqueue(named(name)).await?;
        bench.complete(hold(&bench.take(1).await?, 0)).await?;
        bench.advance(ms(1));
    }

    assert_eq!(bench.whole().await?.tombstones.len(), 2);
    assert!(!bench.enqueue(named("first")).await?.is_duplicate());
    assert!(bench.enqueue(named("second")).await?.is_duplicate());
    assert!(bench.enqueue(named("third")).await?.is_duplicate());
    Ok(())
}

pub async fn a_generated_id_is_forgotten_at_its_end(bench: &Bench) -> Result<()> {
    let job = NewJob::new("a");
    bench.enqueue(job.clone()).await?;
    assert!(bench.enqueue(job.clone()).await?.is_duplicate());

    bench.complete(hold(&bench.take(1).await?, 0)).await?;

    assert!(bench.whole().await?.tombstones.is_empty());
    assert!(!bench.enqueue(job).await?.is_duplicate());
    Ok(())
}

pub async fn an_id_belongs_to_its_queue(bench: &Bench) -> Result<()> {
    let other = queue(&format!("{}.other", bench.queue));
    bench.enqueue(named("a")).await?;

    let answers = bench.store.enqueue(&other, vec![named("a")]).await?;

    assert!(!answers[0].is_duplicate());
    assert_eq!(bench.next(10).await?, ["a"]);
    Ok(())
}

pub async fn waiting_for_a_job_that_was_there_before_keeps_its_outcome(
    bench: &Bench,
) -> Result<()> {
    bench.enqueue(named("a")).await?;
    bench.enqueue(named("a").keep_outcome()).await?;
    let claim = bench.take(1).await?;

    bench.complete(hold(&claim, 0)).await?;

    assert_eq!(bench.state("a").await?, Some(JobState::Succeeded));
    Ok(())
}
