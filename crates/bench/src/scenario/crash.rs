//! Real worker processes that are killed with -9 again and again: what is lost, what runs twice.
//!
//! Jobs come in portions. While a portion is worked off a worker dies and another takes its place;
//! then the next portion comes. What ran is counted outside the store: each process writes the
//! number of a job into a file before its handler goes on, and the file outlives the process.

mod ledger;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::process::Command;
use windlass::{JobId, NewJob, QueueName, Result, Store, StoreUrl};

use crate::ended::{ended_jobs, keep_ended};
use crate::load::{QUEUE, shares};
use crate::measure::{Round, real};
use crate::stage::Stage;
use crate::worker::{STORE_VARIABLE, WORD};
use ledger::Ledger;

const JOBS: u64 = 20_000;

/// Worker processes at once.
const WORKERS: usize = 3;

/// How often one of them is killed.
const KILLS: usize = 10;

/// How often the figures are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A run that makes no headway for this long is given up.
const STALL_MAX: Duration = Duration::from_secs(120);

pub(super) async fn round(stage: &Stage<'_>) -> Result<Round> {
    let jobs = stage.plan.jobs_or(JOBS);
    let url = stage.place.fresh().await?;
    let client = stage.client(&url).await?;
    let store = client.store().as_ref();
    let queue = QueueName::new(QUEUE)?;
    keep_ended(store, &queue).await?;
    let ledger = Ledger::open()?;
    let mut run = Run {
        stage,
        url: &url,
        store,
        queue: &queue,
        ledger: &ledger,
        accepted: BTreeSet::new(),
        kills: 0,
    };
    stage.progress.begin("crash", jobs);
    let began = Instant::now();
    run.play(jobs).await?;
    let took = began.elapsed();
    let ended = ended_jobs(store, &queue).await?;
    let is_lost = |id: &&JobId| !ended.contains_key(*id);
    let lost = run.accepted.iter().filter(is_lost).count() as u64;
    let starts = ledger.count();

    let mut round = Round::default();
    round.count("accepted", run.accepted.len() as u64);
    round.count("ended", ended.len() as u64);
    round.count("lost", lost);
    round.count("repeats", starts.repeats());
    round.count("kills", run.kills);
    round.note("per_s", real(jobs) / took.as_secs_f64());
    Ok(round)
}

struct Run<'a> {
    stage: &'a Stage<'a>,
    url: &'a StoreUrl,
    store: &'a dyn Store,
    queue: &'a QueueName,
    ledger: &'a Ledger,
    accepted: BTreeSet<JobId>,
    kills: u64,
}

impl Run<'_> {
    async fn play(&mut self, jobs: u64) -> Result<()> {
        let mut crew = self.stage.crew.lock().await;
        for _ in 0..WORKERS {
            crew.start(self.command())?;
        }
        let portions: Vec<u64> = shares(jobs, KILLS + 1).collect();
        let mut sent = 0;
        for (number, portion) in portions.iter().enumerate() {
            self.enqueue(sent..sent + portion).await?;
            let is_last = number + 1 == portions.len();
            if !is_last {
                // In the middle of the portion, so that the victim holds some of it.
                self.until_ended(sent + portion / 2).await?;
                let pids = crew.pids();
                if let Some(victim) = fastrand::choice(&pids) {
                    crew.kill(*victim).await?;
                    self.kills += 1;
                    crew.start(self.command())?;
                }
            }
            sent += portion;
        }
        self.until_ended(jobs).await?;
        crew.dismiss().await
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.stage.program);
        command
            .arg(WORD)
            .arg(self.queue.as_str())
            .arg(self.ledger.page())
            // Everybody on the machine may read the arguments of a process; the URL may hold a secret.
            .env(STORE_VARIABLE, self.url.to_secret_string());
        command
    }

    async fn enqueue(&mut self, numbers: std::ops::Range<u64>) -> Result<()> {
        let bytes = self.stage.plan.payload;
        let numbers: Vec<u64> = numbers.collect();
        for batch in numbers.chunks(self.stage.plan.batch) {
            let jobs = batch
                .iter()
                .map(|number| NewJob::new(numbered(*number, bytes)));
            let answers = self.store.enqueue(self.queue, jobs.collect()).await?;
            self.accepted
                .extend(answers.iter().map(|it| it.id().clone()));
        }
        Ok(())
    }

    /// Waits until at least so many jobs have ended.
    async fn until_ended(&self, jobs: u64) -> Result<()> {
        let mut last = (0, Instant::now());
        loop {
            let stats = self.store.stats(self.queue).await?.unwrap_or_default();
            let ended = stats.total.succeeded + stats.total.dead;
            self.stage.progress.reached(ended);
            if ended >= jobs {
                return Ok(());
            }
            if ended > last.0 {
                last = (ended, Instant::now());
            } else if last.1.elapsed() > STALL_MAX {
                // Not a fault to hide: those that are missing are counted as lost.
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// A payload that begins with the number of its job.
fn numbered(number: u64, bytes: usize) -> Bytes {
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(bytes.max(payload.len()), b'x');
    payload.into()
}
