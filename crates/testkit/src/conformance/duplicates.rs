//! What an enqueue does to a job that has its id or unique key, and how long a key is held.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use windlass_core::limits::AMENDMENT_TOMBSTONE;
use windlass_core::store::{Changed, OnDuplicate, Overlap, Retry, SkipReason, UniqueUntil};
use windlass_core::{
    Bytes, Change, Due, Enqueued, JobId, JobState, NewJob, Priority, Result, RetryPolicy, Target,
};

use crate::fixture::{Fixture, almost, duplicate_of, every, id, ms, named, secs, skips};

/// A job with the unique key of all cases.
fn keyed(name: &str) -> NewJob {
    named(name).unique_key("key".parse().expect("a valid key"))
}

fn replacing(name: &str) -> NewJob {
    keyed(name).on_duplicate(OnDuplicate::Replace)
}

fn postponing(name: &str, delay: u64) -> NewJob {
    let job = keyed(name).on_duplicate(OnDuplicate::Postpone);
    job.delay(secs(delay))
}

/// What the reply says was done, and to which job.
fn amended(reply: &Enqueued) -> (&'static str, JobId, JobState) {
    let what = match reply {
        Enqueued::Accepted { .. } => "accepted",
        Enqueued::Duplicate { .. } => "duplicate",
        Enqueued::Replaced { .. } => "replaced",
        Enqueued::Postponed { .. } => "postponed",
        _ => "unknown",
    };
    (what, reply.id().clone(), reply.state())
}

async fn payload(fixture: &Fixture, name: &str) -> Result<Bytes> {
    Ok(fixture.job(name).await?.payload.expect("it has a payload"))
}

pub async fn a_replaced_job_has_the_new_content_and_keeps_its_id_and_times(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue(keyed("a").delay(secs(60))).await?;
    let before = fixture.job("a").await?;
    fixture.advance(secs(5));
    let mut new = replacing("b").kind("report".parse()?).timeout(secs(7));
    new = new.expires(Due::After(secs(100))).keep_outcome();
    new.headers.set("trace", "2")?;
    new.retry = RetryPolicy::fixed(secs(3)).until(Due::After(secs(50)));

    let reply = fixture.enqueue(new.clone()).await?;

    assert_eq!(amended(&reply), ("replaced", id("a"), JobState::Scheduled));
    assert_eq!(fixture.get("b").await?, None);
    let mut expected = before;
    expected.payload = Some("b".into());
    expected.kind = new.kind;
    expected.headers = new.headers;
    expected.timeout = new.timeout;
    expected.retry = RetryPolicy::fixed(secs(3)).until(Due::At(fixture.now().plus(secs(50))));
    expected.expires_at = Some(fixture.now().plus(secs(100)));
    expected.keep_outcome = true;
    assert_eq!(fixture.job("a").await?, expected);
    Ok(())
}

pub async fn a_payload_is_replaced_by_a_larger_and_by_a_smaller_one(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue(keyed("a")).await?;
    for (n, bytes) in [10_000, 20_000, 3, 10_000].into_iter().enumerate() {
        let mut new = replacing(&format!("b{n}"));
        new.payload = vec![b'x'; bytes].into();
        fixture.enqueue(new.clone()).await?;

        assert_eq!(payload(fixture, "a").await?, new.payload);
        let stats = fixture.snapshot().await?.stats;
        assert_eq!(stats.bytes, bytes as u64);
    }
    let claim = fixture.take(1).await?;
    assert_eq!(claim.jobs[0].payload.len(), 10_000);
    fixture.complete(&claim).await?;
    let (_, repairs) = crate::paging::audit(fixture.store.as_ref(), &fixture.queue).await?;
    assert_eq!(repairs, []);
    Ok(())
}

pub async fn a_replaced_job_starts_over(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(keyed("a")).await?;
    let claim = fixture.take(1).await?;
    fixture.fail(&claim, Retry::At(Due::After(secs(9)))).await?;
    let due_at = fixture.job("a").await?.due_at;

    fixture.enqueue(replacing("b")).await?;

    let job = fixture.job("a").await?;
    assert_eq!((job.attempt, job.error, job.due_at), (1, None, due_at));
    Ok(())
}

pub async fn a_replaced_ready_job_keeps_its_position(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("first")).await?;
    fixture.enqueue(keyed("a")).await?;
    fixture.enqueue(named("last")).await?;

    let new = replacing("b").expires(Due::After(secs(100)));
    assert!(!fixture.enqueue(new).await?.is_duplicate());

    assert_eq!(fixture.ready().await?, ["first", "a", "last"]);
    let claim = fixture.take(3).await?;
    assert_eq!(claim.jobs[1].payload, "b");
    Ok(())
}

pub async fn a_replaced_job_with_another_priority_goes_to_the_back(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue(keyed("a")).await?;
    fixture.enqueue_at(2, "urgent").await?;

    let reply = fixture.enqueue(replacing("b").priority(Priority::new(2)?));
    assert_eq!(
        amended(&reply.await?),
        ("replaced", id("a"), JobState::Ready)
    );

    assert_eq!(fixture.ready().await?, ["urgent", "a"]);
    assert_eq!(fixture.next(5).await?, ["urgent", "a"]);
    Ok(())
}

pub async fn a_plain_job_is_replaced_by_its_id(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["first", "a", "last"]).await?;
    let mut new = NewJob::new("new").id(id("a"));
    new = new.on_duplicate(OnDuplicate::Replace).keep_outcome();

    let reply = fixture.enqueue(new.kind("mail".parse()?)).await?;

    assert_eq!(amended(&reply), ("replaced", id("a"), JobState::Ready));
    let claim = fixture.take(5).await?;
    let jobs = claim.jobs.iter();
    let jobs: Vec<_> = jobs
        .map(|job| (job.id.as_str(), &job.payload[..]))
        .collect();
    assert_eq!(
        jobs,
        [("first", &b"first"[..]), ("a", b"new"), ("last", b"last")]
    );
    assert_eq!(
        fixture
            .complete_all(crate::fixture::leases_of(&claim))
            .await?
            .statuses
            .len(),
        3
    );
    assert_eq!(fixture.state("a").await?, Some(JobState::Succeeded));
    Ok(())
}

pub async fn a_suspect_that_is_replaced_is_no_suspect_any_more(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(keyed("a")).await?;
    for _ in 0..2 {
        fixture.take(1).await?;
        fixture.outlast_lease();
        fixture.maintain().await?;
    }
    fixture.enqueue(named("other")).await?;

    fixture.enqueue(replacing("b")).await?;

    assert_eq!(fixture.job("a").await?.expiries, 0);
    assert_eq!(fixture.next(5).await?, ["other", "a"]);
    Ok(())
}

pub async fn a_running_or_ended_job_is_never_replaced(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(keyed("a")).await?;
    let claim = fixture.take(1).await?;
    let both = |name| replacing(name).on_duplicate(OnDuplicate::ReplaceAndPostpone);

    let running = fixture.enqueue(both("b").delay(secs(5))).await?;
    assert_eq!(duplicate_of(&running), Some((id("a"), JobState::Running)));

    fixture.complete_with(&claim, "kept").await?;
    let ended = both("a").delay(secs(5));
    let ended = fixture.enqueue(ended).await?;
    assert_eq!(duplicate_of(&ended), Some((id("a"), JobState::Succeeded)));
    assert_eq!(payload(fixture, "a").await?, "a");
    Ok(())
}

pub async fn postponing_moves_only_the_due_time(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(keyed("a").delay(secs(5))).await?;
    let mut expected = fixture.job("a").await?;
    fixture.advance(secs(3));

    let reply = fixture.enqueue(postponing("b", 10)).await?;

    assert_eq!(amended(&reply), ("postponed", id("a"), JobState::Scheduled));
    expected.due_at = fixture.now().plus(secs(10));
    assert_eq!(fixture.job("a").await?, expected);
    fixture.advance(almost(secs(10)));
    assert!(fixture.claim(1).await?.is_none());
    fixture.advance(ms(1));
    assert_eq!(fixture.next(1).await?, ["a"]);
    Ok(())
}

pub async fn a_ready_job_that_is_postponed_is_scheduled(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(keyed("a")).await?;
    fixture.enqueue(named("other")).await?;

    let reply = fixture.enqueue(postponing("b", 10)).await?;

    assert_eq!(amended(&reply), ("postponed", id("a"), JobState::Scheduled));
    assert_eq!(fixture.next(5).await?, ["other"]);
    fixture.advance(secs(10));
    assert_eq!(fixture.next(5).await?, ["a"]);
    Ok(())
}

pub async fn postponing_never_moves_a_job_earlier(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(keyed("a").delay(secs(60))).await?;
    let before = fixture.snapshot().await?;

    for delay in [0, 5, 60] {
        let reply = fixture.enqueue(postponing("b", delay)).await?;
        assert_eq!(duplicate_of(&reply), Some((id("a"), JobState::Scheduled)));
    }

    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn a_job_is_not_postponed_past_its_maximum(fixture: &Fixture) -> Result<()> {
    let start = fixture.now();
    let job = |name| postponing(name, 10).postpone_max(secs(25));
    fixture.enqueue(job("a")).await?;
    for name in ["b", "c", "d"] {
        fixture.advance(secs(8));
        fixture.enqueue(job(name)).await?;
    }

    assert_eq!(fixture.job("a").await?.due_at, start.plus(secs(25)));
    let late = fixture.enqueue(job("e")).await?;
    assert_eq!(duplicate_of(&late), Some((id("a"), JobState::Scheduled)));
    fixture.advance(secs(1));
    assert_eq!(fixture.next(1).await?, ["a"]);
    Ok(())
}

pub async fn replacing_and_postponing_runs_the_last_content_after_the_last_call(
    fixture: &Fixture,
) -> Result<()> {
    let both = OnDuplicate::ReplaceAndPostpone;
    let call = |name| keyed(name).on_duplicate(both).delay(secs(10));
    let mut replies = Vec::new();
    for name in ["a", "b", "c"] {
        replies.push(amended(&fixture.enqueue(call(name)).await?).0);
        fixture.advance(secs(9));
        assert!(fixture.claim(1).await?.is_none());
    }
    assert_eq!(replies, ["accepted", "replaced", "replaced"]);

    fixture.advance(secs(1));
    let claim = fixture.take(5).await?;
    assert_eq!(claim.jobs.len(), 1);
    assert_eq!(claim.jobs[0].payload, "c");
    Ok(())
}

pub async fn a_repeated_amendment_gets_the_first_reply_and_does_not_overwrite_a_newer_one(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue(keyed("a")).await?;
    let mut first = replacing("b");
    first.id = JobId::generate();
    first.is_named = false;
    let reply = fixture.enqueue(first.clone()).await?;
    fixture.enqueue(replacing("c")).await?;
    fixture.advance(almost(AMENDMENT_TOMBSTONE));
    let before = fixture.snapshot().await?;

    assert_eq!(amended(&fixture.enqueue(first).await?), amended(&reply));

    assert_eq!(payload(fixture, "a").await?, "c");
    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn a_repeat_of_the_call_that_stored_a_job_does_not_replace_it(
    fixture: &Fixture,
) -> Result<()> {
    let mut first = replacing("a");
    first.id = JobId::generate();
    first.is_named = false;
    fixture.enqueue(first.clone()).await?;
    fixture.enqueue(replacing("b")).await?;

    let reply = fixture.enqueue(first.clone()).await?;

    assert_eq!(
        duplicate_of(&reply),
        Some((first.id.clone(), JobState::Ready))
    );
    assert_eq!(payload(fixture, first.id.as_str()).await?, "b");
    Ok(())
}

pub async fn an_amendment_is_remembered_for_a_minute(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(keyed("a").delay(secs(300))).await?;
    fixture.enqueue(replacing("b")).await?;
    fixture.enqueue(replacing("c")).await?;
    fixture.advance(AMENDMENT_TOMBSTONE);

    let again = fixture.enqueue(replacing("b")).await?;

    assert_eq!(amended(&again).0, "replaced");
    assert_eq!(payload(fixture, "a").await?, "b");
    fixture.advance(AMENDMENT_TOMBSTONE);
    fixture.maintain().await?;
    assert_eq!(fixture.snapshot().await?.amendments, []);
    Ok(())
}

pub async fn producers_alone_keep_the_memory_of_amendments_within_its_limit(
    fixture: &Fixture,
) -> Result<()> {
    fixture.set("dedup_max=3").await?;
    fixture.enqueue(keyed("a")).await?;
    for n in 0..20 {
        fixture.advance(ms(1));
        fixture.enqueue(replacing(&format!("b{n}"))).await?;
    }

    let amendments = fixture.snapshot().await?.amendments;
    let ids: Vec<_> = amendments.iter().map(|item| item.0.as_str()).collect();
    assert_eq!(ids, ["b17", "b18", "b19"]);
    Ok(())
}

pub async fn of_racing_replacers_one_wins_and_no_repeat_changes_that(
    fixture: &Fixture,
) -> Result<()> {
    fixture.enqueue(keyed("a").delay(secs(60))).await?;
    let jobs: Vec<_> = (0..16).map(|n| replacing(&format!("b{n}"))).collect();
    let enqueue = |job: &NewJob| fixture.enqueue(job.clone());

    let replies = join_all(jobs.iter().map(enqueue)).await;
    for reply in replies {
        assert_eq!(amended(&reply?), ("replaced", id("a"), JobState::Scheduled));
    }
    let winner = payload(fixture, "a").await?;
    for reply in join_all(jobs.iter().map(enqueue)).await {
        assert_eq!(amended(&reply?).0, "replaced");
    }

    assert_eq!(payload(fixture, "a").await?, winner);
    let contents: BTreeSet<_> = jobs.iter().map(|job| job.payload.clone()).collect();
    assert!(contents.contains(&winner));
    Ok(())
}

pub async fn jobs_of_one_batch_replace_each_other_in_order(fixture: &Fixture) -> Result<()> {
    let batch = vec![named("x"), replacing("a"), replacing("b"), replacing("c")];

    let replies = fixture.enqueue_all(batch).await?;

    let what: Vec<_> = replies.iter().map(|reply| amended(reply).0).collect();
    assert_eq!(what, ["accepted", "accepted", "replaced", "replaced"]);
    assert_eq!(payload(fixture, "a").await?, "c");
    assert_eq!(fixture.ready().await?, ["x", "a"]);
    Ok(())
}

pub async fn a_pending_job_is_replaced_and_postponed(fixture: &Fixture) -> Result<()> {
    let mut schedule = every("s", 10);
    schedule.overlap = Overlap::Buffer;
    fixture.put(schedule).await?;
    fixture.advance(secs(10));
    let claim = fixture.take(1).await?;
    fixture.advance(secs(10));
    fixture.maintain().await?;
    let pending = fixture.id_at("s", 20);
    let new = named(&pending).on_duplicate(OnDuplicate::ReplaceAndPostpone);

    let reply = fixture.enqueue(new.delay(secs(5))).await?;

    assert_eq!(
        amended(&reply),
        ("replaced", id(&pending), JobState::Pending)
    );
    fixture.complete(&claim).await?;
    assert_eq!(fixture.state(&pending).await?, Some(JobState::Scheduled));
    fixture.advance(secs(5));
    let claim = fixture.take(1).await?;
    assert_eq!(claim.jobs[0].payload, pending.as_bytes());
    Ok(())
}

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
