//! What all loops of a worker share.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::task::JoinError;
use windlass_core::limits::Limits;
use windlass_core::{BootId, Error, ErrorKind};

use crate::bench::Bench;
use crate::deadlines::Deadlines;
use crate::handle::Handle;
use crate::lane::Lane;
use crate::options::Options;
use crate::phase::Stopper;
use crate::slots::Slots;
use crate::stores::Stores;
use crate::summary::Tally;

/// What all loops of a worker share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) stores: Stores,
    pub(crate) limits: Limits,
    pub(crate) handler: Arc<dyn Handle>,
    pub(crate) lanes: Vec<Arc<Lane>>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) bench: Bench,
    pub(crate) deadlines: Deadlines,
    pub(crate) stopper: Stopper,
    pub(crate) tally: Tally,
    /// Where handlers run; known once the worker does.
    pub(crate) handlers: OnceLock<tokio::runtime::Handle>,
    boot: Mutex<BootId>,
    fault: Mutex<Option<Error>>,
}

impl Shared {
    pub(crate) fn new(stores: Stores, options: Options, handler: Arc<dyn Handle>) -> Self {
        let boot = BootId::generate();
        let lanes = options.queues.iter().enumerate().map(|(index, source)| {
            let store = Arc::clone(&stores.store);
            Arc::new(Lane::new(index, source, store, boot.clone()))
        });
        Self {
            limits: stores.store.limits(),
            handler,
            lanes: lanes.collect(),
            slots: Slots::new(&options),
            bench: Bench::new(options.concurrency),
            deadlines: Deadlines::default(),
            stopper: Stopper::new(),
            tally: Tally::default(),
            handlers: OnceLock::new(),
            boot: Mutex::new(boot),
            fault: Mutex::default(),
            options,
            stores,
        }
    }

    /// The id of this life.
    pub(crate) fn boot(&self) -> BootId {
        self.boot
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Begins a new life: claims from now on are made under its id.
    pub(crate) fn reborn(&self, boot: &BootId) {
        for lane in &self.lanes {
            lane.holdings().reborn(boot.clone());
        }
        *self.boot.lock().unwrap_or_else(PoisonError::into_inner) = boot.clone();
    }

    /// The store refused for good: the worker stops and says so.
    pub(crate) fn fail(&self, error: Error) {
        tracing::error!(target: "windlass", code = error.code(), help = error.help(),
            "{error}; the worker stops");
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert(error);
        self.stopper.stop();
    }

    /// A loop is not there any more: where it panicked, the worker must not go on without it.
    pub(crate) fn loop_ended(&self, ended: Option<Result<(), JoinError>>) {
        if let Some(Err(error)) = ended {
            let what = "a part of the worker broke down";
            let help = "its jobs come back by themselves; start it again, and report this";
            self.fail(Error::new(ErrorKind::Internal, what, help).caused_by(error));
        }
    }

    pub(crate) fn take_fault(&self) -> Option<Error> {
        self.fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}
