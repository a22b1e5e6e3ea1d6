//! How late an idle worker starts the jobs of schedules that all fire every second, at the same instants.

use std::sync::Arc;
use std::time::Duration;

use windlass::store::{Clock, Overlap, SystemClock};
use windlass::{JobId, Result, Schedule};

use crate::context::BenchContext;
use crate::load::{QUEUE, RunningWorker, payload};
use crate::measure::{Latencies, Round};

const SCHEDULES: u64 = 200;

/// All instants are whole seconds.
const PERIOD: Duration = Duration::from_secs(1);

/// An id is only read to the minute: no job is later than this.
const HOUR_US: u64 = 3_600_000_000;

pub(super) async fn round(context: &BenchContext<'_>) -> Result<Round> {
    let count = context.plan.jobs_or(SCHEDULES);
    let url = context.target.fresh().await?;
    let client = context.client(&url).await?;
    let schedules = client.schedules(QUEUE);
    context.progress.begin("schedules: put", count);
    for number in 0..count {
        let schedule = Schedule::every(&format!("s{number:05}"), PERIOD);
        let schedule = schedule.overlap(Overlap::Allow);
        schedules
            .put(schedule.raw(payload(context.plan.payload)))
            .await?;
        context.progress.reached(number);
    }

    let waits = Arc::new(Latencies::new());
    let instants = context.plan.within.as_secs().max(1);
    let mut worker = {
        let waits = Arc::clone(&waits);
        RunningWorker::start(context, &url, count * instants, move |context| {
            if let Some(wait) = lateness(&context.job().id, SystemClock.now_us()) {
                waits.record(wait);
            }
        })
        .await?
    };
    context.progress.begin("schedules: run", count * instants);
    worker.reached(context).await?;
    worker.end().await?;

    let mut round = Round::default();
    round.count("jobs", count * instants);
    waits.record_to(&mut round, "lateness_ms");
    Ok(round)
}

/// How long after its instant, which is the end of its id, a job started.
fn lateness(id: &JobId, now_us: u64) -> Option<Duration> {
    let (_, minutes_and_seconds) = id.as_str().strip_suffix('Z')?.split_once(':')?;
    let (minutes, seconds) = minutes_and_seconds.split_once(':')?;
    let (minutes, seconds): (u64, u64) = (minutes.parse().ok()?, seconds.parse().ok()?);
    let instant_us = (minutes * 60 + seconds) * 1_000_000;
    Some(Duration::from_micros(
        (now_us % HOUR_US + HOUR_US - instant_us) % HOUR_US,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_counts_from_the_instant_in_the_id() {
        let id = JobId::new("s00001@2026-03-29T01:59:59Z").unwrap();
        let at_us = 1_774_749_599_000_000;
        for late_us in [0, 7, 1_500_000] {
            let late = lateness(&id, at_us + late_us);
            assert_eq!(late, Some(Duration::from_micros(late_us)));
        }
        assert_eq!(lateness(&JobId::new("other").unwrap(), at_us), None);
    }
}
