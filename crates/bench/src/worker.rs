//! The worker process of the crash scenario: runs no-op jobs with a short lease and records each start.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::io::AsyncReadExt;
use windlass::runtime::{
    Source, {AttemptContext, Options, Runtime},
};
use windlass::store::LeaseTime;
use windlass::{Error, ErrorKind, OpenMode, Outcome, QueueName, Result, StoreUrl};

/// The subcommand that runs such a process, followed by the queue and the file.
pub const SUBCOMMAND: &str = "bench-worker";

/// The environment variable that names the store.
pub(crate) const STORE_VARIABLE: &str = "WINDLASS_STORE";

/// Short, so that jobs of a killed worker are reclaimed soon.
const LEASE: LeaseTime = LeaseTime::nearest(Duration::from_secs(1));

/// Jobs that run concurrently.
const CONCURRENCY: usize = 50;

/// The command line of a worker process.
#[derive(Debug, Args)]
pub struct WorkerArguments {
    queue: String,
    ledger: PathBuf,
}

/// Runs until stdin closes.
pub async fn run(arguments: WorkerArguments) -> Result<()> {
    let WorkerArguments { queue, ledger } = arguments;
    // Only the variable set by the benchmark: windlass.toml must not apply.
    let url: StoreUrl = std::env::var(STORE_VARIABLE).unwrap_or_default().parse()?;
    // Not created: the benchmark created it, and has removed it if it was stopped since.
    let file = File::options().append(true).open(&ledger);
    let file = file.map_err(|error| {
        let what = format!("cannot write {}: {error}", ledger.display());
        Error::new(ErrorKind::Invalid, what, "use a writable file")
    })?;
    let stores = windlass::runtime::open_connections(&url, OpenMode::MustExist).await?;
    let mut options = Options::new([Source::new(QueueName::new(queue)?)]);
    "bench".clone_into(&mut options.name);
    options.lease = LEASE;
    options.concurrency = CONCURRENCY;
    let handler = move |context: AttemptContext| {
        std::future::ready(match record_start(&file, &context.job().payload) {
            Ok(()) => Outcome::done(),
            Err(error) => Outcome::failed(error.to_string()),
        })
    };
    let runtime = Runtime::new(stores, options, Arc::new(handler))?;
    let stopper = runtime.stopper();
    tokio::spawn(async move {
        // Nothing is written to stdin: it closes when the bench exits.
        let _ = tokio::io::stdin().read(&mut [0]).await;
        stopper.stop();
    });
    runtime.run().await.map(drop)
}

/// One write, which survives a kill.
fn record_start(mut file: &File, payload: &[u8]) -> std::io::Result<()> {
    let number = payload.first_chunk::<8>().copied().unwrap_or_default();
    file.write_all(&number)
}
