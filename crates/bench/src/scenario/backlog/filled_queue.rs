//! A queue with a number of ready jobs and as many scheduled ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use windlass::store::{Change, ClaimRequest, JobLease, Target};
use windlass::{Client, NewJob, QueueName, Result, Store};

use super::cost::Meter;
use crate::context::BenchContext;
use crate::error;
use crate::load::{batches, payload, shares};
use crate::measure::real;

/// Jobs per measured call, the maximum of a claim.
const BATCH: usize = 100;

/// Jobs per call while filling.
const FILL_BATCH: usize = 500;

/// Concurrent callers while filling.
const FILL_CALLERS: usize = 4;

/// Due times are random within an hour that begins in an hour: no job is due while measuring.
const HOUR: Duration = Duration::from_secs(3_600);

/// The measured verbs, in the order of a step.
const VERBS: [&str; 4] = ["enqueue", "claim", "complete", "delayed"];

/// A filled queue, and the cost of its steps.
#[derive(Debug)]
pub(super) struct FilledQueue {
    size: u64,
    store: Arc<dyn Store>,
    queue: QueueName,
    payload: Bytes,
    /// Microseconds and jobs, by verb.
    spent: [(f64, u64); VERBS.len()],
}

impl FilledQueue {
    /// Fills a queue.
    pub(super) async fn fill(context: &BenchContext<'_>, size: u64) -> Result<Self> {
        let client = context.client(&context.target.additional()).await?;
        let queue = QueueName::new(format!("bench-{size}"))?;
        let payload = payload(context.plan.payload);
        for is_delayed in [false, true] {
            let what = if is_delayed { "scheduled" } else { "waiting" };
            context.progress.begin(&format!("backlog: {what}"), size);
            let done = Arc::new(AtomicU64::new(0));
            let callers = shares(size, FILL_CALLERS).map(|share| {
                let jobs = Filler {
                    client: client.clone(),
                    queue: queue.clone(),
                    payload: payload.clone(),
                    is_delayed,
                };
                let done = Arc::clone(&done);
                async move { jobs.fill(share, &done).await }
            });
            context.follow(&done, context.tasks.all(callers)).await?;
        }
        Ok(Self {
            size,
            store: Arc::clone(client.store()),
            queue,
            payload,
            spent: Default::default(),
        })
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Enqueues a batch, claims and completes a batch, schedules a batch and removes it.
    pub(super) async fn step(&mut self, meter: &Meter) -> Result<()> {
        let before = meter.read().await?;
        let jobs = (0..BATCH).map(|_| NewJob::new(self.payload.clone()));
        self.store.enqueue(&self.queue, jobs.collect()).await?;
        let before = self.record(0, meter, before, BATCH).await?;

        let request = ClaimRequest::single(BATCH);
        let claim = self.store.claim(&self.queue, request).await?;
        let claim = claim.ok_or_else(|| error::internal("no job is ready in the backlog"))?;
        let before = self.record(1, meter, before, claim.jobs.len()).await?;

        let claimed = claim.jobs.iter();
        let done: Vec<_> = claimed
            .map(|job| JobLease::new(job.id.clone(), claim.token).completion())
            .collect();
        let count = done.len();
        self.store.complete(&self.queue, done, None).await?;
        let before = self.record(2, meter, before, count).await?;

        let jobs: Vec<_> = (0..BATCH).map(|_| delayed(&self.payload)).collect();
        let ids = jobs.iter().map(|job| job.id.clone()).collect();
        self.store.enqueue(&self.queue, jobs).await?;
        self.record(3, meter, before, BATCH).await?;

        // Remove the scheduled batch, unmeasured.
        let target = Target::Ids(ids);
        self.store
            .change(&self.queue, Change::Cancel, &target, None)
            .await?;
        self.store
            .change(&self.queue, Change::Delete, &target, None)
            .await?;
        Ok(())
    }

    async fn record(
        &mut self,
        verb: usize,
        meter: &Meter,
        before: f64,
        jobs: usize,
    ) -> Result<f64> {
        let after = meter.read().await?;
        if let Some((cost, count)) = self.spent.get_mut(verb) {
            *cost += after - before;
            *count += jobs as u64;
        }
        // Exclude the cost of reading.
        meter.read().await
    }

    /// Microseconds per job by verb since the last call.
    pub(super) fn take_costs(&mut self) -> Vec<(&'static str, f64)> {
        let spent = std::mem::take(&mut self.spent);
        let each = spent.iter().map(|(cost, jobs)| cost / real(*jobs.max(&1)));
        VERBS.into_iter().zip(each).collect()
    }
}

/// Fills a queue from one caller.
struct Filler {
    client: Client,
    queue: QueueName,
    payload: Bytes,
    is_delayed: bool,
}

impl Filler {
    async fn fill(&self, jobs: u64, done: &AtomicU64) -> Result<()> {
        for count in batches(jobs, FILL_BATCH) {
            let batch = (0..count).map(|_| {
                if self.is_delayed {
                    delayed(&self.payload)
                } else {
                    NewJob::new(self.payload.clone())
                }
            });
            let store = self.client.store();
            store.enqueue(&self.queue, batch.collect()).await?;
            done.fetch_add(count, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn delayed(payload: &Bytes) -> NewJob {
    let delay = HOUR + HOUR.mul_f64(fastrand::f64());
    NewJob::new(payload.clone()).delay(delay)
}
