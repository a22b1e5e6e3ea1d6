//! One queue of a worker: what its loops share.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use windlass_core::{BootId, QueueName, Store};

use crate::figures::Figures;
use crate::holdings::Holdings;
use crate::options::Source;
use crate::outbox::Outbox;
use crate::run::{Origin, Run};

/// One queue of a worker.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) index: usize,
    pub(crate) origin: Arc<Origin>,
    holdings: Mutex<Holdings>,
    /// Jobs claimed at most once: nobody holds them, but they too are asked to stop in the end.
    loose: Mutex<Vec<Weak<Run>>>,
    /// Attempts that ended by themselves; settled beside the handlers.
    pub(crate) outbox: Outbox,
    /// Attempts that the keeper ended; settled on its own thread, whatever the handlers do.
    pub(crate) late: Outbox,
    /// The latest claim found less than it asked for: the next may as well wait.
    pub(crate) is_drained: AtomicBool,
    /// Something is held now, or should be renewed at once.
    pub(crate) renew: Notify,
    /// Whoever waits for jobs should look again: a suspect has ended, and the store gives no hint
    /// that this worker may have the next.
    pub(crate) look: Notify,
    pub(crate) figures: Figures,
}

impl Lane {
    pub(crate) fn new(index: usize, source: &Source, store: Arc<dyn Store>, boot: BootId) -> Self {
        let queue = source.queue.clone();
        Self {
            index,
            figures: Figures::new(&queue),
            origin: Arc::new(Origin { store, queue }),
            holdings: Mutex::new(Holdings::new(boot)),
            loose: Mutex::default(),
            outbox: Outbox::default(),
            late: Outbox::default(),
            is_drained: AtomicBool::new(true),
            renew: Notify::new(),
            look: Notify::new(),
        }
    }

    pub(crate) fn queue(&self) -> &QueueName {
        &self.origin.queue
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.origin.store.as_ref()
    }

    pub(crate) fn holdings(&self) -> MutexGuard<'_, Holdings> {
        self.holdings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers jobs that were claimed at most once, for as long as they run.
    pub(crate) fn remember_loose(&self, runs: &[Arc<Run>]) {
        let mut loose = self.loose.lock().unwrap_or_else(PoisonError::into_inner);
        loose.retain(|run| run.strong_count() > 0);
        loose.extend(runs.iter().map(Arc::downgrade));
    }

    /// Every job that was claimed and has not ended, held or loose.
    pub(crate) fn open(&self) -> Vec<Arc<Run>> {
        let mut open = self.holdings().runs();
        let loose = self.loose.lock().unwrap_or_else(PoisonError::into_inner);
        open.extend(loose.iter().filter_map(Weak::upgrade));
        open.retain(|run| !run.is_ended());
        open
    }

    /// Asks the keeper to renew now.
    pub(crate) fn hurry(&self) {
        self.holdings().hurry();
        self.renew.notify_one();
    }
}
