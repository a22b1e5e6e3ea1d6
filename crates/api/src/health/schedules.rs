//! The schedules of a queue: whether a worker runs their jobs, and whether instants were missed.

use std::time::Duration;

use windlass_core::limits::PAGE;
use windlass_core::store::{Clock, Occurrence, ScheduleRecord, SkipReason, Stats, SystemClock};
use windlass_core::{QueueName, Result, Store, Timestamp};

use super::Check;

/// Missed instants are reported for this long.
const RECENT: Duration = Duration::from_secs(24 * 60 * 60);

/// Checks the schedules of a queue that has some.
pub(super) async fn examine(
    store: &dyn Store,
    queue: &QueueName,
    stats: &Stats,
    has_worker: bool,
) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    // With ready jobs, this is reported already.
    if !has_worker && stats.ready == 0 && !stats.is_paused {
        checks.push(Check::warn(
            format!("queue {queue}"),
            format!(
                "{} schedules, but no worker claims from this queue",
                stats.schedules
            ),
            format!("start a worker, for example `windlass exec --queue {queue} -- CMD`"),
        ));
    }
    let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
    let mut missed = Vec::new();
    let mut from = None;
    loop {
        let page = store.schedules(queue, from, PAGE).await?;
        let late = page.items.iter().filter(|record| has_missed(record, now));
        missed.extend(late.map(|record| record.schedule.name.to_string()));
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    if let Some(first) = missed.first() {
        checks.push(Check::warn(
            format!("queue {queue}"),
            format!("{} schedules missed instants in the last 24h, such as {first}", missed.len()),
            format!(
                "keep a worker, `windlass up` or `windlass serve` running; `windlass schedules show {queue} {first}` \
                 has the history, `windlass schedules backfill` enqueues what was missed"
            ),
        ));
    }
    Ok(checks)
}

fn has_missed(record: &ScheduleRecord, now: Timestamp) -> bool {
    let is_missed = |occurrence: &Occurrence| {
        occurrence.firing == Err(SkipReason::Missed) && now.since(occurrence.at) < RECENT
    };
    record.history.iter().any(is_missed)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use windlass_core::store::{ManualClock, Missed, Rule, Schedule};
    use windlass_core::{NewJob, ScheduleName};
    use windlass_store_memory::MemoryStore;

    use super::super::CheckStatus as Status;
    use super::*;

    fn queue() -> QueueName {
        QueueName::new("q").unwrap()
    }

    /// A store with a schedule whose instants of ten minutes nobody settled, until `ago`.
    async fn missed(ago: Duration) -> MemoryStore {
        let gap = Duration::from_mins(10);
        let now = SystemClock.now_us() / 1000;
        let before = u64::try_from((ago + gap).as_millis()).unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_ms(now - before)));
        let store = MemoryStore::new(Arc::clone(&clock) as _);
        let rule = Rule::every(Duration::from_mins(1)).unwrap();
        let name = ScheduleName::new("late").unwrap();
        let mut schedule = Schedule::new(name, rule, NewJob::new("x"));
        schedule.missed = Missed::Skip;
        let queue = queue();
        let put = windlass_schedule::put(&store, &queue, schedule, None);
        put.await.unwrap();
        clock.advance(gap);
        let maintained = windlass_schedule::maintain(&store, &queue, PAGE);
        maintained.await.unwrap();
        store
    }

    async fn messages(store: &MemoryStore, stats: &Stats, has_worker: bool) -> Vec<String> {
        let checks = examine(store, &queue(), stats, has_worker).await.unwrap();
        let message = |check: Check| {
            assert_eq!(check.status, Status::Warn);
            check.message
        };
        checks.into_iter().map(message).collect()
    }

    #[tokio::test]
    async fn a_schedule_whose_queue_has_no_worker_is_a_warning() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        let stats = Stats {
            schedules: 1,
            ..Stats::default()
        };
        let warned = messages(&store, &stats, false).await;
        assert_eq!(warned.len(), 1);
        assert!(warned[0].contains("no worker"), "{warned:?}");
        assert!(messages(&store, &stats, true).await.is_empty());
        // These are reported for the queue.
        for reported in [
            Stats { ready: 1, ..stats },
            Stats {
                is_paused: true,
                ..stats
            },
        ] {
            assert!(messages(&store, &reported, false).await.is_empty());
        }
    }

    #[tokio::test]
    async fn a_schedule_that_missed_instants_is_a_warning_for_a_day() {
        let store = missed(Duration::from_mins(5)).await;
        let warned = messages(&store, &Stats::default(), true).await;
        assert_eq!(warned.len(), 1);
        let expected = "1 schedules missed instants in the last 24h, such as late";
        assert_eq!(warned[0], expected);
        let store = missed(Duration::from_hours(25)).await;
        assert!(messages(&store, &Stats::default(), true).await.is_empty());
    }
}
