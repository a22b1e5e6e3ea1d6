//! Instants that no process settled in time, and the refills that tell a store about them.

use windlass_core::limits::PAGE;
use windlass_core::store::{Missed, Overlap, PlannedInstant, Refill, SkipReason};
use windlass_core::{Result, Schedule};

use crate::fixture::{Fixture, every, ms, schedule_name, secs, skips};

/// A schedule that fires every 100 s, and whose jobs may overlap.
fn schedule(missed: Missed) -> Schedule {
    let mut schedule = every("s", 100);
    schedule.missed = missed;
    schedule.overlap = Overlap::Allow;
    schedule
}

pub async fn a_due_instant_up_to_a_minute_old_always_fires(fixture: &Fixture) -> Result<()> {
    fixture.put(schedule(Missed::Skip)).await?;

    fixture.advance(secs(160));
    let claim = fixture.take(10).await?;
    assert_eq!(claim.jobs[0].id.as_str(), fixture.id_at("s", 100));
    fixture.complete(&claim).await?;
    fixture.advance(ms(100_001));
    assert!(fixture.claim(10).await?.is_none());

    let record = fixture.schedule("s").await?;
    assert_eq!((record.total.fired, record.total.missed), (1, 1));
    assert_eq!(skips(&record), [None, Some(SkipReason::Missed)]);
    Ok(())
}

pub async fn missed_instants_collapse_to_the_last(fixture: &Fixture) -> Result<()> {
    fixture.put(schedule(Missed::Last)).await?;

    fixture.advance(secs(380));
    fixture.maintain().await?;
    assert_eq!(fixture.ready().await?, [fixture.id_at("s", 300)]);

    fixture.advance(secs(230));
    fixture.maintain().await?;
    let expected = [300, 600].map(|seconds| fixture.id_at("s", seconds));
    assert_eq!(
        fixture.ready().await?,
        expected,
        "a younger one fires anyway"
    );
    let total = fixture.schedule("s").await?.total;
    assert_eq!((total.fired, total.missed), (2, 4));
    Ok(())
}

pub async fn missed_instants_are_caught_up_to_a_number(fixture: &Fixture) -> Result<()> {
    fixture.put(schedule(Missed::All(3))).await?;

    fixture.advance(secs(1010));
    fixture.maintain().await?;

    let expected = [700, 800, 900, 1000].map(|seconds| fixture.id_at("s", seconds));
    assert_eq!(fixture.ready().await?, expected);
    let total = fixture.schedule("s").await?.total;
    assert_eq!((total.fired, total.missed), (4, 6));
    Ok(())
}

pub async fn nothing_older_than_the_window_is_caught_up(fixture: &Fixture) -> Result<()> {
    let mut all = schedule(Missed::All(10));
    all.catch_up = secs(200);
    fixture.put(all).await?;

    fixture.advance(secs(400));
    fixture.maintain().await?;

    let expected = [300, 400].map(|seconds| fixture.id_at("s", seconds));
    assert_eq!(fixture.ready().await?, expected, "200 s is too old");
    Ok(())
}

pub async fn an_unknown_future_is_refilled_before_it_is_judged(fixture: &Fixture) -> Result<()> {
    fixture.put(schedule(Missed::Last)).await?;
    let known = fixture.schedule("s").await?.known_until;

    fixture.advance(known.since(fixture.at(0)) + secs(500));
    assert!(
        fixture.claim(10).await?.is_none(),
        "its last instant is unknown"
    );
    let record = fixture.schedule("s").await?;
    assert_eq!(record.settled_until, fixture.at(0));
    let stats = fixture.store.stats(&fixture.queue).await?;
    let next_due = stats.expect("the queue exists").next_due_ms;
    assert_eq!(next_due, None, "an idle worker would poll without a pause");
    fixture.refill().await?;

    let claim = fixture.take(10).await?;
    assert_eq!(claim.jobs.len(), 1);
    let record = fixture.schedule("s").await?;
    assert!(fixture.now().since(record.settled_until) < secs(100));
    let settled = record.settled_until.since(fixture.at(0)).as_secs() / 100;
    assert_eq!(record.total.fired + record.total.missed, settled);
    Ok(())
}

pub async fn a_schedule_asks_for_instants_before_it_runs_out(fixture: &Fixture) -> Result<()> {
    let mut schedule = every("s", 1);
    schedule.overlap = Overlap::Allow;
    fixture.put(schedule).await?;
    assert_eq!(fixture.schedule("s").await?.instants.len(), 64);

    for second in 1..=300 {
        fixture.advance(secs(1));
        fixture.refill().await?;
        let record = fixture.schedule("s").await?;
        assert_eq!(record.total.fired, second);
        assert!(record.instants.len() >= 31, "{second}");
        fixture.store.purge(&fixture.queue).await?;
    }
    Ok(())
}

pub async fn a_jittered_instant_fires_after_its_offset(fixture: &Fixture) -> Result<()> {
    let (store, queue) = (&fixture.store, &fixture.queue);
    let put = store
        .put_schedule(queue, schedule(Missed::Last), None)
        .await?;
    let request = put.refill.expect("a new schedule has no instants");
    let instants = [(100, 30_000), (200, 0)].map(|(second, jitter)| PlannedInstant {
        at: fixture.at(second),
        jitter: ms(jitter),
    });
    let refill = Refill {
        name: request.name,
        revision: request.revision,
        after: request.after,
        missed: 0,
        missed_until: request.after,
        instants: instants.to_vec(),
        known_until: fixture.at(1000),
    };
    store.refill_schedules(queue, vec![refill]).await?;

    fixture.advance(ms(129_999));
    assert!(fixture.claim(1).await?.is_none());
    fixture.advance(ms(1));
    assert_eq!(fixture.next(1).await?, [fixture.id_at("s", 100)]);
    Ok(())
}

pub async fn a_refill_of_another_revision_changes_nothing(fixture: &Fixture) -> Result<()> {
    let (store, queue) = (&fixture.store, &fixture.queue);
    let put = store.put_schedule(queue, every("s", 100), None).await?;
    let old = put.refill.expect("a new schedule has no instants");
    let plan = windlass_schedule::Plan::new(&old.rule)?;
    let old = windlass_schedule::compute(&plan, &old);
    fixture.put(every("s", 70)).await?;
    let before = fixture.schedule("s").await?;

    store.refill_schedules(queue, vec![old.clone()]).await?;
    let unknown = Refill {
        name: schedule_name("t"),
        ..old
    };
    store.refill_schedules(queue, vec![unknown]).await?;

    assert_eq!(fixture.schedule("s").await?, before);
    Ok(())
}

pub async fn racing_refills_count_missed_instants_once(fixture: &Fixture) -> Result<()> {
    let (store, queue) = (&fixture.store, &fixture.queue);
    fixture.put(every("s", 1)).await?;
    fixture.advance(secs(1000));
    let request = store.maintain(queue, PAGE).await?.refills.remove(0);
    let plan = windlass_schedule::Plan::new(&request.rule)?;
    let first = windlass_schedule::compute(&plan, &request);
    fixture.advance(secs(7));
    let later = store.maintain(queue, PAGE).await?.refills.remove(0);
    let second = windlass_schedule::compute(&plan, &later);
    assert!(first.missed > 0 && second.missed > first.missed);

    store.refill_schedules(queue, vec![first.clone()]).await?;
    store.refill_schedules(queue, vec![second, first]).await?;
    fixture.refill().await?;
    fixture.maintain().await?;

    let record = fixture.schedule("s").await?;
    let total = record.total;
    assert_eq!(record.settled_until, fixture.at(1007));
    assert_eq!(total.fired + total.missed + total.skipped, 1007);
    Ok(())
}
