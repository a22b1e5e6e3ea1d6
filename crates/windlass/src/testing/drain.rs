//! Runs all ready jobs one after the other, in the calling task.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::{ClaimedJob, Jitter, Retry};
use windlass_core::{
    ClaimRequest, JobId, JobLease, LeaseTime, Mode, OutcomeStatus, QueueName, Result, Store, Token,
};
use windlass_worker::{Outcome, RetryWhen, Summary};

use super::Testing;
use crate::worker::Worker;

/// The most attempts of one drain, of all jobs and of a single one, so that a test with jobs that
/// snooze or enqueue others forever fails instead of hanging.
const ATTEMPTS_MAX: u64 = 20_000;
const ATTEMPTS_OF_ONE_MAX: u32 = 1_000;

impl Testing {
    /// Runs every ready job of a worker's queues, one after the other, including those that they enqueue.
    /// Jobs that are due later stay; a job that its handler releases does not run again.
    ///
    /// Panics if the worker would not start.
    pub async fn drain(&self, worker: &Worker) -> Summary {
        let mut drain = Drain::new(worker);
        drain.ready().await;
        drain.release().await;
        drain.summary
    }

    /// Like [`drain`](Self::drain), but when nothing is ready, advances the clock to the next due time
    /// until no job is left: retries and delays take no time. A job that its handler releases runs again
    /// after the clock has advanced.
    pub async fn drain_all(&self, worker: &Worker) -> Summary {
        let mut drain = Drain::new(worker);
        loop {
            drain.ready().await;
            drain.release().await;
            match drain.next_due().await {
                Some(wait) => self.advance(wait),
                None => return drain.summary,
            }
        }
    }
}

/// A drain in progress.
struct Drain {
    store: Arc<dyn Store>,
    queues: Vec<QueueName>,
    handler: Arc<dyn windlass_worker::Handle>,
    mode: Mode,
    summary: Summary,
    attempts: u64,
    attempts_of: HashMap<JobId, u32>,
    released: Vec<(QueueName, JobLease)>,
}

impl Drain {
    fn new(worker: &Worker) -> Self {
        let (options, handler) = worker.parts().unwrap_or_else(|error| {
            panic!("the worker would not start: {error}; {}", error.help())
        });
        let queues = options.queues.into_iter().map(|source| source.queue);
        Self {
            store: Arc::clone(worker.client().store()),
            queues: queues.collect(),
            handler,
            mode: options.mode,
            summary: Summary::default(),
            attempts: 0,
            attempts_of: HashMap::new(),
            released: Vec::new(),
        }
    }

    /// Runs the ready jobs, queue by queue, until a round finds none.
    async fn ready(&mut self) {
        loop {
            let before = self.attempts;
            for queue in self.queues.clone() {
                while let Some((job, token)) = self.claimed(&queue).await {
                    self.attempt(&queue, job, token).await;
                }
            }
            if self.attempts == before {
                return;
            }
        }
    }

    async fn claimed(&self, queue: &QueueName) -> Option<(ClaimedJob, Token)> {
        // Never expires, even if the test advances the clock.
        let request = ClaimRequest::single(1)
            .lease(LeaseTime::MAX)
            .mode(self.mode);
        let claim = self.store.claim(queue, request).await;
        let claim = claim.expect("the store replies")?;
        claim.jobs.into_iter().next().map(|job| (job, claim.token))
    }

    async fn attempt(&mut self, queue: &QueueName, job: ClaimedJob, token: Token) {
        self.attempts += 1;
        assert!(
            self.attempts <= ATTEMPTS_MAX,
            "there are still jobs after {ATTEMPTS_MAX} attempts: they enqueue each other forever"
        );
        let attempts_of = self.attempts_of.entry(job.id.clone()).or_default();
        *attempts_of += 1;
        assert!(
            *attempts_of <= ATTEMPTS_OF_ONE_MAX,
            "job {} of kind {:?} ran {ATTEMPTS_OF_ONE_MAX} times: it never ends",
            job.id,
            job.kind
        );
        let lease = JobLease::new(job.id.clone(), token);
        let store = Arc::clone(&self.store);
        let context = windlass_worker::AttemptContext::detached(store, queue.clone(), job, token);
        let outcome = self.handler.handle(context).await;
        if self.mode == Mode::AtMostOnce {
            // It counted as succeeded when it was claimed.
            self.summary.succeeded += 1;
            return;
        }
        if outcome == Outcome::Release {
            // Not released yet: this loop would claim it again forever.
            self.summary.released += 1;
            self.released.push((queue.clone(), lease));
            return;
        }
        let status = match self.report(queue, lease.clone(), outcome).await {
            Ok(status) => status,
            // The store rejects the outcome, for example a result that is too large.
            Err(error) => self
                .report(queue, lease, Outcome::permanent(error.to_string()))
                .await
                .expect("the store replies"),
        };
        self.summary.count(status);
    }

    async fn report(
        &self,
        queue: &QueueName,
        lease: JobLease,
        outcome: Outcome,
    ) -> Result<OutcomeStatus> {
        let store = &self.store;
        let status = match outcome {
            Outcome::Done(result) => {
                let mut completion = lease.completion();
                completion.result = result;
                store
                    .complete(queue, vec![completion], None)
                    .await?
                    .statuses
            }
            Outcome::Failed { error, retry } => {
                let retry = match retry {
                    RetryWhen::At(due) => Retry::At(due),
                    RetryWhen::Never => Retry::Permanent,
                    // The full delay without jitter, so that tests are deterministic.
                    _ => Retry::ByPolicy(Jitter(u16::MAX)),
                };
                let failure = lease.failure(error).retry(retry);
                store.fail(queue, vec![failure]).await?
            }
            Outcome::Snooze { due, scope } => {
                let snooze = lease.snooze(due).scope(scope);
                store.snooze(queue, vec![snooze]).await?
            }
            _ => store.release(queue, vec![lease]).await?,
        };
        Ok(status.into_iter().next().unwrap_or(OutcomeStatus::Gone))
    }

    /// Returns the time until the next job of any queue is due.
    async fn next_due(&self) -> Option<Duration> {
        let mut next: Option<u64> = None;
        for queue in &self.queues {
            let stats = self.store.stats(queue).await.expect("the store replies");
            let due = stats.and_then(|stats| stats.next_due_ms);
            next = next.into_iter().chain(due).min();
        }
        next.map(Duration::from_millis)
    }

    async fn release(&mut self) {
        // Each goes to the front, so the last one first keeps their order.
        for (queue, lease) in self.released.drain(..).rev() {
            let released = self.store.release(&queue, vec![lease]).await;
            released.expect("the store replies");
        }
    }
}
