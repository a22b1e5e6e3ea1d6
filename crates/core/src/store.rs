//! The contract every store keeps. The memory store is its executable specification.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::change::{Changes, Cursor, Filter, Page, Target};
use crate::claim::{Claim, ClaimRequest, Renewal, Renewed};
use crate::error::Result;
use crate::job::{Enqueued, Job, NewJob};
use crate::limits::Limits;
use crate::maintenance::{Audited, Maintained};
use crate::name::{BootId, JobId, QueueName};
use crate::notification::Watch;
use crate::outcome::{
    Completed, Completion, Failure, JobLease, LeaseStatus, OutcomeStatus, Snooze,
};
use crate::queue::Stats;
use crate::setting::{Setting, Settings};
use crate::worker::{Heartbeat, NewWorker, WorkerCommand, WorkerRecord};

/// A place that keeps queues.
///
/// Every change of a job's state is one atomic step inside the store. Verbs take batches; each item
/// has its own answer. An error means that the store could not answer at all: unless it
/// [is unknown](crate::Error::is_unknown), nothing was done. Every call may be repeated: it is
/// told the same, or changes nothing. (An enqueue with a generated id that is repeated after its
/// job has ended and was not kept is a new job; an id of your own is remembered.)
///
/// ```
/// use std::sync::Arc;
/// use windlass_core::{ClaimRequest, JobLease, NewJob, QueueName, OutcomeStatus, Store, SystemClock};
/// # use windlass_store_memory::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> windlass_core::Result<()> {
/// # let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
/// let mail = QueueName::new("mail")?;
/// store.enqueue(&mail, vec![NewJob::new("dear Ann")]).await?;
/// let claim = store.claim(&mail, ClaimRequest::single(1)).await?.expect("a job is ready");
///
/// let hold = JobLease::new(claim.jobs[0].id.clone(), claim.token);
/// let failed = store.fail(&mail, vec![hold.clone().failure("no stamp")]).await?;
/// assert_eq!(failed, [OutcomeStatus::Retrying]); // again later
/// let late = store.complete(&mail, vec![hold.completion()], None).await?;
/// assert_eq!(late.statuses, [OutcomeStatus::LeaseLost]); // the token holds it no more
/// # Ok(()) }
/// ```
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug {
    /// Stores jobs; the same id, or a unique key that is held, is a duplicate.
    async fn enqueue(&self, queue: &QueueName, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>>;

    /// Hands out jobs: promotes what is due, reaps what expired, then takes over the priorities in
    /// turn. Nothing to hand out is `None`.
    async fn claim(&self, queue: &QueueName, request: ClaimRequest) -> Result<Option<Claim>>;

    /// Claims jobs and, where there are none, waits for some for as long as `wait`.
    ///
    /// A worker's claim that was answered with nothing is done; the next try is a new one, and
    /// `request` carries its number afterwards.
    async fn claim_waiting(
        &self,
        queue: &QueueName,
        request: &mut ClaimRequest,
        wait: Duration,
    ) -> Result<Option<Claim>> {
        crate::wait::claim(self, queue, request, wait).await
    }

    /// Accepts a dispatched job: from now on it is held for `lease`.
    async fn accept(
        &self,
        queue: &QueueName,
        hold: JobLease,
        lease: Duration,
    ) -> Result<LeaseStatus>;

    /// Moves the end of a lease, and learns what was lost and what should stop.
    async fn renew(&self, queue: &QueueName, renewal: Renewal, lease: Duration) -> Result<Renewed>;

    /// Says how far a job has come; renews nothing.
    async fn progress(
        &self,
        queue: &QueueName,
        hold: JobLease,
        fraction: f64,
        message: Option<String>,
    ) -> Result<LeaseStatus>;

    /// Ends jobs well and, in the same step, may claim the next.
    async fn complete(
        &self,
        queue: &QueueName,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed>;

    /// Ends attempts badly: again later, or dead.
    async fn fail(&self, queue: &QueueName, failures: Vec<Failure>) -> Result<Vec<OutcomeStatus>>;

    /// Gives jobs back to the front, attempt not counted.
    async fn release(&self, queue: &QueueName, holds: Vec<JobLease>) -> Result<Vec<OutcomeStatus>>;

    /// Puts jobs off, attempt not counted.
    async fn snooze(&self, queue: &QueueName, snoozes: Vec<Snooze>) -> Result<Vec<OutcomeStatus>>;

    /// Cancels waiting jobs; asks running ones to stop.
    async fn cancel(
        &self,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes>;

    /// Makes dead jobs ready again, at the back, with attempts and expiries reset.
    async fn retry(
        &self,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes>;

    /// Forgets finished jobs, and that their ids were ever used.
    async fn delete(
        &self,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes>;

    /// Makes scheduled jobs ready now, at the back.
    async fn promote(
        &self,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes>;

    /// Removes up to a page of ready and scheduled jobs; call it until it answers 0.
    async fn purge(&self, queue: &QueueName) -> Result<u64>;

    /// The light clean: promote, reap, expire and prune, up to `limit` of each (at most a page).
    async fn maintain(&self, queue: &QueueName, limit: usize) -> Result<Maintained>;

    /// The deep clean, a page at a time: every id in exactly one place, every counter right.
    async fn audit(&self, queue: &QueueName, from: Option<Cursor>) -> Result<Audited>;

    /// Stops answering claims; everything else goes on.
    async fn pause(&self, queue: &QueueName) -> Result<()>;

    /// Answers claims again.
    async fn resume(&self, queue: &QueueName) -> Result<()>;

    /// The settings of a queue; the defaults where it does not exist.
    async fn settings(&self, queue: &QueueName) -> Result<Settings>;

    /// Changes settings of a queue.
    async fn set(&self, queue: &QueueName, settings: Vec<Setting>) -> Result<Settings>;

    /// All queues, in the order of their names.
    async fn queues(&self) -> Result<Vec<QueueName>>;

    /// The figures of a queue; `None` where it does not exist.
    async fn stats(&self, queue: &QueueName) -> Result<Option<Stats>>;

    /// Everything known of one job.
    async fn get(&self, queue: &QueueName, id: &JobId) -> Result<Option<Job>>;

    /// Jobs in pages, without payloads and results; each job that stays put is seen once.
    async fn list(
        &self,
        queue: &QueueName,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<Job>>;

    /// Makes a worker known.
    async fn register(&self, worker: NewWorker) -> Result<()>;

    /// Shows that a worker lives; it is told how to go on.
    async fn heartbeat(&self, heartbeat: Heartbeat) -> Result<WorkerCommand>;

    /// Gives back all a worker holds, in one queue or in all it registered with, attempts not
    /// counted: what is under its lease, and what single claims took for it. After leaving all it
    /// is no longer known. Answers how many jobs went back.
    async fn leave(&self, boot: &BootId, queue: Option<&QueueName>) -> Result<u64>;

    /// Declares a worker dead: what it holds is reaped now. `None` when nobody knows it.
    async fn fail_worker(&self, boot: &BootId) -> Result<Option<u64>>;

    /// Leaves word for a worker's next heartbeat; false when nobody knows it.
    async fn command(&self, boot: &BootId, command: WorkerCommand) -> Result<bool>;

    /// Workers that were seen lately, in the order of their boot ids.
    async fn workers(&self) -> Result<Vec<WorkerRecord>>;

    /// Listens for hints about queues.
    async fn watch(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>>;

    /// Listens only for jobs that are asked to stop, which costs the store nothing while none is;
    /// other hints may come as well.
    async fn watch_cancels(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>> {
        self.watch(queues).await
    }

    /// The sizes this store takes.
    fn limits(&self) -> Limits;
}

/// Bytes that count towards a queue's size: payload, result and error.
pub fn stored_bytes(payload: usize, result: Option<&Bytes>, error: Option<&str>) -> u64 {
    (payload + result.map_or(0, Bytes::len) + error.map_or(0, str::len)) as u64
}
