//! What every command has at hand: the settings in force, the store they name, and the output.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use windlass::{Existing, Store, StoreUrl};

use crate::args::Global;
use crate::exit::{Failure, Result};
use crate::output::Output;
use crate::settings::Settings;
use crate::signals::Signals;

/// One run of one command.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) global: Global,
    pub(crate) output: Output,
    pub(crate) clearing: Clearing,
}

/// What an interrupt means to a command: the end at once, unless it said otherwise.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clearing(Arc<AtomicU8>);

impl Clearing {
    /// There is something to clear away: the command ends by itself, a second interrupt ends it.
    pub(crate) fn begin(&self) {
        self.0.store(1, Ordering::Release);
    }

    /// The command hears every signal itself.
    pub(crate) fn take_over(&self) {
        self.0.store(2, Ordering::Release);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }

    pub(crate) fn is_taken_over(&self) -> bool {
        self.0.load(Ordering::Acquire) > 1
    }
}

impl Session {
    pub(crate) fn new(global: Global, output: Output) -> Self {
        Self {
            global,
            output,
            clearing: Clearing::default(),
        }
    }

    /// Signals are the command's own from here on: it hears both, and ends by itself.
    pub(crate) fn signals(&self) -> Result<Signals> {
        let signals = Signals::listen()?;
        self.clearing.take_over();
        Ok(signals)
    }

    /// The settings in force.
    pub(crate) fn settings(&self) -> Result<Settings> {
        Settings::resolve(self.global.store.as_deref())
    }

    /// The URL of a store that outlives this process.
    pub(crate) fn lasting_store(&self) -> Result<StoreUrl> {
        let settings = self.settings()?;
        if settings.store == StoreUrl::Memory {
            return Err(Failure::usage(
                "a memory: store ends with its process, so this command would work on nothing",
                "name a store that lasts, for example --store sqlite:windlass.db",
            ));
        }
        Ok(settings.store)
    }

    /// The store; it has to be there.
    pub(crate) async fn store(&self) -> Result<Arc<dyn Store>> {
        Ok(windlass::open(&self.lasting_store()?, Existing::Required).await?)
    }

    /// The store; made where it is not there.
    pub(crate) async fn store_or_create(&self) -> Result<Arc<dyn Store>> {
        Ok(windlass::open(&self.lasting_store()?, Existing::OrCreate).await?)
    }
}
