//! The schedules of a queue: whether a worker runs their jobs, and whether instants were missed.

use std::time::Duration;

use windlass::store::limits::PAGE;
use windlass::store::{
    Clock, Occurrence, ScheduleRecord, SkipReason, Stats, SystemClock, Timestamp,
};
use windlass::{QueueName, Store};

use super::Check;
use crate::exit::Result;

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
