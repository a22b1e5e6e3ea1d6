//! What one job costs with a thousand and with a million waiting: it must not grow.
//!
//! `cargo bench -p windlass-store-sqlite --bench backlog [-- LARGE]`
//!
//! Work is measured, not the disk: synchronous off. Rounds on the small and on the large store
//! alternate, so that whatever else the machine does hits both. Exit 1 when enqueue, claim or
//! complete cost more than twice as much on the large store.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures for people"
)]
#![allow(
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark is a program that reads the clock"
)]

mod sample;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sample::{Sample, size_asked};
use tempfile::TempDir;
use windlass_core::{
    BootId, ClaimRequest, Hold, ManualClock, NewJob, QueueName, Result, Store, Timestamp,
};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

const SMALL: usize = 1_000;
const LARGE: usize = 1_000_000;
const ROUNDS: usize = 300;
const BATCH: usize = 100;
const RATIO_MAX: f64 = 2.0;

/// How far apart scheduled jobs fall due on average.
const SPACING: Duration = Duration::from_millis(10);

/// A store with so many jobs waiting, and what its rounds took.
struct Subject {
    store: SqliteStore,
    clock: Arc<ManualClock>,
    queue: QueueName,
    waiting: usize,
    seq: u64,
    samples: [Sample; 3],
    _folder: TempDir,
}

impl Subject {
    fn open(waiting: usize) -> Result<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let clock = Arc::new(ManualClock::new(Timestamp::from_ms(1_700_000_000_000)));
        let options = Options {
            clock: clock.clone(),
            synchronous: Synchronous::Off,
            call_deadline: Duration::from_secs(600),
            ..Options::default()
        };
        Ok(Self {
            store: SqliteStore::open(&folder.path().join("jobs.db"), options)?,
            clock,
            queue: QueueName::new("mail")?,
            waiting,
            seq: 0,
            samples: Default::default(),
            _folder: folder,
        })
    }

    async fn fill(&self, job: impl Fn(&Self) -> NewJob) -> Result<()> {
        for batch in (0..self.waiting).step_by(1_000) {
            let size = (self.waiting - batch).min(1_000);
            let jobs = (0..size).map(|_| job(self)).collect();
            self.store.enqueue(&self.queue, jobs).await?;
        }
        Ok(())
    }

    /// A batch comes, a batch is claimed, a batch is completed: as many wait as before.
    async fn ready_round(&mut self) -> Result<()> {
        let jobs = (0..BATCH).map(|_| ready()).collect();
        let began = Instant::now();
        self.store.enqueue(&self.queue, jobs).await?;
        self.samples[0].push(each(began, BATCH));

        self.seq += 1;
        let request = ClaimRequest::worker(BootId::new("bench")?, self.seq, BATCH);
        let began = Instant::now();
        let claim = self.store.claim(&self.queue, request).await?;
        self.samples[1].push(each(began, BATCH));

        let claim = claim.expect("jobs are ready");
        let holds = claim.jobs.iter();
        let done = holds.map(|job| Hold::new(job.id.clone(), claim.token).completion());
        let done = done.collect();
        let began = Instant::now();
        self.store.complete(&self.queue, done, None).await?;
        self.samples[2].push(each(began, BATCH));
        Ok(())
    }

    /// A job that falls due at random while all that wait now do.
    fn scheduled(&self) -> NewJob {
        let window = SPACING.as_secs_f64() * self.waiting as f64;
        NewJob::new(vec![7; 100]).delay(Duration::from_secs_f64(fastrand::f64() * window))
    }

    /// A batch is scheduled, time passes, a batch falls due.
    async fn scheduled_round(&mut self) -> Result<()> {
        let jobs = (0..BATCH).map(|_| self.scheduled()).collect();
        let began = Instant::now();
        self.store.enqueue(&self.queue, jobs).await?;
        self.samples[0].push(each(began, BATCH));

        self.clock.advance(SPACING * BATCH as u32);
        let began = Instant::now();
        let done = self.store.maintain(&self.queue, BATCH).await?;
        if done.promoted > 0 {
            self.samples[1].push(each(began, done.promoted as usize));
        }
        Ok(())
    }
}

fn ready() -> NewJob {
    NewJob::new(vec![7; 100])
}

/// Microseconds for each of so many jobs.
fn each(began: Instant, jobs: usize) -> f64 {
    began.elapsed().as_secs_f64() * 1e6 / jobs as f64
}

/// Prints one line and answers the ratio.
fn report(name: &str, small: &Sample, large: &Sample) -> f64 {
    let spread = |sample: &Sample| format!("{:.1}–{:.1}", sample.at(0.1), sample.at(0.9));
    let ratio = large.over(small).median();
    println!(
        "{name:<18} {:>8.2} {:>12} {:>8.2} {:>12} {ratio:>6.2}",
        small.median(),
        spread(small),
        large.median(),
        spread(large),
    );
    ratio
}

async fn measure(large: usize) -> Result<bool> {
    println!("µs per job, batches of {BATCH}, {ROUNDS} rounds, synchronous off");
    println!(
        "{:<18} {SMALL:>8} {:>12} {large:>8} {:>12} {:>6}",
        "waiting", "10–90 %", "10–90 %", "ratio"
    );
    let mut pair = [Subject::open(SMALL)?, Subject::open(large)?];
    for subject in &pair {
        subject.fill(|_| ready()).await?;
    }
    for _ in 0..ROUNDS {
        for subject in &mut pair {
            subject.ready_round().await?;
        }
    }
    let [small, large_one] = &pair;
    let mut is_flat = true;
    for (index, name) in ["enqueue", "claim", "complete"].into_iter().enumerate() {
        let ratio = report(name, &small.samples[index], &large_one.samples[index]);
        is_flat &= ratio <= RATIO_MAX;
    }
    drop(pair);
    let mut pair = [Subject::open(SMALL)?, Subject::open(large)?];
    for subject in &pair {
        subject.fill(Subject::scheduled).await?;
    }
    for _ in 0..ROUNDS {
        for subject in &mut pair {
            subject.scheduled_round().await?;
        }
    }
    let [small, large] = &pair;
    for (index, name) in ["enqueue scheduled", "promote"].into_iter().enumerate() {
        report(name, &small.samples[index], &large.samples[index]);
    }
    Ok(is_flat)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match measure(size_asked(LARGE)).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            println!("a ratio of enqueue, claim or complete is above {RATIO_MAX}");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("{error}: {}", error.help());
            ExitCode::FAILURE
        }
    }
}
