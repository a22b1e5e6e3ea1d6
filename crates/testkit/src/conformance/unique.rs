//! Unique keys: at most one unfinished job in a queue has a key.

use windlass_core::store::{Changed, Retry};
use windlass_core::{Due, JobState, NewJob, Result, RetryPolicy};

use crate::fixture::{Fixture, duplicate_of, id, named, queue, secs};

fn keyed(name: &str) -> Result<NewJob> {
    Ok(named(name).unique_key("key".parse()?))
}

pub async fn a_held_key_makes_a_duplicate_of_the_first_job(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(keyed("a")?).await?;

    let second = fixture.enqueue(keyed("b")?).await?;

    assert_eq!(duplicate_of(&second), Some((id("a"), JobState::Ready)));
    assert_eq!(fixture.get("b").await?, None);
    Ok(())
}

pub async fn a_key_is_held_while_its_job_runs_or_waits_to_run_again(
    fixture: &Fixture,
) -> Result<()> {
    fixture
        .enqueue(keyed("a")?.retry(RetryPolicy::fixed(secs(5))))
        .await?;
    let claim = fixture.take(1).await?;
    assert_eq!(
        fixture.enqueue(keyed("b")?).await?.state(),
        JobState::Running
    );

    fixture.fail(&claim, Retry::At(Due::After(secs(5)))).await?;
    assert_eq!(
        fixture.enqueue(keyed("b")?).await?.state(),
        JobState::Scheduled
    );
    Ok(())
}

pub async fn a_key_is_free_when_its_job_succeeded(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(keyed("a")?).await?;
    fixture
        .complete_with(&fixture.take(1).await?, "kept")
        .await?;

    assert!(!fixture.enqueue(keyed("b")?).await?.is_duplicate());
    Ok(())
}

pub async fn a_key_is_free_when_its_job_is_dead(fixture: &Fixture) -> Result<()> {
    fixture.kill(keyed("a")?).await?;

    assert!(!fixture.enqueue(keyed("b")?).await?.is_duplicate());
    Ok(())
}

pub async fn a_key_is_free_when_its_job_was_cancelled(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(keyed("a")?).await?;
    fixture.cancel("a").await?;

    assert!(!fixture.enqueue(keyed("b")?).await?.is_duplicate());
    Ok(())
}

pub async fn a_key_is_free_when_its_job_expired(fixture: &Fixture) -> Result<()> {
    fixture
        .enqueue(keyed("a")?.expires(Due::After(secs(1))))
        .await?;
    fixture.advance(secs(2));
    fixture.maintain().await?;

    assert!(!fixture.enqueue(keyed("b")?).await?.is_duplicate());
    Ok(())
}

pub async fn a_key_is_free_when_its_job_was_purged(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(keyed("a")?).await?;
    fixture.store.purge(&fixture.queue).await?;

    assert!(!fixture.enqueue(keyed("b")?).await?.is_duplicate());
    Ok(())
}

pub async fn a_key_belongs_to_its_queue(fixture: &Fixture) -> Result<()> {
    let other = queue(&format!("{}.other", fixture.queue));
    fixture.enqueue(keyed("a")?).await?;

    let replies = fixture.store.enqueue(&other, vec![keyed("b")?]).await?;

    assert!(!replies[0].is_duplicate());
    Ok(())
}

pub async fn a_dead_job_whose_key_is_taken_cannot_be_retried(fixture: &Fixture) -> Result<()> {
    fixture.kill(keyed("a")?).await?;
    fixture.enqueue(keyed("b")?).await?;
    let before = fixture.snapshot().await?;

    assert_eq!(fixture.retry("a").await?, Changed::Conflict(id("b")));

    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn a_retried_job_holds_its_key_again(fixture: &Fixture) -> Result<()> {
    fixture.kill(keyed("a")?).await?;

    assert_eq!(fixture.retry("a").await?, Changed::Done);

    let second = fixture.enqueue(keyed("b")?).await?;
    assert_eq!(duplicate_of(&second), Some((id("a"), JobState::Ready)));
    Ok(())
}
