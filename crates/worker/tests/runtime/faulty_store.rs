//! A memory store with planned failures: calls that fail or panic, counted renewals, and
//! notifications of cancellations that the test sends.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, OnceLock};

use tokio::runtime::Handle;
use tokio::sync::broadcast;
use windlass_core::store::{Notification, Renewed, Watch};
use windlass_core::{Claim, Error, ErrorKind, JobId, QueueName, Renewal, Result, Token};

use crate::fixture::Count;
use crate::tapped_store::{StoreFuture, Tap, TappedStore};

/// How a call fails.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FailureMode {
    /// The next call fails permanently.
    Refuse,
    /// The next call finds the store unreachable.
    Unreachable,
    /// Every call finds the store unreachable, until it is restored.
    StaysUnreachable,
    /// The next call panics.
    Panic,
}

/// A memory store with planned failures.
pub(crate) type FaultyStore = TappedStore<PlannedFailures>;

/// The planned failures, and what was observed.
pub(crate) struct PlannedFailures {
    planned: Mutex<BTreeMap<&'static str, FailureMode>>,
    /// Renewals that were attempted.
    pub(crate) renewals: Count,
    /// The only claim in a part of the queue that renewals do not reach.
    unreached: OnceLock<Token>,
    cancels: broadcast::Sender<Notification>,
    listeners: Count,
    server: OnceLock<Handle>,
    /// Replies with more jobs than this are lost.
    largest_reply: OnceLock<usize>,
    /// Waiting claims that were sent to the server.
    pub(crate) waiting_claims: Count,
}

impl fmt::Debug for PlannedFailures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedFailures").finish_non_exhaustive()
    }
}

impl FaultyStore {
    pub(crate) fn new() -> Self {
        Self::with(PlannedFailures {
            planned: Mutex::default(),
            renewals: Count::new(),
            unreached: OnceLock::new(),
            cancels: broadcast::Sender::new(16),
            listeners: Count::new(),
            server: OnceLock::new(),
            largest_reply: OnceLock::new(),
            waiting_claims: Count::new(),
        })
    }

    pub(crate) fn plan(&self, verb: &'static str, error: FailureMode) {
        self.tap.planned.lock().unwrap().insert(verb, error);
    }

    pub(crate) fn restore(&self, verb: &'static str) {
        self.tap.planned.lock().unwrap().remove(verb);
    }

    /// Makes a part of the queue unreachable for renewals: the one with this claim.
    pub(crate) fn cut_off(&self, token: Token) {
        self.tap.unreached.set(token).unwrap();
    }

    /// Loses replies with more jobs than this.
    pub(crate) fn lose_replies_above(&self, jobs: usize) {
        self.tap.largest_reply.set(jobs).unwrap();
    }

    /// Runs waiting claims on this runtime.
    pub(crate) fn run_waiting_claims_on(&self, server: &Handle) {
        self.tap.server.set(server.clone()).unwrap();
    }

    /// Notifies a worker that a job was cancelled, when it watches for that.
    pub(crate) async fn notify_cancelled(&self, queue: &QueueName, id: &JobId) {
        self.tap.listeners.reaches(1).await;
        let notification = Notification::Cancel(queue.clone(), id.clone());
        self.tap.cancels.send(notification).unwrap();
    }
}

impl Tap for PlannedFailures {
    fn call(&self, verb: &'static str) -> Result<()> {
        let mut planned = self.planned.lock().unwrap();
        let Some(error) = planned.get(verb).copied() else {
            return Ok(());
        };
        if !matches!(error, FailureMode::StaysUnreachable) {
            planned.remove(verb);
        }
        drop(planned);
        let kind = match error {
            FailureMode::Refuse => ErrorKind::Internal,
            FailureMode::Unreachable | FailureMode::StaysUnreachable => ErrorKind::StoreUnreachable,
            FailureMode::Panic => panic!("{verb} panics as planned"),
        };
        Err(Error::new(kind, "failed as planned", "nothing to do"))
    }

    fn claimed(&self, claim: Option<&Claim>) -> Result<()> {
        let jobs = claim.map_or(0, |claim| claim.jobs.len());
        if self.largest_reply.get().is_some_and(|most| jobs > *most) {
            let (why, help) = ("lost as planned", "nothing to do");
            return Err(Error::new(ErrorKind::OutcomeUnknown, why, help));
        }
        Ok(())
    }

    fn renewal(&self, _: &Renewal) {
        self.renewals.add();
    }

    fn renewed(&self, renewed: &mut Renewed) {
        renewed.unreached = self.unreached.get().map(|token| vec![*token]);
    }

    fn cancels(&self) -> Box<dyn Watch> {
        let notifier = Notifier(self.cancels.subscribe());
        self.listeners.add();
        Box::new(notifier)
    }

    fn waiting_claim(&self) -> Option<Handle> {
        let server = self.server.get()?;
        self.waiting_claims.add();
        Some(server.clone())
    }
}

/// The notifications that the test sends.
#[derive(Debug)]
struct Notifier(broadcast::Receiver<Notification>);

impl Watch for Notifier {
    fn next<'a, 'c>(&'a mut self) -> StoreFuture<'c, Option<Notification>>
    where
        'a: 'c,
        Self: 'c,
    {
        Box::pin(async { self.0.recv().await.ok() })
    }
}
