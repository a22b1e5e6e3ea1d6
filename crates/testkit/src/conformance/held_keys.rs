//! How long a job holds its unique key.

use windlass_core::store::{Changed, Retry, SkipReason, UniqueUntil};
use windlass_core::{Change, Enqueued, JobState, NewJob, Result, Target};

use super::duplicates::{amended, keyed, payload, replacing};
use crate::fixture::{Fixture, almost, duplicate_of, every, id, ms, named, secs, skips};

pub async fn a_key_until_start_is_free_when_its_job_is_first_claimed(
    fixture: &Fixture,
) -> Result<()> {
    let until_start = |name| keyed(name).unique_until(UniqueUntil::Start);
    fixture.enqueue(until_start("a")).await?;
    assert!(fixture.enqueue(until_start("b")).await?.is_duplicate());
    let claim = fixture.take(1).await?;

    assert!(fixture.enqueue(until_start("b")).await?.is_accepted());

    // It does not take the key again, whatever happens to it.
    fixture.release(&claim).await?;
    let claim = fixture.take(1).await?;
    assert_eq!(claim.jobs[0].id, id("a"));
    fixture.fail(&claim, Retry::Permanent).await?;
    assert_eq!(fixture.retry("a").await?, Changed::Done);
    let third = fixture.enqueue(keyed("c")).await?;
    assert_eq!(duplicate_of(&third), Some((id("b"), JobState::Ready)));
    Ok(())
}

pub async fn every_job_of_a_claim_frees_its_key_until_start(fixture: &Fixture) -> Result<()> {
    let jobs = |name: &str| -> Result<Vec<NewJob>> {
        let job = |n| {
            let job = named(&format!("{name}{n}")).unique_key(format!("key {n}").parse()?);
            Ok(job.unique_until(UniqueUntil::Start))
        };
        (0..12).map(job).collect()
    };
    fixture.enqueue_all(jobs("a")?).await?;
    assert_eq!(fixture.take(12).await?.jobs.len(), 12);

    let replies = fixture.enqueue_all(jobs("b")?).await?;

    assert!(replies.iter().all(Enqueued::is_accepted), "{replies:?}");
    Ok(())
}

fn throttled(name: &str) -> NewJob {
    keyed(name).unique_for(secs(60))
}

pub async fn a_key_is_held_for_its_time_after_its_job_ended(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(throttled("a")).await?;
    fixture.complete(&fixture.take(1).await?).await?;
    fixture.advance(almost(secs(60)));

    let within = fixture.enqueue(replacing("b")).await?;
    assert_eq!(duplicate_of(&within), Some((id("a"), JobState::Succeeded)));

    fixture.advance(ms(1));
    assert!(fixture.enqueue(throttled("b")).await?.is_accepted());
    Ok(())
}

pub async fn a_key_is_held_while_its_job_runs_longer_than_its_time(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue(throttled("a").delay(secs(100))).await?;
    fixture.advance(secs(100));
    let claim = fixture.take(1).await?;

    let second = fixture.enqueue(throttled("b")).await?;
    assert_eq!(duplicate_of(&second), Some((id("a"), JobState::Running)));

    fixture.complete(&claim).await?;
    assert!(fixture.enqueue(throttled("b")).await?.is_accepted());
    Ok(())
}

pub async fn cancelling_deleting_and_purging_free_a_held_key(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(throttled("a")).await?;
    fixture.cancel("a").await?;

    assert!(fixture.enqueue(throttled("b")).await?.is_accepted());
    fixture.store.purge(&fixture.queue).await?;

    fixture.kill(throttled("c")).await?;
    assert!(fixture.enqueue(throttled("d")).await?.is_duplicate());
    assert_eq!(fixture.delete("c").await?, Changed::Done);
    assert!(fixture.enqueue(throttled("d")).await?.is_accepted());
    Ok(())
}

pub async fn a_held_key_is_freed_by_deleting_it(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(throttled("a")).await?;
    let claim = fixture.take(1).await?;
    let target = Target::UniqueKey("key".parse()?);
    let free = || {
        fixture
            .store
            .change(&fixture.queue, Change::Delete, &target, None)
    };
    let running = free().await?.items.remove(0).changed;
    assert_eq!(running, Changed::WrongState(JobState::Running));
    fixture.complete(&claim).await?;

    let freed = free().await?.items.remove(0);

    assert_eq!((freed.id, freed.changed), (Some(id("a")), Changed::Done));
    assert!(fixture.enqueue(throttled("b")).await?.is_accepted());
    fixture.cancel("b").await?;
    assert_eq!(free().await?.items.remove(0).changed, Changed::NotFound);
    Ok(())
}

pub async fn a_held_key_does_not_reach_another_job_with_the_same_id(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("dedup_for=0s").await?;
    fixture.enqueue(throttled("a")).await?;
    fixture.complete(&fixture.take(1).await?).await?;
    fixture
        .enqueue(named("a").unique_key("other".parse()?))
        .await?;

    let reply = fixture.enqueue(replacing("b")).await?;
    assert_eq!(duplicate_of(&reply), Some((id("a"), JobState::Succeeded)));
    let target = Target::UniqueKey("key".parse()?);
    let delete = fixture
        .store
        .change(&fixture.queue, Change::Delete, &target, None);
    assert_eq!(delete.await?.items.remove(0).changed, Changed::Done);

    assert_eq!(payload(fixture, "a").await?, "a");
    assert_eq!(fixture.state("a").await?, Some(JobState::Ready));
    assert!(fixture.enqueue(keyed("b")).await?.is_accepted());
    Ok(())
}

pub async fn a_retried_job_takes_its_held_key_back_unless_another_holds_it(
    fixture: &Fixture,
) -> Result<()> {
    fixture.kill(throttled("a")).await?;
    assert_eq!(fixture.retry("a").await?, Changed::Done);
    let live = fixture.enqueue(keyed("b")).await?;
    assert_eq!(duplicate_of(&live), Some((id("a"), JobState::Ready)));
    assert_eq!(fixture.snapshot().await?.held_keys, []);

    fixture
        .fail(&fixture.take(1).await?, Retry::Permanent)
        .await?;
    fixture.advance(secs(60));
    fixture.enqueue(throttled("b")).await?;
    fixture.complete(&fixture.take(1).await?).await?;
    assert_eq!(fixture.retry("a").await?, Changed::Conflict(id("b")));
    // Deleting it frees nothing that another job holds.
    fixture.delete("a").await?;
    assert!(fixture.enqueue(keyed("c")).await?.is_duplicate());
    Ok(())
}

pub async fn held_keys_and_remembered_ids_share_a_limit(fixture: &Fixture) -> Result<()> {
    fixture.set("dedup_max=3").await?;
    for n in 0..4 {
        let key = format!("key {n}").parse()?;
        let job = named(&format!("j{n}")).unique_key(key);
        fixture.enqueue(job.unique_for(secs(60 + n))).await?;
        fixture.complete(&fixture.take(1).await?).await?;
    }
    fixture.maintain().await?;

    let dump = fixture.snapshot().await?;
    assert_eq!(dump.held_keys, []);
    let ids: Vec<_> = dump.tombstones.iter().map(|item| item.0.as_str()).collect();
    assert_eq!(ids, ["j1", "j2", "j3"]);
    Ok(())
}

pub async fn of_a_key_and_an_id_that_expire_together_the_key_is_forgotten_first(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("dedup_for=60s").await?;
    fixture.set("dedup_max=1").await?;
    fixture.enqueue(throttled("a")).await?;
    fixture.complete(&fixture.take(1).await?).await?;

    let dump = fixture.snapshot().await?;
    assert_eq!((dump.held_keys.len(), dump.tombstones.len()), (0, 1));
    Ok(())
}

pub async fn a_schedule_skips_instants_while_its_key_is_held(fixture: &Fixture) -> Result<()> {
    let mut schedule = every("s", 10);
    schedule.job = schedule.job.unique_key("key".parse()?).unique_for(secs(15));
    fixture.put(schedule).await?;
    for _ in 0..3 {
        fixture.advance(secs(10));
        if let Some(claim) = fixture.claim(1).await? {
            fixture.complete(&claim).await?;
        }
    }

    let record = fixture.schedule("s").await?;
    assert_eq!(skips(&record), [None, Some(SkipReason::Duplicate), None]);
    Ok(())
}

pub async fn an_audit_keeps_held_keys_and_amendments(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(throttled("a")).await?;
    fixture.complete(&fixture.take(1).await?).await?;
    fixture
        .enqueue(named("b").unique_key("other".parse()?))
        .await?;
    let other = replacing("c").unique_key("other".parse()?);
    fixture.enqueue(other.clone()).await?;
    let before = fixture.snapshot().await?;

    let (_, repairs) = crate::paging::audit(fixture.store.as_ref(), &fixture.queue).await?;

    assert_eq!(repairs, []);
    assert_eq!(fixture.snapshot().await?, before);
    assert!(fixture.enqueue(keyed("d")).await?.is_duplicate());
    assert_eq!(amended(&fixture.enqueue(other).await?).0, "replaced");
    Ok(())
}
