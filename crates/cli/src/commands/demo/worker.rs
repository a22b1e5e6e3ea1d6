//! `windlass demo-worker`: a worker process of the demo. Internal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use tokio::io::AsyncReadExt;
use windlass::store::LeaseTime;
use windlass::{OpenMode, QueueName, StoreUrl};
use windlass_worker::{AttemptContext, Options, Outcome, Runtime, Source};

use super::plan::Behaviour;
use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::session::Session;
use crate::settings::STORE_VARIABLE;

/// Printed by the worker that runs the blocking job.
pub(super) const READY_TO_BE_KILLED: &str = "ready to be killed";

/// Short, so that the killed worker's jobs return during the demo.
const LEASE: LeaseTime = LeaseTime::nearest(Duration::from_secs(1));

/// Jobs run at once.
const CONCURRENCY: usize = 100;

/// Command-line arguments.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    queue: QueueName,
}

/// Runs jobs until stdin closes.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    // Only the variable set by the demo: windlass.toml must not apply.
    let url: StoreUrl = std::env::var(STORE_VARIABLE).unwrap_or_default().parse()?;
    let stores = windlass::runtime::open_connections(&url, OpenMode::MustExist).await?;
    let mut options = Options::new([Source::new(arguments.queue)]);
    "demo".clone_into(&mut options.name);
    options.lease = LEASE;
    options.concurrency = CONCURRENCY;
    let output = session.output.clone();
    let is_blocked = Arc::new(AtomicBool::new(false));
    let handler =
        move |context: AttemptContext| attempt(context, output.clone(), Arc::clone(&is_blocked));
    let runtime = Runtime::new(stores, options, Arc::new(handler))?;
    let stopper = runtime.stopper();
    tokio::spawn(async move {
        // Nothing is written to it; it closes when the demo exits or dies.
        let _ = tokio::io::stdin().read(&mut [0]).await;
        stopper.stop();
    });
    runtime.run().await?;
    Ok(Exit::Ok)
}

async fn attempt(
    context: AttemptContext,
    mut output: Output,
    is_blocked: Arc<AtomicBool>,
) -> Outcome {
    let job = context.job();
    match Behaviour::read(&job.payload) {
        Ok(Behaviour::Block) if job.expiries == 0 => {
            is_blocked.store(true, Ordering::Release);
            // Let some other jobs start, as in a process that hangs.
            tokio::time::sleep(LEASE.get() / 10).await;
            output.line(READY_TO_BE_KILLED);
            std::future::pending().await
        }
        _ if is_blocked.load(Ordering::Acquire) => std::future::pending().await,
        Ok(Behaviour::Fail(times)) if job.attempt <= times => {
            Outcome::failed("this job of the demo fails on purpose")
        }
        Ok(_) => Outcome::done(),
        Err(error) => Outcome::permanent(error.to_string()),
    }
}
