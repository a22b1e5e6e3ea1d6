//! A memory store that reports every call to a test before it is made; the test may fail it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use windlass_core::limits::Limits;
use windlass_core::store::{
    Action, ActionRecord, Audited, Changes, Completed, Completion, Cursor, ErrorGroup, Explanation,
    Failure, Fingerprint, Fraction, GroupChange, GroupName, GroupRecord, Heartbeat, HistoryRow,
    JobPage, LeaseStatus, Maintained, NewWorker, Page, QueueDeletion, Ran, Refill, Renewed, Run,
    ScheduleChange, SchedulePut, ScheduleRecord, Setting, Settings, Snooze, Stats, Watch,
    WorkerCommand, WorkerRecord,
};
use windlass_core::{
    BootId, Change, Claim, ClaimRequest, Enqueued, Filter, Job, JobId, JobLease, LeaseTime, NewJob,
    OutcomeStatus, QueueName, Renewal, Result, Schedule, ScheduleName, Store, SystemClock, Target,
};
use windlass_store_memory::MemoryStore;

/// Observes the calls.
pub(crate) trait Tap: fmt::Debug + Send + Sync + 'static {
    /// Extra latency of every call except renewals.
    const ROUND_TRIP: Duration = Duration::ZERO;

    /// Called before each call; an error becomes its result.
    fn call(&self, verb: &'static str) -> Result<()>;

    /// Called before the reply to a claim is returned; an error replaces it, as if it were lost.
    fn claimed(&self, _: Option<&Claim>) -> Result<()> {
        Ok(())
    }

    /// Called before each renewal.
    fn renewal(&self, renewal: &Renewal);

    /// Called before the reply to a renewal is returned; may change it.
    fn renewed(&self, _: &mut Renewed) {}

    /// Returns the watch for cancellations.
    fn cancels(&self) -> Box<dyn Watch>;

    /// Called before each waiting claim. It runs on the returned runtime, as in a server: it goes on
    /// while handlers block the runtime of the worker.
    fn waiting_claim(&self) -> Option<Handle> {
        None
    }
}

/// A memory store with a tap.
#[derive(Debug)]
pub(crate) struct TappedStore<T> {
    inner: Arc<MemoryStore>,
    pub(crate) tap: T,
}

impl<T: Tap> TappedStore<T> {
    pub(crate) fn with(tap: T) -> Self {
        let inner = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        Self { inner, tap }
    }

    async fn round_trip() {
        if !T::ROUND_TRIP.is_zero() {
            tokio::time::sleep(T::ROUND_TRIP).await;
        }
    }
}

pub(crate) type StoreFuture<'c, T> = Pin<Box<dyn Future<Output = T> + Send + 'c>>;

/// Methods that are forwarded.
macro_rules! forward {
    ($($verb:ident<$($life:lifetime),*>($($argument:ident: $type:ty),*) -> $reply:ty;)*) => {$(
        fn $verb<'a, $($life,)* 'c>(&'a self, $($argument: $type),*) -> StoreFuture<'c, Result<$reply>>
        where
            'a: 'c,
            $($life: 'c,)*
            Self: 'c,
        {
            Box::pin(async move {
                self.tap.call(stringify!($verb))?;
                let reply = self.inner.$verb($($argument),*).await;
                Self::round_trip().await;
                reply
            })
        }
    )*};
}

impl<T: Tap> Store for TappedStore<T> {
    forward! {
        enqueue<'b>(queue: &'b QueueName, jobs: Vec<NewJob>) -> Vec<Enqueued>;
        accept<'b>(queue: &'b QueueName, job_lease: JobLease, lease: LeaseTime) -> LeaseStatus;
        progress<'b>(queue: &'b QueueName, lease: JobLease, fraction: Fraction, message: Option<String>) -> LeaseStatus;
        fail<'b>(queue: &'b QueueName, failures: Vec<Failure>) -> Vec<OutcomeStatus>;
        release<'b>(queue: &'b QueueName, leases: Vec<JobLease>) -> Vec<OutcomeStatus>;
        snooze<'b>(queue: &'b QueueName, snoozes: Vec<Snooze>) -> Vec<OutcomeStatus>;
        change<'b, 'd>(queue: &'b QueueName, change: Change, target: &'d Target, from: Option<Cursor>) -> Changes;
        purge<'b>(queue: &'b QueueName) -> u64;
        delete_queue<'b>(queue: &'b QueueName) -> QueueDeletion;
        maintain<'b>(queue: &'b QueueName, limit: usize) -> Maintained;
        audit<'b>(queue: &'b QueueName, from: Option<Cursor>) -> Audited;
        set_paused<'b>(queue: &'b QueueName, is_paused: bool) -> ();
        settings<'b>(queue: &'b QueueName) -> Settings;
        set<'b>(queue: &'b QueueName, settings: Vec<Setting>) -> Settings;
        queues<>() -> Vec<QueueName>;
        stats<'b>(queue: &'b QueueName) -> Option<Stats>;
        history<'b>(queue: &'b QueueName, minutes: u32) -> Vec<HistoryRow>;
        get<'b, 'd>(queue: &'b QueueName, id: &'d JobId) -> Option<Job>;
        explain<'b, 'd>(queue: &'b QueueName, id: &'d JobId) -> Option<Explanation>;
        list<'b, 'd>(queue: &'b QueueName, filter: &'d Filter, from: Option<Cursor>, limit: usize) -> JobPage<Job>;
        put_schedule<'b>(queue: &'b QueueName, schedule: Schedule, is_paused: Option<bool>) -> SchedulePut;
        refill_schedules<'b>(queue: &'b QueueName, refills: Vec<Refill>) -> ();
        run_schedule<'b, 'd>(queue: &'b QueueName, name: &'d ScheduleName, run: Run) -> Option<Vec<Ran>>;
        change_schedule<'b, 'd>(queue: &'b QueueName, name: &'d ScheduleName, change: ScheduleChange) -> bool;
        schedule<'b, 'd>(queue: &'b QueueName, name: &'d ScheduleName) -> Option<ScheduleRecord>;
        schedules<'b>(queue: &'b QueueName, from: Option<Cursor>, limit: usize) -> Page<ScheduleRecord>;
        set_group<'b, 'd>(queue: &'b QueueName, group: &'d GroupName, change: GroupChange) -> GroupRecord;
        group<'b, 'd>(queue: &'b QueueName, group: &'d GroupName) -> Option<GroupRecord>;
        error_groups<'b>(queue: &'b QueueName) -> Vec<ErrorGroup>;
        clear_error_group<'b>(queue: &'b QueueName, group: Fingerprint) -> bool;
        groups<'b>(queue: &'b QueueName, from: Option<Cursor>, limit: usize) -> Page<GroupRecord>;
        register<>(worker: NewWorker) -> ();
        heartbeat<>(heartbeat: Heartbeat) -> WorkerCommand;
        leave<'b, 'd>(boot: &'b BootId, queue: Option<&'d QueueName>) -> u64;
        fail_worker<'b>(boot: &'b BootId) -> Option<u64>;
        command<'b>(boot: &'b BootId, command: WorkerCommand) -> bool;
        workers<>() -> Vec<WorkerRecord>;
        log_action<>(action: Action) -> ();
        actions<>(from: Option<Cursor>, limit: usize) -> Page<ActionRecord>;
        watch<'b>(queues: &'b [QueueName]) -> Box<dyn Watch>;
    }

    fn claim<'a, 'b, 'c>(
        &'a self,
        queue: &'b QueueName,
        request: ClaimRequest,
    ) -> StoreFuture<'c, Result<Option<Claim>>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        Box::pin(async move {
            self.tap.call("claim")?;
            let claim = self.inner.claim(queue, request).await?;
            Self::round_trip().await;
            self.tap.claimed(claim.as_ref())?;
            Ok(claim)
        })
    }

    fn complete<'a, 'b, 'c>(
        &'a self,
        queue: &'b QueueName,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> StoreFuture<'c, Result<Completed>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        Box::pin(async move {
            self.tap.call("complete")?;
            let completed = self.inner.complete(queue, completions, next).await?;
            Self::round_trip().await;
            self.tap.claimed(completed.next.as_ref())?;
            Ok(completed)
        })
    }

    fn renew<'a, 'b, 'c>(
        &'a self,
        queue: &'b QueueName,
        renewal: Renewal,
        lease: LeaseTime,
    ) -> StoreFuture<'c, Result<Renewed>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        Box::pin(async move {
            self.tap.renewal(&renewal);
            self.tap.call("renew")?;
            let mut renewed = self.inner.renew(queue, renewal, lease).await?;
            self.tap.renewed(&mut renewed);
            Ok(renewed)
        })
    }

    fn claim_waiting<'a, 'b, 'd, 'c>(
        &'a self,
        queue: &'b QueueName,
        request: &'d mut ClaimRequest,
        wait: Duration,
    ) -> StoreFuture<'c, Result<Option<Claim>>>
    where
        'a: 'c,
        'b: 'c,
        'd: 'c,
        Self: 'c,
    {
        Box::pin(async move {
            let Some(server) = self.tap.waiting_claim().filter(|_| !wait.is_zero()) else {
                return windlass_core::wait::claim(self, queue, request, wait).await;
            };
            let (inner, queue, mut sent) =
                (Arc::clone(&self.inner), queue.clone(), request.clone());
            // Dropping the set aborts the call.
            let mut calls = JoinSet::new();
            let call = async move { (inner.claim_waiting(&queue, &mut sent, wait).await, sent) };
            calls.spawn_on(call, &server);
            let called = calls.join_next().await.expect("one call was spawned");
            let (claim, sent) = called.expect("the call does not panic");
            *request = sent;
            claim
        })
    }

    fn watch_cancels<'a, 'b, 'c>(
        &'a self,
        _: &'b [QueueName],
    ) -> StoreFuture<'c, Result<Box<dyn Watch>>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        Box::pin(async {
            self.tap.call("watch_cancels")?;
            Ok(self.tap.cancels())
        })
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }
}
