//! Unique keys: at most one live job of a queue holds a key.

use windlass_core::{Changed, Due, JobState, NewJob, Result, Retry, RetryPolicy};

use crate::bench::{Bench, duplicate_of, hold, id, named, queue, secs};

fn keyed(name: &str) -> Result<NewJob> {
    Ok(named(name).unique_key("key".parse()?))
}

pub async fn a_held_key_makes_a_duplicate_of_the_first_job(bench: &Bench) -> Result<()> {
    bench.enqueue(keyed("a")?).await?;

    let second = bench.enqueue(keyed("b")?).await?;

    assert_eq!(duplicate_of(&second), Some((id("a"), JobState::Ready)));
    assert_eq!(bench.get("b").await?, None);
    Ok(())
}

pub async fn a_key_is_held_while_its_job_runs_or_waits_to_run_again(bench: &Bench) -> Result<()> {
    bench
        .enqueue(keyed("a")?.retry(RetryPolicy::fixed(secs(5))))
        .await?;
    let claim = bench.take(1).await?;
    assert_eq!(bench.enqueue(keyed("b")?).await?.state(), JobState::Running);

    bench
        .fail(hold(&claim, 0), Retry::At(Due::After(secs(5))))
        .await?;
    assert_eq!(
        bench.enqueue(keyed("b")?).await?.state(),
        JobState::Scheduled
    );
    Ok(())
}

pub async fn a_key_is_free_when_its_job_succeeded(bench: &Bench) -> Result<()> {
    bench.enqueue(keyed("a")?).await?;
    bench
        .complete_with(hold(&bench.take(1).await?, 0), "kept")
        .await?;

    assert!(!bench.enqueue(keyed("b")?).await?.is_duplicate());
    Ok(())
}

pub async fn a_key_is_free_when_its_job_is_dead(bench: &Bench) -> Result<()> {
    bench.kill(keyed("a")?).await?;

    assert!(!bench.enqueue(keyed("b")?).await?.is_duplicate());
    Ok(())
}

pub async fn a_key_is_free_when_its_job_was_cancelled(bench: &Bench) -> Result<()> {
    bench.enqueue(keyed("a")?).await?;
    bench.cancel("a").await?;

    assert!(!bench.enqueue(keyed("b")?).await?.is_duplicate());
    Ok(())
}

pub async fn a_key_is_free_when_its_job_expired(bench: &Bench) -> Result<()> {
    bench
        .enqueue(keyed("a")?.expires(Due::After(secs(1))))
        .await?;
    bench.advance(secs(2));
    bench.maintain().await?;

    assert!(!bench.enqueue(keyed("b")?).await?.is_duplicate());
    Ok(())
}

pub async fn a_key_is_free_when_its_job_was_purged(bench: &Bench) -> Result<()> {
    bench.enqueue(keyed("a")?).await?;
    bench.store.purge(&bench.queue).await?;

    assert!(!bench.enqueue(keyed("b")?).await?.is_duplicate());
    Ok(())
}

pub async fn a_key_belongs_to_its_queue(bench: &Bench) -> Result<()> {
    let other = queue(&format!("{}.other", bench.queue));
    bench.enqueue(keyed("a")?).await?;

    let answers = bench.store.enqueue(&other, vec![keyed("b")?]).await?;

    assert!(!answers[0].is_duplicate());
    Ok(())
}

pub async fn a_dead_job_whose_key_is_taken_cannot_be_retried(bench: &Bench) -> Result<()> {
    bench.kill(keyed("a")?).await?;
    bench.enqueue(keyed("b")?).await?;
    let before = bench.whole().await?;

    assert_eq!(bench.retry("a").await?, Changed::Conflict(id("b")));

    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn a_retried_job_holds_its_key_again(bench: &Bench) -> Result<()> {
    bench.kill(keyed("a")?).await?;

    assert_eq!(bench.retry("a").await?, Changed::Done);

    let second = bench.enqueue(keyed("b")?).await?;
    assert_eq!(duplicate_of(&second), Some((id("a"), JobState::Ready)));
    Ok(())
}
