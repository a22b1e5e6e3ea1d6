//! How late delayed jobs start, with due times spread evenly over a time span.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use windlass::store::{Clock, SystemClock};
use windlass::{NewJob, Result, Timestamp};

use crate::context::BenchContext;
use crate::load::{RunningWorker, enqueue_bulk, payload};
use crate::measure::{Latencies, Round, over, real};

const JOBS: u64 = 10_000;

/// Maximum jobs of the trial that measures how fast delayed jobs are enqueued.
const TRIAL_MAX: u64 = 20_000;

/// Margin on top of twice the expected time to enqueue.
const LEAD_MIN: Duration = Duration::from_secs(2);

/// Trial jobs are never due during the bench.
const FAR: Duration = Duration::from_secs(24 * 60 * 60);

/// A Redis call slower than this blocks other clients noticeably.
const SLOW: Duration = Duration::from_millis(10);

pub(super) async fn round(context: &BenchContext<'_>) -> Result<Round> {
    let jobs = context.plan.jobs_or(JOBS);
    let lead = lead(context, jobs).await?;
    let url = context.target.fresh().await?;
    let client = context.client(&url).await?;
    let probe = context.probe().await?;
    // The slow log belongs to the whole server: use it only on a private one.
    let slow_log = probe
        .server
        .as_ref()
        .filter(|_| context.target.aof().is_some());
    if let Some(server) = slow_log {
        server.watch_slow_calls(SLOW).await?;
    }
    let before = match &probe.server {
        Some(server) => Some(server.read().await?),
        None => None,
    };

    let (waits, early) = (Arc::new(Latencies::new()), Arc::new(AtomicU64::new(0)));
    let mut worker = {
        let (waits, early) = (Arc::clone(&waits), Arc::clone(&early));
        RunningWorker::start(context, &url, jobs, move |context| {
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
    let interval = context.plan.within.as_secs_f64() / real(jobs);
    let body = payload(context.plan.payload);
    let due = move |number| start.plus(Duration::from_secs_f64(interval * real(number)));
    context.progress.begin("delayed: enqueue", jobs);
    enqueue_bulk(context, &client, jobs, move |number| {
        NewJob::new(body.clone()).at(due(number))
    })
    .await?;
    let is_late = now_ms() > start.as_ms();
    context.progress.begin("delayed: run", jobs);
    worker.reached(context).await?;
    worker.end().await?;

    let mut round = Round::default();
    round.count("jobs", jobs);
    round.count("early", early.load(Ordering::Relaxed));
    // Some jobs were due before they were enqueued, and count as late.
    round.count("late_start", u64::from(is_late));
    waits.record_to(&mut round, "lateness_ms");
    if let (Some(server), Some(before)) = (slow_log, before) {
        let (slow, longest) = server.slow_calls().await?;
        let calls = server.read().await?.scripts - before.scripts;
        round.count("slow_calls", slow);
        round.record_some("slow_call_share", over(real(slow), Some(calls)));
        round.record("longest_call_ms", longest.as_secs_f64() * 1e3);
    }
    Ok(round)
}

/// The delay of the first job, so that all are enqueued before it is due.
async fn lead(context: &BenchContext<'_>, jobs: u64) -> Result<Duration> {
    let url = context.target.fresh().await?;
    let client = context.client(&url).await?;
    let trial = jobs.min(TRIAL_MAX);
    context.progress.begin("delayed: trial", trial);
    let body = payload(context.plan.payload);
    let took = enqueue_bulk(context, &client, trial, move |_| {
        NewJob::new(body.clone()).delay(FAR)
    })
    .await?;
    Ok(LEAD_MIN + took.mul_f64(2.0 * real(jobs) / real(trial)))
}

fn now_ms() -> u64 {
    SystemClock.now_us() / 1_000
}
