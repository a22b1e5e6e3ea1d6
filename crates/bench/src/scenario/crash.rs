//! Worker processes that are repeatedly killed with SIGKILL: counts lost and repeated jobs.
//!
//! Jobs are enqueued in portions. During each portion, one worker is killed and replaced. Starts are
//! counted outside the store: each process appends the number of a job to a file before its handler
//! returns, and the file survives the process.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::process::Command;
use windlass::{Error, ErrorKind, JobId, NewJob, QueueName, Result, Store, StoreUrl};

use crate::context::BenchContext;
use crate::ended::{ended_jobs, keep_ended};
use crate::error;
use crate::load::{QUEUE, shares};
use crate::measure::{Round, real};
use crate::worker::{STORE_VARIABLE, SUBCOMMAND};

const JOBS: u64 = 20_000;

/// Concurrent worker processes.
const WORKERS: usize = 3;

/// Number of kills.
const KILLS: usize = 10;

/// How often the stats are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A run without progress for this long ends.
const STALL_MAX: Duration = Duration::from_secs(120);

pub(super) async fn round(context: &BenchContext<'_>) -> Result<Round> {
    let jobs = context.plan.jobs_or(JOBS);
    let url = context.target.fresh().await?;
    let client = context.client(&url).await?;
    let store = client.store().as_ref();
    let queue = QueueName::new(QUEUE)?;
    keep_ended(store, &queue).await?;
    let ledger = tempfile::Builder::new()
        .prefix("windlass-bench-")
        .tempfile();
    let ledger = ledger.map_err(|error| {
        Error::new(
            ErrorKind::Invalid,
            format!("cannot create a temporary file: {error}"),
            "set TMPDIR to a writable folder",
        )
    })?;
    let mut run = Run {
        context,
        url: &url,
        store,
        queue: &queue,
        ledger: ledger.path(),
        accepted: BTreeSet::new(),
        kills: 0,
    };
    context.progress.begin("crash", jobs);
    let began = Instant::now();
    run.execute(jobs).await?;
    let took = began.elapsed();
    let ended = ended_jobs(store, &queue).await?;
    let is_lost = |id: &&JobId| !ended.contains_key(*id);
    let lost = run.accepted.iter().filter(is_lost).count() as u64;
    let starts = std::fs::read(ledger.path()).map_err(error::internal)?;

    let mut round = Round::default();
    round.count("accepted", run.accepted.len() as u64);
    round.count("ended", ended.len() as u64);
    round.count("lost", lost);
    round.count("repeats", repeats(&starts));
    round.count("kills", run.kills);
    round.record("per_s", real(jobs) / took.as_secs_f64());
    Ok(round)
}

struct Run<'a> {
    context: &'a BenchContext<'a>,
    url: &'a StoreUrl,
    store: &'a dyn Store,
    queue: &'a QueueName,
    ledger: &'a Path,
    accepted: BTreeSet<JobId>,
    kills: u64,
}

impl Run<'_> {
    async fn execute(&mut self, jobs: u64) -> Result<()> {
        let mut processes = self.context.processes.lock().await;
        for _ in 0..WORKERS {
            processes.start(self.command())?;
        }
        let portions: Vec<u64> = shares(jobs, KILLS + 1).collect();
        let mut sent = 0;
        for (number, portion) in portions.iter().enumerate() {
            self.enqueue(sent..sent + portion).await?;
            let is_last = number + 1 == portions.len();
            if !is_last {
                // In the middle of the portion, so that the victim holds some jobs.
                self.wait_until_ended(sent + portion / 2).await?;
                let pids = processes.pids();
                if let Some(victim) = fastrand::choice(&pids) {
                    processes.kill(*victim).await?;
                    self.kills += 1;
                    processes.start(self.command())?;
                }
            }
            sent += portion;
        }
        self.wait_until_ended(jobs).await?;
        processes.stop().await
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.context.program);
        command
            .arg(SUBCOMMAND)
            .arg(self.queue.as_str())
            .arg(self.ledger)
            // Process arguments are visible to all users, and the URL may contain a password.
            .env(STORE_VARIABLE, self.url.to_secret_string());
        command
    }

    async fn enqueue(&mut self, numbers: std::ops::Range<u64>) -> Result<()> {
        let bytes = self.context.plan.payload;
        let numbers: Vec<u64> = numbers.collect();
        for batch in numbers.chunks(self.context.plan.batch) {
            let jobs = batch
                .iter()
                .map(|number| NewJob::new(numbered(*number, bytes)));
            let replies = self.store.enqueue(self.queue, jobs.collect()).await?;
            self.accepted
                .extend(replies.iter().map(|it| it.id().clone()));
        }
        Ok(())
    }

    /// Waits until at least `jobs` jobs have ended.
    async fn wait_until_ended(&self, jobs: u64) -> Result<()> {
        let mut last = (0, Instant::now());
        loop {
            let stats = self.store.stats(self.queue).await?.unwrap_or_default();
            let ended = stats.total.succeeded + stats.total.dead;
            self.context.progress.reached(ended);
            if ended >= jobs {
                return Ok(());
            }
            if ended > last.0 {
                last = (ended, Instant::now());
            } else if last.1.elapsed() > STALL_MAX {
                // Not an error here: missing jobs are counted as lost.
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// A payload that starts with the number of its job.
fn numbered(number: u64, bytes: usize) -> Bytes {
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(bytes.max(payload.len()), b'x');
    payload.into()
}

/// The number of starts beyond the first of each job: eight bytes per start.
fn repeats(starts: &[u8]) -> u64 {
    let (numbers, _) = starts.as_chunks::<8>();
    let jobs: BTreeSet<_> = numbers.iter().collect();
    (numbers.len() - jobs.len()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_started_twice_is_one_repeat_and_an_incomplete_entry_is_ignored() {
        let numbers = [1u64, 2, 1].iter().flat_map(|it| it.to_be_bytes());
        let starts: Vec<u8> = numbers.chain([0, 0, 0]).collect();
        assert_eq!(repeats(&starts), 1);
    }
}
