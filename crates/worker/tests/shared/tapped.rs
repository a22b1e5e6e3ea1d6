//! The memory store with a tap: a test hears of every call before it is made, and may answer it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::limits::Limits;
use windlass_core::{
    Audited, BootId, Changes, Claim, ClaimRequest, Completed, Completion, Cursor, Enqueued,
    Failure, Filter, Heartbeat, Job, JobId, JobLease, LeaseStatus, Maintained, NewJob, NewWorker,
    OutcomeStatus, Page, QueueName, Renewal, Renewed, Result, Setting, Settings, Snooze, Stats,
    Store, SystemClock, Target, Watch, WorkerCommand, WorkerRecord,
};
use windlass_store_memory::MemoryStore;

/// Who hears of calls.
pub(crate) trait Tap: fmt::Debug + Send + Sync + 'static {
    /// What every call but a renewal takes beside the store's own time.
    const ROUND_TRIP: Duration = Duration::ZERO;

    /// A call is about to be made; an error is its answer.
    fn call(&self, verb: &'static str) -> Result<()>;

    /// What a renewal names, before it is made.
    fn renewal(&self, renewal: &Renewal);

    /// What somebody hears who listens for cancellations.
    fn cancels(&self) -> Box<dyn Watch>;
}

/// The memory store with a tap.
#[derive(Debug)]
pub(crate) struct Tapped<T> {
    inner: MemoryStore,
    pub(crate) tap: T,
}

impl<T: Tap> Tapped<T> {
    pub(crate) fn with(tap: T) -> Self {
        let inner = MemoryStore::new(Arc::new(SystemClock));
        Self { inner, tap }
    }
}

pub(crate) type Answer<'c, T> = Pin<Box<dyn Future<Output = T> + Send + 'c>>;

/// Verbs that are passed on.
macro_rules! passed_on {
    ($($verb:ident<$($life:lifetime),*>($($word:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        fn $verb<'a, $($life,)* 'c>(&'a self, $($word: $type),*) -> Answer<'c, Result<$answer>>
        where
            'a: 'c,
            $($life: 'c,)*
            Self: 'c,
        {
            Box::pin(async move {
                self.tap.call(stringify!($verb))?;
                let answer = self.inner.$verb($($word),*).await;
                if !T::ROUND_TRIP.is_zero() {
                    tokio::time::sleep(T::ROUND_TRIP).await;
                }
                answer
            })
        }
    )*};
}

impl<T: Tap> Store for Tapped<T> {
    passed_on! {
        enqueue<'b>(queue: &'b QueueName, jobs: Vec<NewJob>) -> Vec<Enqueued>;
        claim<'b>(queue: &'b QueueName, request: ClaimRequest) -> Option<Claim>;
        accept<'b>(queue: &'b QueueName, hold: JobLease, lease: Duration) -> LeaseStatus;
        progress<'b>(queue: &'b QueueName, hold: JobLease, fraction: f64, message: Option<String>) -> LeaseStatus;
        complete<'b>(queue: &'b QueueName, completions: Vec<Completion>, next: Option<ClaimRequest>) -> Completed;
        fail<'b>(queue: &'b QueueName, failures: Vec<Failure>) -> Vec<OutcomeStatus>;
        release<'b>(queue: &'b QueueName, holds: Vec<JobLease>) -> Vec<OutcomeStatus>;
        snooze<'b>(queue: &'b QueueName, snoozes: Vec<Snooze>) -> Vec<OutcomeStatus>;
        cancel<'b, 'd>(queue: &'b QueueName, target: &'d Target, from: Option<Cursor>) -> Changes;
        retry<'b, 'd>(queue: &'b QueueName, target: &'d Target, from: Option<Cursor>) -> Changes;
        delete<'b, 'd>(queue: &'b QueueName, target: &'d Target, from: Option<Cursor>) -> Changes;
        promote<'b, 'd>(queue: &'b QueueName, target: &'d Target, from: Option<Cursor>) -> Changes;
        purge<'b>(queue: &'b QueueName) -> u64;
        maintain<'b>(queue: &'b QueueName, limit: usize) -> Maintained;
        audit<'b>(queue: &'b QueueName, from: Option<Cursor>) -> Audited;
        pause<'b>(queue: &'b QueueName) -> ();
        resume<'b>(queue: &'b QueueName) -> ();
        settings<'b>(queue: &'b QueueName) -> Settings;
        set<'b>(queue: &'b QueueName, settings: Vec<Setting>) -> Settings;
        queues<>() -> Vec<QueueName>;
        stats<'b>(queue: &'b QueueName) -> Option<Stats>;
        get<'b, 'd>(queue: &'b QueueName, id: &'d JobId) -> Option<Job>;
        list<'b, 'd>(queue: &'b QueueName, filter: &'d Filter, from: Option<Cursor>, limit: usize) -> Page<Job>;
        register<>(worker: NewWorker) -> ();
        heartbeat<>(heartbeat: Heartbeat) -> WorkerCommand;
        leave<'b, 'd>(boot: &'b BootId, queue: Option<&'d QueueName>) -> u64;
        fail_worker<'b>(boot: &'b BootId) -> Option<u64>;
        command<'b>(boot: &'b BootId, command: WorkerCommand) -> bool;
        workers<>() -> Vec<WorkerRecord>;
        watch<'b>(queues: &'b [QueueName]) -> Box<dyn Watch>;
    }

    fn renew<'a, 'b, 'c>(
        &'a self,
        queue: &'b QueueName,
        renewal: Renewal,
        lease: Duration,
    ) -> Answer<'c, Result<Renewed>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        Box::pin(async move {
            self.tap.renewal(&renewal);
            self.tap.call("renew")?;
            self.inner.renew(queue, renewal, lease).await
        })
    }

    fn watch_cancels<'a, 'b, 'c>(&'a self, _: &'b [QueueName]) -> Answer<'c, Result<Box<dyn Watch>>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        Box::pin(async { Ok(self.tap.cancels()) })
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }
}
