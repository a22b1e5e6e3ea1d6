//! What an enqueue does to a job that has its id or unique key.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use windlass_core::limits::AMENDMENT_TOMBSTONE;
use windlass_core::store::{OnDuplicate, Overlap, Retry};
use windlass_core::{Bytes, Due, Enqueued, JobId, JobState, NewJob, Priority, Result, RetryPolicy};

use crate::fixture::{Fixture, almost, duplicate_of, every, id, ms, named, secs};

/// A job with the unique key of all cases.
pub(super) fn keyed(name: &str) -> NewJob {
    named(name).unique_key("key".parse().expect("a valid key"))
}

pub(super) fn replacing(name: &str) -> NewJob {
    keyed(name).on_duplicate(OnDuplicate::Replace)
}

fn postponing(name: &str, delay: u64) -> NewJob {
    let job = keyed(name).on_duplicate(OnDuplicate::Postpone);
    job.delay(secs(delay))
}

/// What the reply says was done, and to which job.
pub(super) fn amended(reply: &Enqueued) -> (&'static str, JobId, JobState) {
    let what = match reply {
        Enqueued::Accepted { .. } => "accepted",
        Enqueued::Duplicate { .. } => "duplicate",
        Enqueued::Replaced { .. } => "replaced",
        Enqueued::Postponed { .. } => "postponed",
        _ => "unknown",
    };
    (what, reply.id().clone(), reply.state())
}

pub(super) async fn payload(fixture: &Fixture, name: &str) -> Result<Bytes> {
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
