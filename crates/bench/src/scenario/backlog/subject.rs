//! A queue with so many jobs waiting and as many scheduled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use windlass::store::{ClaimRequest, JobLease, Target};
use windlass::{Client, NewJob, QueueName, Result, Store};

use super::cost::Meter;
use crate::fault;
use crate::load::{payload, shares};
use crate::measure::real;
use crate::stage::Stage;

/// Jobs of one call that is measured; a claim hands out no more.
const BATCH: usize = 100;

/// Jobs of one call that fills.
const FILL_BATCH: u64 = 500;

/// Callers that fill at once.
const FILL_CALLERS: usize = 4;

/// Due times are drawn from an hour that begins in an hour: nothing falls due while it is measured.
const HOUR: Duration = Duration::from_secs(3_600);

/// The verbs that are measured, in the order of a step.
const VERBS: [&str; 4] = ["enqueue", "claim", "complete", "delayed"];

/// A store of one size, and what its steps have cost.
#[derive(Debug)]
pub(super) struct Subject {
    size: u64,
    store: Arc<dyn Store>,
    queue: QueueName,
    payload: Bytes,
    /// Microseconds and jobs, by verb.
    spent: [(f64, u64); VERBS.len()],
}

impl Subject {
    /// Fills a store.
    pub(super) async fn fill(stage: &Stage<'_>, size: u64) -> Result<Self> {
        let client = stage.client(&stage.place.beside()).await?;
        let queue = QueueName::new(format!("bench-{size}"))?;
        let payload = payload(stage.plan.payload);
        for is_delayed in [false, true] {
            let what = if is_delayed { "scheduled" } else { "waiting" };
            stage.progress.begin(&format!("backlog: {what}"), size);
            let done = Arc::new(AtomicU64::new(0));
            let callers = shares(size, FILL_CALLERS).map(|share| {
                let jobs = Filling {
                    client: client.clone(),
                    queue: queue.clone(),
                    payload: payload.clone(),
                    is_delayed,
                };
                let done = Arc::clone(&done);
                async move { jobs.fill(share, &done).await }
            });
            stage.follow(&done, stage.tasks.all(callers)).await?;
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

    /// A batch comes, a batch is claimed and completed, a batch is scheduled and withdrawn.
    pub(super) async fn step(&mut self, meter: &Meter) -> Result<()> {
        let before = meter.read().await?;
        let jobs = (0..BATCH).map(|_| NewJob::new(self.payload.clone()));
        self.store.enqueue(&self.queue, jobs.collect()).await?;
        let before = self.note(0, meter, before, BATCH).await?;

        let request = ClaimRequest::single(BATCH);
        let claim = self.store.claim(&self.queue, request).await?;
        let claim = claim.ok_or_else(|| fault::internal("no job is ready in the backlog"))?;
        let before = self.note(1, meter, before, claim.jobs.len()).await?;

        let held = claim.jobs.iter();
        let done: Vec<_> = held
            .map(|job| JobLease::new(job.id.clone(), claim.token).completion())
            .collect();
        let count = done.len();
        self.store.complete(&self.queue, done, None).await?;
        let before = self.note(2, meter, before, count).await?;

        let jobs: Vec<_> = (0..BATCH).map(|_| delayed(&self.payload)).collect();
        let ids = jobs.iter().map(|job| job.id.clone()).collect();
        self.store.enqueue(&self.queue, jobs).await?;
        self.note(3, meter, before, BATCH).await?;

        // What was scheduled goes again, unmeasured.
        let target = Target::Ids(ids);
        self.store.cancel(&self.queue, &target, None).await?;
        self.store.delete(&self.queue, &target, None).await?;
        Ok(())
    }

    async fn note(&mut self, verb: usize, meter: &Meter, before: f64, jobs: usize) -> Result<f64> {
        let after = meter.read().await?;
        if let Some((cost, count)) = self.spent.get_mut(verb) {
            *cost += after - before;
            *count += jobs as u64;
        }
        // What reading cost is nobody's.
        meter.read().await
    }

    /// Microseconds per job by verb, since this was last asked.
    pub(super) fn take_costs(&mut self) -> Vec<(&'static str, f64)> {
        let spent = std::mem::take(&mut self.spent);
        let each = spent.iter().map(|(cost, jobs)| cost / real(*jobs.max(&1)));
        VERBS.into_iter().zip(each).collect()
    }
}

/// What one caller fills with.
struct Filling {
    client: Client,
    queue: QueueName,
    payload: Bytes,
    is_delayed: bool,
}

impl Filling {
    async fn fill(&self, jobs: u64, done: &AtomicU64) -> Result<()> {
        let mut left = jobs;
        while left > 0 {
            let count = left.min(FILL_BATCH);
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
            left -= count;
        }
        Ok(())
    }
}

fn delayed(payload: &Bytes) -> NewJob {
    let delay = HOUR + HOUR.mul_f64(fastrand::f64());
    NewJob::new(payload.clone()).delay(delay)
}
