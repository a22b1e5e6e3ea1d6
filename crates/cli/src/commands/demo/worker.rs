//! `windlass demo-worker`: one worker process of the demo. Not meant to be typed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use tokio::io::AsyncReadExt;
use windlass::{Existing, QueueName, StoreUrl};
use windlass_worker::{Context, Options, Outcome, Runtime, Source};

use super::plan::Ask;
use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::session::Session;
use crate::settings::STORE_VARIABLE;

/// The line a worker prints when it holds a job and waits to be killed.
pub(super) const HOLDING: &str = "holding";

/// Short, so that the killed worker's jobs come back while one watches.
const LEASE: Duration = Duration::from_secs(1);

/// Jobs that run at once.
const CONCURRENCY: usize = 100;

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    queue: String,
}

/// Works until standard input closes.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    // What the demo said, and nothing that the file in this folder says.
    let url: StoreUrl = std::env::var(STORE_VARIABLE).unwrap_or_default().parse()?;
    let stores = windlass::open_stores(&url, Existing::Required).await?;
    let mut options = Options::new([Source::new(queue)]);
    "demo".clone_into(&mut options.name);
    options.lease = LEASE;
    options.concurrency = CONCURRENCY;
    let output = session.output.clone();
    let hangs = Arc::new(AtomicBool::new(false));
    let handler = move |context: Context| attempt(context, output.clone(), Arc::clone(&hangs));
    let runtime = Runtime::new(stores, options, Arc::new(handler))?;
    let stopper = runtime.stopper();
    tokio::spawn(async move {
        // Nothing is ever written to it: it ends when the demo ends or dies.
        let _ = tokio::io::stdin().read(&mut [0]).await;
        stopper.stop();
    });
    runtime.run().await?;
    Ok(Exit::Ok)
}

async fn attempt(context: Context, mut output: Output, hangs: Arc<AtomicBool>) -> Outcome {
    let job = context.job();
    match Ask::read(&job.payload) {
        Ok(Ask::Hold) if job.expiries == 0 => {
            hangs.store(true, Ordering::Release);
            // Some neighbours join it, as in a process that hangs.
            tokio::time::sleep(LEASE / 10).await;
            output.line(HOLDING);
            std::future::pending().await
        }
        _ if hangs.load(Ordering::Acquire) => std::future::pending().await,
        Ok(Ask::Fail(times)) if job.attempt <= times => {
            Outcome::failed("the demo asked for this failure")
        }
        Ok(_) => Outcome::done(),
        Err(error) => Outcome::permanent(error.to_string()),
    }
}
