//! Running every job that is ready, one after the other, in the task that asks.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::{
    ClaimRequest, ClaimedJob, Jitter, JobId, JobLease, Mode, OutcomeStatus, QueueName, Result,
    Retry, Store, Token,
};
use windlass_worker::{RetryWhen, Outcome, Summary};

use super::Testing;
use crate::worker::Worker;

/// How many attempts one drain makes at most, of all jobs and of one: jobs that put themselves off or
/// enqueue others for ever are a fault of the test, and it should end.
const ATTEMPTS_MAX: u64 = 20_000;
const ATTEMPTS_OF_ONE_MAX: u32 = 1_000;

impl Testing {
    /// Runs every ready job of a worker's queues to its end, one after the other, and what those
    /// enqueue. Jobs that fall due later stay; a job that its handler gives back is not run again.
    ///
    /// Panics when the worker would not start.
    pub async fn drain(&self, worker: &Worker) -> Summary {
        let mut drain = Drain::new(worker);
        drain.ready().await;
        drain.give_back().await;
        drain.summary
    }

    /// Drains as [`drain`](Self::drain) does and, when nothing is ready, moves the clock to the next
    /// due time, until no job falls due any more: retries and delays pass at once. A job that its
    /// handler gives back runs again when the clock has moved.
    pub async fn drain_all(&self, worker: &Worker) -> Summary {
        let mut drain = Drain::new(worker);
        loop {
            drain.ready().await;
            drain.give_back().await;
            match drain.next_due().await {
                Some(wait) => self.advance(wait),
                None => return drain.summary,
            }
        }
    }
}

/// A drain under way.
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
        let (queues, handler, mode) = worker.rehearsed().unwrap_or_else(|error| {
            panic!("the worker would not start: {error}; {}", error.help())
        });
        Self {
            store: Arc::clone(worker.client().store()),
            queues,
            handler,
            mode,
            summary: Summary::default(),
            attempts: 0,
            attempts_of: HashMap::new(),
            released: Vec::new(),
        }
    }

    /// Runs what is ready, queue by queue, until a whole round finds nothing.
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
        // Longer than any clock of a test goes on.
        let lease = windlass_core::limits::LEASE_MAX;
        let request = ClaimRequest::single(1).lease(lease).mode(self.mode);
        let claim = self.store.claim(queue, request).await;
        let claim = claim.expect("the store answers")?;
        claim.jobs.into_iter().next().map(|job| (job, claim.token))
    }

    async fn attempt(&mut self, queue: &QueueName, job: ClaimedJob, token: Token) {
        self.attempts += 1;
        assert!(
            self.attempts <= ATTEMPTS_MAX,
            "after {ATTEMPTS_MAX} attempts there are still jobs: they enqueue each other for ever"
        );
        let attempts_of = self.attempts_of.entry(job.id.clone()).or_default();
        *attempts_of += 1;
        assert!(
            *attempts_of <= ATTEMPTS_OF_ONE_MAX,
            "job {} of kind {:?} was tried {ATTEMPTS_OF_ONE_MAX} times: it never ends",
            job.id,
            job.kind
        );
        let hold = JobLease::new(job.id.clone(), token);
        let store = Arc::clone(&self.store);
        let context = windlass_worker::AttemptContext::detached(store, queue.clone(), job, token);
        let outcome = self.handler.handle(context).await;
        if self.mode == Mode::AtMostOnce {
            // It had succeeded before it began.
            self.summary.succeeded += 1;
            return;
        }
        if outcome == Outcome::Release {
            // At the front it would be claimed again at once, and for ever.
            self.summary.released += 1;
            self.released.push((queue.clone(), hold));
            return;
        }
        let settled = match self.settle(queue, hold.clone(), outcome).await {
            Ok(settled) => settled,
            // The store refuses what the handler said, a result that is too large for one.
            Err(error) => self
                .settle(queue, hold, Outcome::permanent(error.to_string()))
                .await
                .expect("the store answers"),
        };
        self.count(settled);
    }

    async fn settle(
        &self,
        queue: &QueueName,
        hold: JobLease,
        outcome: Outcome,
    ) -> Result<OutcomeStatus> {
        let store = &self.store;
        let settled = match outcome {
            Outcome::Done(result) => {
                let mut completion = hold.completion();
                completion.result = result;
                store
                    .complete(queue, vec![completion], None)
                    .await?
                    .statuses
            }
            Outcome::Failed { error, retry } => {
                let retry = match again {
                    RetryWhen::At(due) => Retry::At(due),
                    RetryWhen::Never => Retry::Permanent,
                    // The whole delay: what a test sees is not left to chance.
                    _ => Retry::ByPolicy(Jitter(u16::MAX)),
                };
                let failure = hold.failure(error).retry(retry);
                store.fail(queue, vec![failure]).await?
            }
            Outcome::Snooze(due) => store.snooze(queue, vec![hold.snooze(due)]).await?,
            _ => store.release(queue, vec![hold]).await?,
        };
        Ok(settled.into_iter().next().unwrap_or(OutcomeStatus::Gone))
    }

    fn count(&mut self, settled: OutcomeStatus) {
        let summary = &mut self.summary;
        match settled {
            OutcomeStatus::Completed => summary.succeeded += 1,
            OutcomeStatus::Retrying => summary.failed += 1,
            OutcomeStatus::Dead => summary.dead += 1,
            OutcomeStatus::Released => summary.released += 1,
            OutcomeStatus::Snoozed => summary.snoozed += 1,
            OutcomeStatus::Cancelled => summary.cancelled += 1,
            OutcomeStatus::LeaseLost | OutcomeStatus::Gone => summary.lost += 1,
        }
    }

    /// How long until the next job of any queue falls due.
    async fn next_due(&self) -> Option<Duration> {
        let mut next = None;
        for queue in &self.queues {
            let stats = self.store.stats(queue).await;
            let due = stats
                .expect("the store answers")
                .and_then(|stats| stats.next_due_ms);
            next = match (next, due) {
                (Some(next), Some(due)) => Some(std::cmp::min::<u64>(next, due)),
                (next, due) => next.or(due),
            };
        }
        next.map(Duration::from_millis)
    }

    async fn give_back(&mut self) {
        // The last one goes to the front first, so that they stand there in their order.
        for (queue, hold) in self.released.drain(..).rev() {
            let given = self.store.release(&queue, vec![hold]).await;
            given.expect("the store answers");
        }
    }
}
