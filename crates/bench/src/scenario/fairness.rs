//! How long the jobs of a small tenant wait next to a tenant with a million jobs, and how tenants with long and
//! short jobs share the slots of a worker.
//!
//! The small tenant is alone in its queue, next to a tenant that may not use all slots, and next to one that may, in
//! turn, so that other load on the machine affects all of them. Waits are counted from the time at which a job
//! should have been sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::{interval, sleep};
use windlass::runtime::AttemptContext;
use windlass::store::GroupName;
use windlass::{Bytes, Client, NewJob, Outcome, QueueName, Result, StoreUrl};

use crate::context::BenchContext;
use crate::load::{QUEUE, RunningWorker, batches, enqueue_bulk, enqueue_on, payload};
use crate::measure::{Latencies, Round, over, real};

/// Waiting jobs of the large tenant.
const JOBS: u64 = 1_000_000;

/// Jobs per second of the small tenant.
const RATE: u32 = 100;

/// The slots of the worker, and those that one tenant may use.
const SLOTS: usize = 10;
const SLOTS_OF_ONE: usize = 5;

/// Time before the first job, in which the large tenant fills its slots.
const LEAD: Duration = Duration::from_millis(300);

/// How long a job of a tenant takes.
const SHORT: Duration = Duration::from_millis(10);
const LONG: Duration = Duration::from_secs(1);

/// How often the slots in use are counted.
const COUNT_INTERVAL: Duration = Duration::from_millis(5);

/// Fills the queue of the large tenant, then runs all rounds.
pub(super) async fn rounds(context: &BenchContext<'_>, count: usize) -> Result<Vec<Round>> {
    let jobs = context.plan.jobs_or(JOBS);
    let url = context.target.fresh().await?;
    let client = context.client(&url).await?;
    let (body, large) = (payload(context.plan.payload), GroupName::new("large")?);
    context.progress.begin("fairness: fill", jobs);
    enqueue_bulk(context, &client, jobs, move |_| {
        NewJob::new(body.clone()).group(large.clone())
    })
    .await?;
    let mut rounds = Vec::new();
    for _ in 0..count {
        let mut round = Round::default();
        let alone = wait(context, &url, &client, "alone", SLOTS_OF_ONE).await?;
        alone.record_to(&mut round, "alone_ms");
        for (name, slots) in [("limited", SLOTS_OF_ONE), ("unlimited", SLOTS)] {
            let waits = wait(context, &url, &client, QUEUE, slots).await?;
            waits.record_to(&mut round, &format!("{name}_ms"));
            for (name_of, quantile) in [("p50", 0.5), ("p99", 0.99)] {
                let ratio = over(
                    waits.quantile_ms(quantile),
                    Some(alone.quantile_ms(quantile)),
                );
                round.record_some(format!("ratio.{name}.{name_of}"), ratio);
            }
        }
        shares(context, &url, &client, &mut round).await?;
        rounds.push(round);
    }
    Ok(rounds)
}

/// How long the jobs of the small tenant wait in a queue in which a group may use `slots`.
async fn wait(
    context: &BenchContext<'_>,
    url: &StoreUrl,
    client: &Client,
    queue: &str,
    slots: usize,
) -> Result<Arc<Latencies>> {
    let name = QueueName::new(queue)?;
    let limit = format!("group_max_running={slots}").parse()?;
    client.store().set(&name, vec![limit]).await?;
    let rate = context.plan.rate.unwrap_or(RATE);
    let pace = Duration::from_secs(1) / rate;
    let jobs = times(context.plan.within, pace).max(1);
    context
        .progress
        .begin(&format!("fairness: {queue}, {slots} slots"), jobs);

    let waits = Arc::new(Latencies::new());
    let (done, start) = (Arc::new(AtomicU64::new(0)), Instant::now() + LEAD);
    let worker = {
        let (waits, done) = (Arc::clone(&waits), Arc::clone(&done));
        RunningWorker::start_on(context, url, name, SLOTS, jobs, move |attempt| {
            let number = number_of(&attempt);
            if let Some(number) = number {
                waits.record(start.elapsed().saturating_sub(pace * number));
                done.fetch_add(1, Ordering::Relaxed);
            }
            async move {
                if number.is_none() {
                    sleep(SHORT).await;
                }
                Outcome::done()
            }
        })
        .await?
    };
    let group = GroupName::new("small")?;
    for number in 0..u32::try_from(jobs).unwrap_or(u32::MAX) {
        tokio::time::sleep_until((start + pace * number).into()).await;
        let job = NewJob::new(Bytes::from(number.to_be_bytes().to_vec()));
        enqueue_on(client, queue, vec![job.group(group.clone())]).await?;
        context.progress.reached(number.into());
    }
    while done.load(Ordering::Relaxed) < jobs {
        sleep(SHORT).await;
    }
    worker.end().await?;
    Ok(waits)
}

/// How often a time fits into a span.
fn times(span: Duration, time: Duration) -> u64 {
    u64::try_from(span.as_nanos() / time.as_nanos()).unwrap_or(u64::MAX)
}

/// The number of a job of the small tenant.
fn number_of(attempt: &AttemptContext) -> Option<u32> {
    let payload: &[u8] = &attempt.job().payload;
    payload.try_into().ok().map(u32::from_be_bytes)
}

/// Records how many slots tenants with long and with short jobs use, on average.
async fn shares(
    context: &BenchContext<'_>,
    url: &StoreUrl,
    client: &Client,
    round: &mut Round,
) -> Result<()> {
    let queue = format!("shares-{}", fastrand::u64(..));
    let span = context.plan.within;
    let tenants = [("long", LONG), ("short", SHORT)];
    for (tenant, time) in tenants {
        // Enough for all slots all the time.
        let jobs = SLOTS as u64 * (times(span + LEAD, time) + 2);
        let group = GroupName::new(tenant)?;
        for batch in batches(jobs, context.plan.batch) {
            let jobs = (0..batch).map(|_| NewJob::new(tenant).group(group.clone()));
            enqueue_on(client, &queue, jobs.collect()).await?;
        }
    }
    let running: Arc<[AtomicU64; 2]> = Arc::default();
    let worker = {
        let running = Arc::clone(&running);
        let name = QueueName::new(queue)?;
        RunningWorker::start_on(context, url, name, SLOTS, 1, move |attempt| {
            let tenant = usize::from(attempt.job().payload != tenants[0].0);
            let running = Arc::clone(&running);
            async move {
                running[tenant].fetch_add(1, Ordering::Relaxed);
                sleep(tenants[tenant].1).await;
                running[tenant].fetch_sub(1, Ordering::Relaxed);
                Outcome::done()
            }
        })
        .await?
    };
    sleep(LEAD).await;
    let (mut ticks, end) = (interval(COUNT_INTERVAL), Instant::now() + span);
    let (mut counted, mut sums) = (0, [0; 2]);
    while Instant::now() < end {
        ticks.tick().await;
        counted += 1;
        for (sum, running) in sums.iter_mut().zip(running.iter()) {
            *sum += running.load(Ordering::Relaxed);
        }
    }
    worker.end().await?;
    for ((tenant, _), sum) in tenants.iter().zip(sums) {
        round.record(format!("slots.{tenant}"), real(sum) / real(counted));
    }
    Ok(())
}
