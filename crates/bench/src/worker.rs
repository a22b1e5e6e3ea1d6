//! A worker process of the crash scenario: no-op jobs under a short lease, each start written down.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use windlass::runtime::{AttemptContext, Options, Runtime};
use windlass::{Error, ErrorKind, OpenMode, Outcome, QueueName, Result, Source, StoreUrl};

/// The word that makes the program such a process; the queue and the file follow.
pub const WORD: &str = "bench-worker";

/// The environment variable that names the store.
pub(crate) const STORE_VARIABLE: &str = "WINDLASS_STORE";

/// Short, so that what a killed worker held comes back soon.
const LEASE: Duration = Duration::from_secs(1);

/// Jobs that run at once.
const CONCURRENCY: usize = 50;

/// Works until standard input closes.
pub async fn run(url: &StoreUrl, queue: &str, ledger: &Path) -> Result<()> {
    let file = File::options().create(true).append(true).open(ledger);
    let file = file.map_err(|error| {
        let what = format!("{} cannot be written: {error}", ledger.display());
        Error::new(ErrorKind::Invalid, what, "name a file that can be written")
    })?;
    let stores = windlass::open_connections(url, OpenMode::MustExist).await?;
    let mut options = Options::new([Source::new(QueueName::new(queue)?)]);
    "bench".clone_into(&mut options.name);
    options.lease = LEASE;
    options.concurrency = CONCURRENCY;
    let handler = move |context: AttemptContext| {
        std::future::ready(match write_down(&file, &context.job().payload) {
            Ok(()) => Outcome::done(),
            Err(error) => Outcome::failed(error.to_string()),
        })
    };
    let runtime = Runtime::new(stores, options, Arc::new(handler))?;
    let stopper = runtime.stopper();
    tokio::spawn(async move {
        // Nothing is ever written to it: it ends when the bench ends or dies.
        let _ = tokio::io::stdin().read(&mut [0]).await;
        stopper.stop();
    });
    runtime.run().await.map(drop)
}

/// In one call of the system, which a kill cannot take back.
fn write_down(mut file: &File, payload: &[u8]) -> std::io::Result<()> {
    let number = payload.first_chunk::<8>().copied().unwrap_or_default();
    file.write_all(&number)
}
