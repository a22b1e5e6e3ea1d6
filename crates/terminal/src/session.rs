//! What every command can use: the settings, the store and the output.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use clap::Args;
use windlass::{OpenMode, Store, StoreUrl};

use crate::exit::{CliError, Result};
use crate::output::Output;
use crate::settings::CliSettings;
use crate::signals::Signals;

/// Flags accepted anywhere on the command line.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Store URL
    #[arg(
        long,
        global = true,
        value_name = "URL",
        help_heading = "Global options"
    )]
    #[arg(
        help = "Store URL: sqlite:PATH, redis://HOST:PORT/DB, http://HOST:PORT, … \
                [default: sqlite:windlass.db] [env: WINDLASS_STORE]"
    )]
    pub store: Option<String>,

    /// Print results as JSON
    #[arg(long, global = true, help_heading = "Global options")]
    pub json: bool,
}

/// The context of one command.
#[derive(Debug)]
pub struct Session {
    pub global: Global,
    pub output: Output,
    pub interrupts: Interrupts,
}

/// How SIGINT is handled. By default it stops the command immediately.
#[derive(Debug, Clone, Default)]
pub struct Interrupts(Arc<AtomicU8>);

impl Interrupts {
    /// From now on the command cleans up after the first SIGINT; the second stops it.
    pub fn begin_cleanup(&self) {
        self.0.store(1, Ordering::Release);
    }

    /// From now on the command handles all signals itself.
    pub fn take_over(&self) {
        self.0.store(2, Ordering::Release);
    }

    pub fn wait_for_cleanup(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }

    pub fn are_handled(&self) -> bool {
        self.0.load(Ordering::Acquire) > 1
    }
}

impl Session {
    pub fn new(global: Global, output: Output) -> Self {
        Self {
            global,
            output,
            interrupts: Interrupts::default(),
        }
    }

    /// Takes over signal handling: the command receives both signals and shuts down itself.
    pub fn signals(&self) -> Result<Signals> {
        let signals = Signals::listen()?;
        self.interrupts.take_over();
        Ok(signals)
    }

    /// Resolves the effective settings.
    pub fn settings(&self) -> Result<CliSettings> {
        CliSettings::resolve(self.global.store.as_deref())
    }

    /// Returns the URL of the store. A `memory:` store is an error: it would be gone with this process.
    pub fn persistent_store_url(&self) -> Result<StoreUrl> {
        let settings = self.settings()?;
        if settings.store == StoreUrl::Memory {
            return Err(CliError::usage(
                "a memory: store exists only inside one process, so this command would find it empty",
                "use a persistent store, for example --store sqlite:windlass.db",
            ));
        }
        Ok(settings.store)
    }

    /// Opens the store; it must exist.
    pub async fn store(&self) -> Result<Arc<dyn Store>> {
        Ok(windlass::open(&self.persistent_store_url()?, OpenMode::MustExist).await?)
    }

    /// Opens the store, creating it if missing.
    pub async fn store_or_create(&self) -> Result<Arc<dyn Store>> {
        Ok(windlass::open(&self.persistent_store_url()?, OpenMode::CreateIfMissing).await?)
    }
}
