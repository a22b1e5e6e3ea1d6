//! How late delayed jobs start that fall due evenly within a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use windlass::store::{Clock, SystemClock};
use windlass::{NewJob, Result, Timestamp};

use crate::load::{Working, enqueue_bulk, payload};
use crate::measure::{Latencies, Round, over, real};
use crate::stage::Stage;

const JOBS: u64 = 10_000;

/// Jobs by which it is found out how fast delayed jobs go in.
const TRIAL_MAX: u64 = 20_000;

/// Room beyond what enqueueing is expected to take: as much again, and this.
const LEAD_MIN: Duration = Duration::from_secs(2);

/// Nothing of a trial falls due while the bench runs.
const FAR: Duration = Duration::from_secs(24 * 60 * 60);

/// A call of Redis above this long keeps everybody waiting.
const SLOW: Duration = Duration::from_millis(10);

pub(super) async fn round(stage: &Stage<'_>) -> Result<Round> {
    let jobs = stage.plan.jobs_or(JOBS);
    let lead = lead(stage, jobs).await?;
    let url = stage.place.fresh().await?;
    let client = stage.client(&url).await?;
    let probe = stage.probe().await?;
    // The log of slow calls is the whole server's: only on one of our own.
    let slow_log = probe
        .server
        .as_ref()
        .filter(|_| stage.place.server().is_some());
    if let Some(server) = slow_log {
        server.watch_slow_calls(SLOW).await?;
    }
    let before = match &probe.server {
        Some(server) => Some(server.read().await?),
        None => None,
    };

    let (waits, early) = (Arc::new(Latencies::new()), Arc::new(AtomicU64::new(0)));
    let mut working = {
        let (waits, early) = (Arc::clone(&waits), Arc::clone(&early));
        Working::start(stage, &url, jobs, move |context| {
            let now = SystemClock.now_us();
            let due = context.job().due_at.as_ms() * 1_000;
            if now < due {
                early.fetch_add(1, Ordering::Relaxed);
            }
            waits.record(Duration::from_micros(now.saturating_sub(due)));
        })
        .await?
    };
    let start = Timestamp::from_ms(now_ms()).plus(lead);
    let step = stage.plan.within.as_secs_f64() / real(jobs);
    let body = payload(stage.plan.payload);
    let due = move |number| start.plus(Duration::from_secs_f64(step * real(number)));
    stage.progress.begin("delayed: enqueue", jobs);
    enqueue_bulk(stage, &client, jobs, move |number| {
        NewJob::new(body.clone()).at(due(number))
    })
    .await?;
    let is_late = now_ms() > start.as_ms();
    stage.progress.begin("delayed: run", jobs);
    working.reached(stage).await?;
    working.end().await?;

    let mut round = Round::default();
    round.count("jobs", jobs);
    round.count("early", early.load(Ordering::Relaxed));
    // Then some were due before they were there, and count as late for it.
    round.count("late_start", u64::from(is_late));
    waits.note(&mut round, "lateness_ms");
    if let (Some(server), Some(before)) = (slow_log, before) {
        let (slow, longest) = server.slow_calls().await?;
        let calls = server.read().await?.scripts - before.scripts;
        round.count("slow_calls", slow);
        round.note_some("slow_call_share", over(real(slow), Some(calls)));
        round.note("longest_call_ms", longest.as_secs_f64() * 1e3);
    }
    Ok(round)
}

/// How long to put everything off, so that all is enqueued before the first falls due.
async fn lead(stage: &Stage<'_>, jobs: u64) -> Result<Duration> {
    let url = stage.place.fresh().await?;
    let client = stage.client(&url).await?;
    let trial = jobs.min(TRIAL_MAX);
    stage.progress.begin("delayed: trial", trial);
    let body = payload(stage.plan.payload);
    let took = enqueue_bulk(stage, &client, trial, move |_| {
        NewJob::new(body.clone()).delay(FAR)
    })
    .await?;
    Ok(LEAD_MIN + took.mul_f64(2.0 * real(jobs) / real(trial)))
}

fn now_ms() -> u64 {
    SystemClock.now_us() / 1_000
}
