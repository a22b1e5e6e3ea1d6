//! The memory store with faults at will: calls that are refused or break down, renewals that are
//! counted, and cancellations that are heard of only when a test says so.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

use tokio::sync::broadcast;
use windlass_core::{Error, ErrorKind, JobId, Notification, QueueName, Renewal, Result, Watch};

use crate::scene::Count;
use crate::tapped::{Answer, Tap, Tapped};

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
pub(crate) type Faulty = Tapped<Faults>;

/// What is planned, and what was seen.
pub(crate) struct Faults {
    planned: Mutex<BTreeMap<&'static str, Fault>>,
    /// Renewals that were asked for.
    pub(crate) renewals: Count,
    cancels: broadcast::Sender<Notification>,
    listeners: Count,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").finish_non_exhaustive()
    }
}

impl Faulty {
    pub(crate) fn new() -> Self {
        Self::with(Faults {
            planned: Mutex::default(),
            renewals: Count::new(),
            cancels: broadcast::Sender::new(16),
            listeners: Count::new(),
        })
    }

    pub(crate) fn plan(&self, verb: &'static str, fault: Fault) {
        self.tap.planned.lock().unwrap().insert(verb, fault);
    }

    pub(crate) fn mend(&self, verb: &'static str) {
        self.tap.planned.lock().unwrap().remove(verb);
    }

    /// Lets a worker hear that a job was cancelled, once it listens.
    pub(crate) async fn hint(&self, queue: &QueueName, id: &JobId) {
        self.tap.listeners.reaches(1).await;
        let hint = Notification::Cancel(queue.clone(), id.clone());
        self.tap.cancels.send(hint).unwrap();
    }
}

impl Tap for Faults {
    fn call(&self, verb: &'static str) -> Result<()> {
        let mut planned = self.planned.lock().unwrap();
        let Some(fault) = planned.get(verb).copied() else {
            return Ok(());
        };
        if !matches!(fault, Fault::StaysAway) {
            planned.remove(verb);
        }
        drop(planned);
        let kind = match fault {
            Fault::Refuse => ErrorKind::Internal,
            Fault::Away | Fault::StaysAway => ErrorKind::StoreUnreachable,
            Fault::Panic => panic!("{verb} breaks down"),
        };
        Err(Error::new(kind, "as planned", "go on"))
    }

    fn renewal(&self, _: &Renewal) {
        self.renewals.add();
    }

    fn cancels(&self) -> Box<dyn Watch> {
        let hints = Notifier(self.cancels.subscribe());
        self.listeners.add();
        Box::new(hints)
    }
}

/// The cancellations that the test tells of.
#[derive(Debug)]
struct Notifier(broadcast::Receiver<Notification>);

impl Watch for Notifier {
    fn next<'a, 'c>(&'a mut self) -> Answer<'c, Option<Notification>>
    where
        'a: 'c,
        Self: 'c,
    {
        Box::pin(async { self.0.recv().await.ok() })
    }
}
