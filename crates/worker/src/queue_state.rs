//! One queue of a worker: the state its loops share.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use tokio::sync::Notify;
use windlass_core::{BootId, QueueName, Store};

use crate::claim::held_claims::HeldClaims;
use crate::claim::limit::ClaimLimit;
use crate::lock::lock;
use crate::metrics::{KindsLeft, QueueMetrics};
use crate::options::Source;
use crate::run::attempt::{Attempt, Origin};
use crate::run::outcome_queue::OutcomeQueue;

/// One queue of a worker.
#[derive(Debug)]
pub(crate) struct QueueState {
    pub(crate) index: usize,
    pub(crate) origin: Arc<Origin>,
    held_claims: Mutex<HeldClaims>,
    /// Jobs claimed at most once: they have no lease, but are asked to stop like the others.
    unleased: Mutex<Vec<Weak<Attempt>>>,
    /// Attempts whose handler returned; reported on the handlers' runtime.
    pub(crate) outcomes: OutcomeQueue,
    /// Attempts that the lease thread ended; reported on that thread, even if handlers block.
    pub(crate) forced_outcomes: OutcomeQueue,
    /// The latest claim was not filled, so the next one may block.
    pub(crate) is_drained: AtomicBool,
    /// The most jobs that a claim asks for.
    pub(crate) claim_limit: ClaimLimit,
    /// Wakes the renewal loop: there is a new lease, or one to renew now.
    pub(crate) renew: Notify,
    /// Makes a blocking claim restart: a suspect job has ended, and the store sends no notification
    /// that this worker may claim the next suspect.
    pub(crate) claim_again: Notify,
}

impl QueueState {
    pub(crate) fn new(
        index: usize,
        source: &Source,
        slots: usize,
        kinds_left: KindsLeft,
        store: Arc<dyn Store>,
        boot: BootId,
    ) -> Self {
        let queue = source.queue.clone();
        let metrics = QueueMetrics::new(index, queue.as_str(), kinds_left);
        Self {
            index,
            origin: Arc::new(Origin {
                store,
                queue,
                metrics,
            }),
            held_claims: Mutex::new(HeldClaims::new(boot)),
            unleased: Mutex::default(),
            outcomes: OutcomeQueue::new(slots),
            forced_outcomes: OutcomeQueue::new(slots),
            is_drained: AtomicBool::new(true),
            claim_limit: ClaimLimit::new(),
            renew: Notify::new(),
            claim_again: Notify::new(),
        }
    }

    pub(crate) fn name(&self) -> &QueueName {
        &self.origin.queue
    }

    pub(crate) fn metrics(&self) -> &QueueMetrics {
        &self.origin.metrics
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.origin.store.as_ref()
    }

    pub(crate) fn held_claims(&self) -> MutexGuard<'_, HeldClaims> {
        lock(&self.held_claims)
    }

    /// Tracks jobs that were claimed at most once while they run.
    pub(crate) fn track_unleased(&self, attempts: &[Arc<Attempt>]) {
        let mut unleased = lock(&self.unleased);
        unleased.retain(|attempt| attempt.strong_count() > 0);
        unleased.extend(attempts.iter().map(Arc::downgrade));
    }

    /// Returns all attempts that have not ended, leased or not.
    pub(crate) fn unfinished(&self) -> Vec<Arc<Attempt>> {
        let mut unfinished: Vec<_> = self.held_claims().attempts().cloned().collect();
        unfinished.extend(lock(&self.unleased).iter().filter_map(Weak::upgrade));
        unfinished.retain(|attempt| !attempt.is_ended());
        unfinished
    }

    /// Makes the lease thread renew now.
    pub(crate) fn renew_now(&self) {
        self.held_claims().renew_now();
        self.renew.notify_one();
    }
}
