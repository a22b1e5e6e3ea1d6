//! State shared by all loops of a worker.

use std::sync::{Arc, Mutex, OnceLock};

use tokio::task::JoinError;
use windlass_core::limits::Limits;
use windlass_core::{BootId, Error, ErrorKind, OutcomeStatus};

use crate::claim::slots::Slots;
use crate::connections::Connections;
use crate::events;
use crate::handle::Handle;
use crate::lock::lock;
use crate::metrics::KindsLeft;
use crate::options::Options;
use crate::queue_state::QueueState;
use crate::run::attempt::Attempt;
use crate::run::run_queue::RunQueue;
use crate::stop::deadlines::Deadlines;
use crate::stop::phase::Stopper;
use crate::summary::Summary;

/// State shared by all loops of a worker.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) connections: Connections,
    pub(crate) limits: Limits,
    pub(crate) handler: Arc<dyn Handle>,
    pub(crate) queues: Vec<Arc<QueueState>>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) run_queue: RunQueue,
    pub(crate) deadlines: Deadlines,
    pub(crate) stopper: Stopper,
    pub(crate) summary: Mutex<Summary>,
    /// Where handlers run; set when the worker starts.
    pub(crate) handlers: OnceLock<tokio::runtime::Handle>,
    boot: Mutex<BootId>,
    error: Mutex<Option<Error>>,
}

impl Shared {
    pub(crate) fn new(
        connections: Connections,
        options: Options,
        handler: Arc<dyn Handle>,
    ) -> Self {
        let boot = BootId::generate();
        let kinds_left = KindsLeft::default();
        let queues = options.queues.iter().enumerate().map(|(index, source)| {
            let store = Arc::clone(&connections.store);
            let slots = source.concurrency.unwrap_or(options.concurrency);
            Arc::new(QueueState::new(
                index,
                source,
                slots,
                kinds_left.clone(),
                store,
                boot.clone(),
            ))
        });
        Self {
            limits: connections.store.limits(),
            handler,
            queues: queues.collect(),
            slots: Slots::new(&options),
            run_queue: RunQueue::new(options.concurrency),
            deadlines: Deadlines::default(),
            stopper: Stopper::new(),
            summary: Mutex::default(),
            handlers: OnceLock::new(),
            boot: Mutex::new(boot),
            error: Mutex::default(),
            options,
            connections,
        }
    }

    /// Returns the current boot id.
    pub(crate) fn boot(&self) -> BootId {
        lock(&self.boot).clone()
    }

    /// Switches to a new boot id for all further claims.
    pub(crate) fn start_boot(&self, boot: &BootId) {
        for queue in &self.queues {
            queue.held_claims().start_boot(boot.clone());
        }
        *lock(&self.boot) = boot.clone();
    }

    /// Stops the worker after an error that retrying cannot fix; `run` returns the first such error.
    pub(crate) fn fail(&self, error: Error) {
        events::worker_failed(&error);
        lock(&self.error).get_or_insert(error);
        self.stopper.stop();
    }

    /// Stops the worker if the loop that ended panicked.
    pub(crate) fn loop_ended(&self, ended: Option<Result<(), JoinError>>) {
        if let Some(Err(error)) = ended {
            let what = "a loop of the worker panicked";
            let help = "restart the worker and report this bug; its jobs return to their queues when their leases expire";
            self.fail(Error::new(ErrorKind::Internal, what, help).caused_by(error));
        }
    }

    /// Counts the store's replies to the outcomes of attempts.
    pub(crate) fn count<'a>(
        &self,
        ended: impl IntoIterator<Item = (&'a Arc<Attempt>, OutcomeStatus)>,
    ) {
        let mut summary = lock(&self.summary);
        for (attempt, status) in ended {
            summary.count(status);
            attempt.metrics.count(status);
        }
    }

    pub(crate) fn take_error(&self) -> Option<Error> {
        lock(&self.error).take()
    }
}
