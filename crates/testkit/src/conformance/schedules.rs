//! Schedules: each instant fires once, with the job of its template.

use windlass_core::store::{Headers, QueueDeletion, Ran, Run, ScheduleChange, SkipReason};
use windlass_core::{Due, Enqueued, ErrorKind, JobState, NewJob, Priority, Result, Schedule};

use crate::fixture::{Fixture, every, ms, schedule_name, secs, skips};

pub async fn an_instant_fires_once_whichever_process_comes_first(fixture: &Fixture) -> Result<()> {
    fixture.put(every("s", 60)).await?;

    fixture.advance(secs(60));
    assert_eq!(fixture.maintain().await?.instants, 1);
    assert_eq!(fixture.maintain().await?.instants, 0);
    assert_eq!(fixture.next(10).await?, [fixture.id_at("s", 60)]);
    assert!(fixture.claim(10).await?.is_none());

    let record = fixture.schedule("s").await?;
    assert_eq!(record.total.fired, 1);
    assert_eq!(record.settled_until, fixture.at(60));
    Ok(())
}

pub async fn a_claim_fires_without_maintenance(fixture: &Fixture) -> Result<()> {
    fixture.put(every("s", 60)).await?;

    fixture.advance(ms(59_999));
    assert!(fixture.claim(1).await?.is_none());
    fixture.advance(ms(1));
    assert_eq!(fixture.next(1).await?, [fixture.id_at("s", 60)]);
    Ok(())
}

pub async fn a_completion_that_claims_fires_as_well(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let claim = fixture.take(1).await?;
    fixture.put(every("s", 60)).await?;
    fixture.advance(secs(61));
    fixture.renew(claim.token).await?;

    let request = windlass_core::ClaimRequest::single(1);
    let completions = vec![crate::fixture::lease_of(&claim, 0).completion()];
    let store = &fixture.store;
    let reply = store.complete(&fixture.queue, completions, Some(request));
    let next = reply.await?.next.expect("the instant fired");

    assert_eq!(next.jobs[0].id.as_str(), fixture.id_at("s", 60));
    Ok(())
}

pub async fn an_identical_schedule_changes_nothing(fixture: &Fixture) -> Result<()> {
    let mut schedule = every("s", 60);
    schedule.job = schedule.job.priority(Priority::new(2)?);
    assert_eq!(fixture.put(schedule.clone()).await?.changed, None);
    fixture.advance(secs(60));
    fixture.maintain().await?;
    let before = fixture.schedule("s").await?;

    fixture.advance(secs(30));
    assert_eq!(fixture.put(schedule.clone()).await?.changed, Some(false));

    assert_eq!(fixture.schedule("s").await?, before);
    fixture.advance(secs(30));
    schedule.job = schedule.job.priority(Priority::new(3)?);
    assert_eq!(fixture.put(schedule).await?.changed, Some(true));
    assert!(fixture.schedule("s").await?.revision > before.revision);
    Ok(())
}

pub async fn an_edit_never_fires_the_past(fixture: &Fixture) -> Result<()> {
    fixture.put(every("s", 60)).await?;
    fixture.advance(secs(90));

    fixture.put(every("s", 50)).await?;

    assert!(fixture.claim(1).await?.is_none(), "60 s and 50 s passed");
    fixture.advance(secs(10));
    assert_eq!(fixture.next(1).await?, [fixture.id_at("s", 100)]);
    let record = fixture.schedule("s").await?;
    assert_eq!(record.total.fired, 1);
    Ok(())
}

pub async fn a_job_of_a_schedule_has_its_template(fixture: &Fixture) -> Result<()> {
    let mut headers = Headers::default();
    headers.set("tenant", "blue")?;
    let mut schedule = every("s", 60);
    schedule.job.payload = "the payload".into();
    schedule.job = schedule
        .job
        .kind("report".parse()?)
        .priority(Priority::new(1)?)
        .headers(headers)
        .timeout(secs(7))
        .unique_key("key".parse()?)
        .expires(Due::After(secs(100)))
        .delay(secs(30));
    fixture.put(schedule).await?;

    fixture.advance(secs(70));
    fixture.maintain().await?;

    let job = fixture
        .get(&fixture.id_at("s", 60))
        .await?
        .expect("it fired");
    assert_eq!(job.state, JobState::Scheduled);
    assert_eq!(
        job.due_at,
        fixture.at(90),
        "the delay counts from the instant"
    );
    assert_eq!(job.expires_at, Some(fixture.at(160)));
    assert_eq!(job.created_at, fixture.at(70));
    assert_eq!(job.payload.as_deref(), Some(&b"the payload"[..]));
    assert_eq!(job.kind.as_ref().map(|kind| kind.as_str()), Some("report"));
    assert_eq!(job.priority, Priority::new(1)?);
    assert_eq!(job.timeout, Some(secs(7)));
    assert_eq!(job.schedule, Some(schedule_name("s")));
    assert!(job.is_named && job.unique_key.is_some());
    let instant = windlass_core::schedule::instant_text(fixture.at(60));
    let header = |name| job.headers.get(name);
    assert_eq!(header("tenant"), Some("blue"));
    assert_eq!(header("windlass-schedule"), Some("s"));
    assert_eq!(header("windlass-instant"), Some(instant.as_str()));
    Ok(())
}

pub async fn instants_fire_in_the_order_of_time_and_name(fixture: &Fixture) -> Result<()> {
    for (name, seconds) in [("b", 60), ("a", 60), ("c", 30)] {
        let mut schedule = every(name, seconds);
        schedule.overlap = windlass_core::store::Overlap::Allow;
        fixture.put(schedule).await?;
    }

    fixture.advance(secs(60));
    fixture.maintain().await?;

    // All due instants of a schedule are settled together.
    let ids = [("c", 30), ("c", 60), ("a", 60), ("b", 60)];
    let ids = ids.map(|(name, seconds)| fixture.id_at(name, seconds));
    assert_eq!(fixture.ready().await?, ids);
    Ok(())
}

pub async fn a_schedule_fires_no_more_often_than_its_times(fixture: &Fixture) -> Result<()> {
    let mut schedule = every("s", 10);
    schedule.times = Some(2);
    schedule.overlap = windlass_core::store::Overlap::Allow;
    fixture.put(schedule.clone()).await?;

    fixture.advance(secs(45));
    fixture.refill().await?;
    fixture.advance(secs(45));
    fixture.refill().await?;

    let record = fixture.schedule("s").await?;
    assert_eq!(record.total.fired, 2);
    assert!(record.instants.is_empty());
    schedule.times = Some(3);
    fixture.put(schedule).await?;
    fixture.advance(secs(30));
    fixture.maintain().await?;
    assert_eq!(fixture.schedule("s").await?.total.fired, 3);
    Ok(())
}

pub async fn a_schedule_keeps_to_its_bounds(fixture: &Fixture) -> Result<()> {
    let mut schedule = every("s", 10);
    schedule.rule.from = Some(fixture.at(20));
    schedule.rule.until = Some(fixture.at(30));
    schedule.overlap = windlass_core::store::Overlap::Allow;
    fixture.put(schedule).await?;

    fixture.advance(secs(55));
    fixture.refill().await?;

    let ids = [20, 30].map(|seconds| fixture.id_at("s", seconds));
    assert_eq!(fixture.ready().await?, ids);
    assert!(fixture.refill().await?.refills.is_empty());
    Ok(())
}

pub async fn a_paused_schedule_lets_instants_pass(fixture: &Fixture) -> Result<()> {
    fixture.put(every("s", 10)).await?;
    fixture.change_schedule("s", ScheduleChange::Pause).await?;

    fixture.advance(secs(20));
    fixture.maintain().await?;
    fixture.put(every("s", 10)).await?;
    fixture.advance(secs(5));
    fixture.change_schedule("s", ScheduleChange::Resume).await?;

    assert!(fixture.claim(1).await?.is_none(), "they are not caught up");
    let record = fixture.schedule("s").await?;
    assert_eq!(skips(&record), [Some(SkipReason::Paused); 2]);
    assert_eq!((record.total.skipped, record.total.fired), (2, 0));
    fixture.advance(secs(5));
    assert_eq!(fixture.next(1).await?, [fixture.id_at("s", 30)]);
    Ok(())
}

pub async fn a_pause_by_hand_survives_a_put_that_does_not_mention_it(
    fixture: &Fixture,
) -> Result<()> {
    let (store, queue) = (&fixture.store, &fixture.queue);
    fixture.put(every("s", 10)).await?;
    fixture.change_schedule("s", ScheduleChange::Pause).await?;

    fixture.put(every("s", 20)).await?;
    assert!(fixture.schedule("s").await?.is_paused);

    let put = store
        .put_schedule(queue, every("s", 20), Some(false))
        .await?;
    assert_eq!(put.changed, Some(true));
    assert!(!fixture.schedule("s").await?.is_paused);
    Ok(())
}

pub async fn a_paused_queue_still_fires(fixture: &Fixture) -> Result<()> {
    fixture.put(every("s", 10)).await?;
    fixture.store.set_paused(&fixture.queue, true).await?;

    fixture.advance(secs(10));

    assert!(fixture.claim(1).await?.is_none());
    assert_eq!(fixture.ready().await?, [fixture.id_at("s", 10)]);
    Ok(())
}

pub async fn a_deleted_schedule_leaves_its_jobs(fixture: &Fixture) -> Result<()> {
    fixture.put(every("s", 10)).await?;
    fixture.advance(secs(10));
    fixture.maintain().await?;

    fixture.change_schedule("s", ScheduleChange::Delete).await?;
    fixture.advance(secs(100));

    assert_eq!(fixture.next(10).await?, [fixture.id_at("s", 10)]);
    let name = schedule_name("s");
    let (store, queue) = (&fixture.store, &fixture.queue);
    assert_eq!(store.schedule(queue, &name).await?, None);
    for change in ScheduleChange::ALL {
        assert!(!store.change_schedule(queue, &name, *change).await?);
    }
    let run = Run::Instants(vec![]);
    assert_eq!(store.run_schedule(queue, &name, run).await?, None);
    Ok(())
}

pub async fn a_clock_set_back_fires_nothing_twice(fixture: &Fixture) -> Result<()> {
    let mut schedule = every("s", 10);
    schedule.overlap = windlass_core::store::Overlap::Allow;
    fixture.put(schedule).await?;
    fixture.advance(secs(50));
    fixture.maintain().await?;
    assert_eq!(fixture.schedule("s").await?.total.fired, 5);

    fixture.clock.step_back(secs(40));
    for _ in 0..4 {
        fixture.refill().await?;
        fixture.advance(secs(10));
    }
    assert_eq!(fixture.schedule("s").await?.total.fired, 5);

    fixture.advance(secs(10));
    fixture.refill().await?;
    assert_eq!(fixture.schedule("s").await?.total.fired, 6);
    Ok(())
}

pub async fn schedules_are_listed_by_name_in_pages(fixture: &Fixture) -> Result<()> {
    let names = ["b", "a.2", "a:1", "d", "c-"];
    for name in names {
        fixture.put(every(name, 60)).await?;
    }
    let (store, queue) = (&fixture.store, &fixture.queue);

    let listed = crate::paging::schedules(store.as_ref(), queue, 2).await?;

    let found: Vec<_> = listed
        .iter()
        .map(|record| record.schedule.name.as_str())
        .collect();
    assert_eq!(found, ["a.2", "a:1", "b", "c-", "d"]);
    assert_eq!(listed[0], fixture.schedule("a.2").await?);
    let stats = store.stats(queue).await?.expect("the queue exists");
    assert_eq!((stats.schedules, stats.next_due_ms), (5, Some(60_000)));
    Ok(())
}

pub async fn a_queue_with_schedules_is_not_deleted(fixture: &Fixture) -> Result<()> {
    let (store, queue) = (&fixture.store, &fixture.queue);
    fixture.put(every("s", 60)).await?;

    assert_eq!(
        store.delete_queue(queue).await?,
        QueueDeletion::HasSchedules
    );
    fixture.change_schedule("s", ScheduleChange::Delete).await?;

    assert_eq!(store.delete_queue(queue).await?, QueueDeletion::Deleted);
    Ok(())
}

pub async fn the_history_has_the_last_20_instants(fixture: &Fixture) -> Result<()> {
    fixture.put(every("s", 1)).await?;

    fixture.advance(secs(25));
    fixture.maintain().await?;

    let record = fixture.schedule("s").await?;
    let instants: Vec<_> = record.history.iter().map(|item| item.instant).collect();
    let expected: Vec<_> = (6..=25).map(|second| fixture.at(second)).collect();
    assert_eq!(instants, expected);
    assert_eq!((record.total.fired, record.total.skipped), (1, 24));
    assert_eq!(skips(&record), [Some(SkipReason::Overlap); 20]);
    Ok(())
}

pub async fn a_run_now_obeys_the_overlap_unless_forced(fixture: &Fixture) -> Result<()> {
    fixture.put(every("s", 60)).await?;
    let accepted = |ran: &Ran| match ran {
        Ran::Enqueued(Enqueued::Accepted { id, .. }) => Some(id.to_string()),
        _ => None,
    };

    let first = fixture.run_now("s", "1", false).await?;
    assert_eq!(accepted(&first).as_deref(), Some("s@run-1"));
    let again = fixture.run_now("s", "1", false).await?;
    assert!(matches!(again, Ran::Enqueued(Enqueued::Duplicate { .. })));
    let second = fixture.run_now("s", "2", false).await?;
    assert!(matches!(&second, Ran::Overlap(id) if id.as_str() == "s@run-1"));
    let forced = fixture.run_now("s", "3", true).await?;
    assert_eq!(accepted(&forced).as_deref(), Some("s@run-3"));

    let record = fixture.schedule("s").await?;
    assert_eq!(
        record.current.as_ref().map(|id| id.as_str()),
        Some("s@run-1")
    );
    assert_eq!(record.total.fired, 0, "only instants count");
    assert_eq!(skips(&record), [None, Some(SkipReason::Overlap), None]);
    Ok(())
}

pub async fn a_backfill_enqueues_each_instant_once(fixture: &Fixture) -> Result<()> {
    fixture.put(every("s", 60)).await?;
    fixture.advance(secs(60));
    fixture.maintain().await?;

    let instants = vec![fixture.at(0), fixture.at(60), fixture.at(120)];
    let replies = fixture.run("s", Run::Instants(instants)).await?;

    let is_duplicate = |ran: &Ran| matches!(ran, Ran::Enqueued(reply) if reply.is_duplicate());
    let duplicates: Vec<_> = replies.iter().map(is_duplicate).collect();
    assert_eq!(duplicates, [false, true, false]);
    assert_eq!(fixture.ready().await?.len(), 2);
    fixture.advance(secs(60));
    fixture.maintain().await?;
    assert_eq!(fixture.ready().await?.len(), 3);
    let record = fixture.schedule("s").await?;
    assert_eq!(skips(&record).last(), Some(&Some(SkipReason::Duplicate)));
    Ok(())
}

pub async fn the_end_of_the_latest_job_is_remembered(fixture: &Fixture) -> Result<()> {
    fixture.put(every("s", 10)).await?;
    fixture.advance(secs(10));
    let claim = fixture.take(1).await?;
    fixture.advance(secs(1));
    fixture.complete(&claim).await?;

    let record = fixture.schedule("s").await?;
    let end = record.last_end.expect("the job ended");
    assert_eq!(end.id, claim.jobs[0].id);
    assert_eq!((end.state, end.at), (JobState::Succeeded, fixture.at(11)));
    assert_eq!(record.current, None);
    Ok(())
}

pub async fn an_invalid_schedule_is_refused(fixture: &Fixture) -> Result<()> {
    let with = |change: fn(&mut Schedule)| {
        let mut schedule = every("s", 60);
        change(&mut schedule);
        schedule
    };
    let schedules = [
        with(|schedule| schedule.job = NewJob::new("it has another id")),
        with(|schedule| schedule.job.due = Due::At(windlass_core::Timestamp::from_ms(5))),
        with(|schedule| schedule.job.payload = vec![b'x'; 64 * 1024 + 1].into()),
        with(|schedule| schedule.missed = windlass_core::store::Missed::All(33)),
        with(|schedule| schedule.times = Some(0)),
        with(|schedule| schedule.rule.jitter = secs(24 * 60 * 60 + 1)),
        with(|schedule| schedule.set = Some("a\nb".to_owned())),
    ];
    for schedule in schedules {
        let put = fixture
            .store
            .put_schedule(&fixture.queue, schedule.clone(), None);
        let refused = put.await.map_err(|error| error.kind());
        assert_eq!(refused, Err(ErrorKind::Invalid), "{schedule:?}");
    }
    let page = fixture.store.schedules(&fixture.queue, None, 10).await?;
    assert!(page.items.is_empty());
    Ok(())
}
