//! The memory store with faults at will: calls that are refused or break down, renewals that are
//! counted, and cancellations that are heard of only when a test says so.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::broadcast;
use windlass_core::limits::Limits;
use windlass_core::{
    Audited, Beat, BootId, Changes, Claim, ClaimRequest, Completed, Completion, Cursor, Enqueued,
    Error, ErrorKind, Failure, Filter, Held, Hint, Hold, Job, JobId, Maintained, NewJob, NewWorker,
    Page, QueueName, Renewal, Renewed, Result, Setting, Settings, Settled, Snooze, Stats, Store,
    SystemClock, Target, Told, Watch, Worker,
};
use windlass_store_memory::MemoryStore;

use crate::scene::Count;

/// What happens to a call instead of what it asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// The next call fails for good.
    Refuse,
    /// The next call finds the store away.
    Away,
    /// Every call finds the store away, until it is mended.
    StaysAway,
    /// The next call panics.
    Panic,
}

/// The memory store with faults at will.
pub(crate) struct Faulty {
    inner: MemoryStore,
    faults: Mutex<BTreeMap<&'static str, Fault>>,
    /// Renewals that were asked for.
    pub(crate) renewals: Count,
    cancels: broadcast::Sender<Hint>,
    listeners: Count,
}

impl std::fmt::Debug for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faulty").finish_non_exhaustive()
    }
}

impl Faulty {
    pub(crate) fn new() -> Self {
        Self {
            inner: MemoryStore::new(Arc::new(SystemClock)),
            faults: Mutex::default(),
            renewals: Count::new(),
            cancels: broadcast::Sender::new(16),
            listeners: Count::new(),
        }
    }

    pub(crate) fn plan(&self, verb: &'static str, fault: Fault) {
        self.faults.lock().unwrap().insert(verb, fault);
    }

    pub(crate) fn mend(&self, verb: &'static str) {
        self.faults.lock().unwrap().remove(verb);
    }

    /// Lets a worker hear that a job was cancelled, once it listens.
    pub(crate) async fn hint(&self, queue: &QueueName, id: &JobId) {
        self.listeners.reaches(1).await;
        let hint = Hint::Cancel(queue.clone(), id.clone());
        self.cancels.send(hint).unwrap();
    }

    fn meet(&self, verb: &'static str) -> Result<()> {
        let mut faults = self.faults.lock().unwrap();
        let Some(fault) = faults.get(verb).copied() else {
            return Ok(());
        };
        if !matches!(fault, Fault::StaysAway) {
            faults.remove(verb);
        }
        drop(faults);
        let kind = match fault {
            Fault::Refuse => ErrorKind::Internal,
            Fault::Away | Fault::StaysAway => ErrorKind::StoreUnreachable,
            Fault::Panic => panic!("{verb} breaks down"),
        };
        Err(Error::new(kind, "as planned", "go on"))
    }
}

/// The cancellations that the test tells of.
#[derive(Debug)]
struct Hints(broadcast::Receiver<Hint>);

impl Watch for Hints {
    fn next<'a, 'c>(&'a mut self) -> Answer<'c, Option<Hint>>
    where
        'a: 'c,
        Self: 'c,
    {
        Box::pin(async { self.0.recv().await.ok() })
    }
}

type Answer<'c, T> = Pin<Box<dyn Future<Output = T> + Send + 'c>>;

/// Verbs that are passed on, unless a fault is planned.
macro_rules! passed_on {
    ($($verb:ident<$($life:lifetime),*>($($word:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        fn $verb<'a, $($life,)* 'c>(&'a self, $($word: $type),*) -> Answer<'c, Result<$answer>>
        where
            'a: 'c,
            $($life: 'c,)*
            Self: 'c,
        {
            Box::pin(async move {
                self.meet(stringify!($verb))?;
                self.inner.$verb($($word),*).await
            })
        }
    )*};
}

impl Store for Faulty {
    passed_on! {
        enqueue<'b>(queue: &'b QueueName, jobs: Vec<NewJob>) -> Vec<Enqueued>;
        claim<'b>(queue: &'b QueueName, request: ClaimRequest) -> Option<Claim>;
        accept<'b>(queue: &'b QueueName, hold: Hold, lease: Duration) -> Held;
        progress<'b>(queue: &'b QueueName, hold: Hold, fraction: f64, message: Option<String>) -> Held;
        complete<'b>(queue: &'b QueueName, completions: Vec<Completion>, next: Option<ClaimRequest>) -> Completed;
        fail<'b>(queue: &'b QueueName, failures: Vec<Failure>) -> Vec<Settled>;
        release<'b>(queue: &'b QueueName, holds: Vec<Hold>) -> Vec<Settled>;
        snooze<'b>(queue: &'b QueueName, snoozes: Vec<Snooze>) -> Vec<Settled>;
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
        beat<>(beat: Beat) -> Told;
        leave<'b, 'd>(boot: &'b BootId, queue: Option<&'d QueueName>) -> u64;
        fail_worker<'b>(boot: &'b BootId) -> Option<u64>;
        tell<'b>(boot: &'b BootId, told: Told) -> bool;
        workers<>() -> Vec<Worker>;
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
            self.renewals.add();
            self.meet("renew")?;
            self.inner.renew(queue, renewal, lease).await
        })
    }

    fn watch_cancels<'a, 'b, 'c>(&'a self, _: &'b [QueueName]) -> Answer<'c, Result<Box<dyn Watch>>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        Box::pin(async {
            let hints = Hints(self.cancels.subscribe());
            self.listeners.add();
            Ok(Box::new(hints) as Box<dyn Watch>)
        })
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }
}
