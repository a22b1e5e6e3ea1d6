//! The memory store, counted: which verbs were called how often, and what renewals named.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use windlass_core::limits::Limits;
use windlass_core::{
    Audited, Beat, BootId, Changes, Claim, ClaimRequest, Completed, Completion, Cursor, Enqueued,
    Failure, Filter, Held, Hint, Hold, Job, JobId, Maintained, NewJob, NewWorker, Page, QueueName,
    Renewal, Renewed, Result, Setting, Settings, Settled, Snooze, Stats, Store, SystemClock,
    Target, Told, Watch, Worker,
};
use windlass_store_memory::MemoryStore;

/// What a call takes: about a round trip to a server, so that calls gather as they do there.
const ROUND_TRIP: Duration = Duration::from_millis(2);

/// A renewal: when it came, and how many claims it named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Renewing {
    pub(crate) at: Instant,
    pub(crate) claims: usize,
}

/// The memory store, counted.
#[derive(Debug)]
pub(crate) struct Counted {
    inner: MemoryStore,
    calls: Mutex<BTreeMap<&'static str, u32>>,
    renewals: watch::Sender<Vec<Renewing>>,
}

impl Counted {
    pub(crate) fn new() -> Self {
        Self {
            inner: MemoryStore::new(Arc::new(SystemClock)),
            calls: Mutex::default(),
            renewals: watch::Sender::default(),
        }
    }

    /// Every verb with its number of calls.
    pub(crate) fn calls(&self) -> BTreeMap<&'static str, u32> {
        self.calls.lock().unwrap().clone()
    }

    /// All renewals so far, as they come.
    pub(crate) fn renewals(&self) -> watch::Receiver<Vec<Renewing>> {
        self.renewals.subscribe()
    }

    fn count(&self, verb: &'static str) {
        *self.calls.lock().unwrap().entry(verb).or_default() += 1;
    }

    fn note(&self, renewal: &Renewal) {
        if let Renewal::Worker { tokens, .. } = renewal {
            let renewing = Renewing {
                at: Instant::now(),
                claims: tokens.len(),
            };
            self.renewals.send_modify(|all| all.push(renewing));
        }
    }
}

/// Nobody is cancelled here, and hints about other things are not needed.
#[derive(Debug)]
struct Silence;

impl Watch for Silence {
    fn next<'a, 'c>(&'a mut self) -> Answer<'c, Option<Hint>>
    where
        'a: 'c,
        Self: 'c,
    {
        Box::pin(std::future::pending())
    }
}

type Answer<'c, T> = Pin<Box<dyn Future<Output = T> + Send + 'c>>;

/// Verbs that are counted and passed on, and take a round trip.
macro_rules! counted {
    ($($verb:ident<$($life:lifetime),*>($($word:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        fn $verb<'a, $($life,)* 'c>(&'a self, $($word: $type),*) -> Answer<'c, Result<$answer>>
        where
            'a: 'c,
            $($life: 'c,)*
            Self: 'c,
        {
            Box::pin(async move {
                self.count(stringify!($verb));
                let answer = self.inner.$verb($($word),*).await;
                tokio::time::sleep(ROUND_TRIP).await;
                answer
            })
        }
    )*};
}

impl Store for Counted {
    counted! {
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
        self.count("renew");
        self.note(&renewal);
        self.inner.renew(queue, renewal, lease)
    }

    fn watch_cancels<'a, 'b, 'c>(&'a self, _: &'b [QueueName]) -> Answer<'c, Result<Box<dyn Watch>>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        Box::pin(async { Ok(Box::new(Silence) as Box<dyn Watch>) })
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }
}
