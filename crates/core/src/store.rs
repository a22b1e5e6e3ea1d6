//! The [`Store`] trait. The memory store is its executable specification.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::error::Result;

// What the methods take and return, for callers that import more than the root of the crate has.
pub use crate::action::{Action, ActionRecord};
pub use crate::attempt::{AttemptEnd, AttemptRecord};
pub use crate::change::{Change, Changed, ChangedJob, Changes, Cursor, JobPage, Page, Target};
pub use crate::claim::{
    Claim, ClaimRequest, ClaimedJob, Claimer, LeaseTime, Mode, Owner, Renewal, Renewed,
};
pub use crate::due::Due;
pub use crate::duplicate::{OnDuplicate, UniqueUntil};
pub use crate::enqueued::{DurabilityLevel, Enqueued};
pub use crate::error_group::{ErrorGroup, Fingerprint};
pub use crate::explain::{
    Eta, EtaBasis, Explanation, GroupFacts, JobsAhead, LastWorker, SlotHolder, WaitFacts,
    WaitReason, WaitWord,
};
pub use crate::filter::{Filter, HeaderMatch};
pub use crate::group::{GroupChange, GroupLimits, GroupRecord, GroupSlot, OwnLimit, SnoozeScope};
pub use crate::headers::Headers;
pub use crate::history::{Histogram, HistoryCounts, HistoryLevels, HistoryRow};
pub use crate::job::{Fraction, Job, JobState, NewJob, Progress, Reason};
pub use crate::limits::Limits;
pub use crate::maintenance::{Audited, Maintained, Repair};
pub use crate::name::{BootId, GroupName, JobId, Kind, QueueName, ScheduleName, UniqueKey};
pub use crate::notification::{Notification, Watch};
pub use crate::outcome::{
    Completed, Completion, Failure, JobLease, LeaseStatus, OutcomeStatus, Snooze,
};
pub use crate::priority::Priority;
pub use crate::queue::{QueueDeletion, Rates, Stats, Totals};
pub use crate::rate::Rate;
pub use crate::retry::{Jitter, Retry, RetryPolicy};
pub use crate::schedule::{
    Missed, Occurrence, Overlap, PlannedInstant, Ran, Refill, RefillRequest, Rule, Run, Schedule,
    ScheduleChange, ScheduleEnd, SchedulePut, ScheduleRecord, ScheduleTotals, SkipReason, Times,
};
pub use crate::setting::{Keep, KeepSucceeded, Partitions, Requeue, Setting, Settings};
pub use crate::time::{Clock, ManualClock, SystemClock, Timestamp};
pub use crate::token::Token;
pub use crate::worker::{Heartbeat, NewWorker, WorkerCommand, WorkerRecord, WorkerState};

/// Durable storage for queues and jobs.
///
/// - Each call changes the state of a job in one atomic transaction inside the store.
/// - Calls take batches, and each item has its own reply.
/// - An error means that nothing was done, unless it [is unknown](crate::Error::is_unknown).
/// - Every call may be repeated: it returns the same reply or changes nothing. One exception: an
///   enqueue with a generated id creates a new job if the first one has finished and was not kept.
///   An id chosen by the caller is remembered.
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
/// let lease = JobLease::new(claim.jobs[0].id.clone(), claim.token);
/// let failed = store.fail(&mail, vec![lease.clone().failure("no stamp")]).await?;
/// assert_eq!(failed, [OutcomeStatus::Retrying]); // retried later
/// let late = store.complete(&mail, vec![lease.completion()], None).await?;
/// assert_eq!(late.statuses, [OutcomeStatus::LeaseLost]); // the token is no longer valid
/// # Ok(()) }
/// ```
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug {
    /// Adds jobs. A job whose id or unique key is already in use is a duplicate, or changes the waiting job
    /// that has it: see [`OnDuplicate`].
    async fn enqueue(&self, queue: &QueueName, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>>;

    /// Claims up to [`max`](ClaimRequest::max) jobs, first priority first. Before that it fires due
    /// schedules, promotes due jobs and reaps expired leases. Returns `None` if no job is ready.
    async fn claim(&self, queue: &QueueName, request: ClaimRequest) -> Result<Option<Claim>>;

    /// Claims jobs, waiting up to `wait` for one to become ready.
    ///
    /// Each retry by a worker is a new claim with the next sequence number; `request` holds the
    /// last number used when this returns.
    async fn claim_waiting(
        &self,
        queue: &QueueName,
        request: &mut ClaimRequest,
        wait: Duration,
    ) -> Result<Option<Claim>> {
        crate::wait::claim(self, queue, request, wait).await
    }

    /// Accepts a dispatched job and extends its lease to `time` from now.
    async fn accept(
        &self,
        queue: &QueueName,
        lease: JobLease,
        time: LeaseTime,
    ) -> Result<LeaseStatus>;

    /// Renews a lease. Returns the lost tokens and the jobs whose cancellation was requested.
    async fn renew(&self, queue: &QueueName, renewal: Renewal, time: LeaseTime) -> Result<Renewed>;

    /// Records the progress of a running job. Does not renew the lease.
    async fn progress(
        &self,
        queue: &QueueName,
        lease: JobLease,
        fraction: Fraction,
        message: Option<String>,
    ) -> Result<LeaseStatus>;

    /// Completes jobs and, in the same transaction, optionally claims more.
    async fn complete(
        &self,
        queue: &QueueName,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed>;

    /// Fails attempts. Each job is retried later or becomes dead.
    async fn fail(&self, queue: &QueueName, failures: Vec<Failure>) -> Result<Vec<OutcomeStatus>>;

    /// Returns jobs to the queue without counting the attempt.
    async fn release(&self, queue: &QueueName, leases: Vec<JobLease>)
    -> Result<Vec<OutcomeStatus>>;

    /// Postpones jobs without counting the attempt. With another [scope](SnoozeScope) than the job, it returns to
    /// the queue like a released one, and nothing of its group or queue is claimed until then.
    async fn snooze(&self, queue: &QueueName, snoozes: Vec<Snooze>) -> Result<Vec<OutcomeStatus>>;

    /// Cancels, retries, deletes or promotes the jobs of a target, or one page of them.
    async fn change(
        &self,
        queue: &QueueName,
        change: Change,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes>;

    /// Removes a page of waiting jobs. Returns how many; call it until it returns 0.
    async fn purge(&self, queue: &QueueName) -> Result<u64>;

    /// Fires, promotes, reaps, expires and prunes up to `limit` jobs each, at most
    /// [`PAGE`](crate::limits::PAGE). Names the schedules that need more instants.
    async fn maintain(&self, queue: &QueueName, limit: usize) -> Result<Maintained>;

    /// Checks and repairs one page of the queue: indexes, claims, leases and counters.
    async fn audit(&self, queue: &QueueName, from: Option<Cursor>) -> Result<Audited>;

    /// Pauses or resumes a queue. A paused queue hands out no jobs; everything else continues. Resuming also ends
    /// the rest of a snoozed queue.
    async fn set_paused(&self, queue: &QueueName, is_paused: bool) -> Result<()>;

    /// Returns the settings of a queue, or the defaults if it does not exist.
    async fn settings(&self, queue: &QueueName) -> Result<Settings>;

    /// Changes settings of a queue and returns all of them. How long jobs hold a slot can be changed only while the
    /// queue has no jobs, and partitions can be added only while it has no groups.
    async fn set(&self, queue: &QueueName, settings: Vec<Setting>) -> Result<Settings>;

    /// Deletes a queue without jobs and schedules: its settings, stats and remembered ids. If it is created
    /// again, the numbers of its tokens continue to grow.
    async fn delete_queue(&self, queue: &QueueName) -> Result<QueueDeletion>;

    /// Returns all queues, ordered by name.
    async fn queues(&self) -> Result<Vec<QueueName>>;

    /// Returns the stats of a queue, or `None` if it does not exist.
    async fn stats(&self, queue: &QueueName) -> Result<Option<Stats>>;

    /// Returns the [history](crate::history) of a queue for the last `minutes`, at most a day, oldest first. The last row
    /// is that of the minute that is not over. Minutes without a sample have no row.
    async fn history(&self, queue: &QueueName, minutes: u32) -> Result<Vec<HistoryRow>>;

    /// Returns a job with its payload and result.
    async fn get(&self, queue: &QueueName, id: &JobId) -> Result<Option<Job>>;

    /// Explains why a job waits: all reasons that a claim has not to hand it out, and when it probably starts. Returns
    /// `None` if the job does not exist.
    ///
    /// Reads one snapshot of the queue with at most 20 look-ups, never a scan, and changes nothing. The registry of
    /// workers may be read after it: only the reason `no_worker` depends on it.
    async fn explain(&self, queue: &QueueName, id: &JobId) -> Result<Option<Explanation>>;

    /// Lists a page of jobs without payloads and results. A job that does not change state while
    /// paging is listed exactly once. With a filter, a call examines a bounded number of jobs.
    async fn list(
        &self,
        queue: &QueueName,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<JobPage<Job>>;

    /// Creates a schedule or changes it; an identical one changes nothing. `is_paused` pauses or resumes it,
    /// `None` leaves that as it is. A changed schedule gets a new revision, and its instants begin after
    /// now and after the last one that was settled. Fails if the queue has too many schedules.
    async fn put_schedule(
        &self,
        queue: &QueueName,
        schedule: Schedule,
        is_paused: Option<bool>,
    ) -> Result<SchedulePut>;

    /// Replaces the known instants of schedules. Ignores a refill of another revision, and instants that
    /// are settled already.
    async fn refill_schedules(&self, queue: &QueueName, refills: Vec<Refill>) -> Result<()>;

    /// Enqueues jobs of a schedule now, besides its instants. Returns one reply per job, or `None` if the
    /// schedule does not exist.
    async fn run_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        run: Run,
    ) -> Result<Option<Vec<Ran>>>;

    /// Pauses, resumes or deletes a schedule. Returns false if it does not exist.
    async fn change_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        change: ScheduleChange,
    ) -> Result<bool>;

    /// Changes the limits of a group, pauses or resumes it. Returns its record.
    async fn set_group(
        &self,
        queue: &QueueName,
        group: &GroupName,
        change: GroupChange,
    ) -> Result<GroupRecord>;

    /// Returns a group, or `None` if the store knows nothing of it.
    async fn group(&self, queue: &QueueName, group: &GroupName) -> Result<Option<GroupRecord>>;

    /// Lists a page of groups, ordered by name.
    async fn groups(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<GroupRecord>>;

    /// Returns the groups of errors of a queue, the one seen last first. [`fail`](Self::fail) counts an error in its
    /// group, at most [`ERROR_GROUPS_MAX`](crate::limits::ERROR_GROUPS_MAX): a new group replaces the one that was not
    /// seen for the longest time.
    async fn error_groups(&self, queue: &QueueName) -> Result<Vec<ErrorGroup>>;

    /// Deletes a group of errors; its jobs stay as they are. Returns false if it does not exist.
    async fn clear_error_group(&self, queue: &QueueName, group: Fingerprint) -> Result<bool>;

    /// Returns a schedule with its payload, instants and history.
    async fn schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
    ) -> Result<Option<ScheduleRecord>>;

    /// Lists a page of schedules, ordered by name.
    async fn schedules(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<ScheduleRecord>>;

    /// Registers a worker.
    async fn register(&self, worker: NewWorker) -> Result<()>;

    /// Records a heartbeat and returns the command for the worker.
    async fn heartbeat(&self, heartbeat: Heartbeat) -> Result<WorkerCommand>;

    /// Returns a worker's jobs to the queue without counting the attempts: those under its lease and
    /// those of single claims made for it. Without `queue` this applies to all its queues, and the
    /// worker is removed. Returns the number of jobs.
    async fn leave(&self, boot: &BootId, queue: Option<&QueueName>) -> Result<u64>;

    /// Declares a worker dead and reaps its jobs now. Returns their number, or `None` if the worker
    /// is unknown.
    async fn fail_worker(&self, boot: &BootId) -> Result<Option<u64>>;

    /// Queues a command for the worker's next heartbeat. Returns false if the worker is unknown.
    async fn command(&self, boot: &BootId, command: WorkerCommand) -> Result<bool>;

    /// Returns the workers seen in the last 24 hours, ordered by boot id.
    async fn workers(&self) -> Result<Vec<WorkerRecord>>;

    /// Adds an entry to the log of operator actions, which keeps the last
    /// [`ACTIONS_MAX`](crate::action::ACTIONS_MAX). A repeated call may add it twice. A store behind a server adds
    /// nothing: the server logs the requests it gets.
    async fn log_action(&self, action: Action) -> Result<()>;

    /// Lists a page of the log of operator actions, newest first.
    async fn actions(&self, from: Option<Cursor>, limit: usize) -> Result<Page<ActionRecord>>;

    /// Subscribes to the notifications of some queues.
    async fn watch(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>>;

    /// Subscribes to cancellation requests only, which is cheaper for the store. Other notifications
    /// may arrive as well.
    async fn watch_cancels(&self, queues: &[QueueName]) -> Result<Box<dyn Watch>> {
        self.watch(queues).await
    }

    /// Returns the size limits of this store.
    fn limits(&self) -> Limits;
}
