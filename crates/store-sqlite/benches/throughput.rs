//! Jobs per second with everything on disk before it is answered, beside the bare engine.
//!
//! `cargo bench -p windlass-store-sqlite --bench throughput [-- JOBS]`
//!
//! Ours is the whole store through its contract. Bare is one table of SQLite with the same
//! durability and hand-written statements: no ids, leases, tokens, retries or figures, and nobody
//! else at the file. Rounds alternate, so that whatever else the machine does hits both.

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

mod bare;
mod sample;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use bare::Bare;
use sample::{Sample, size_asked};
use windlass_core::{BootId, Claim, ClaimRequest, Hold, NewJob, QueueName, Result, Store};
use windlass_store_sqlite::{Options, SqliteStore};

const JOBS: usize = 20_000;
const ROUNDS: usize = 9;
const BATCH: usize = 100;
const PAYLOAD: [u8; 100] = [7; 100];
const CALLERS: usize = 100;

fn queue() -> QueueName {
    QueueName::new("mail").expect("the name is valid")
}

async fn enqueue_all(store: &SqliteStore, jobs: usize) -> Result<()> {
    for _ in 0..jobs / BATCH {
        let batch = (0..BATCH).map(|_| NewJob::new(PAYLOAD.to_vec()));
        store.enqueue(&queue(), batch.collect()).await?;
    }
    Ok(())
}

/// Works until nothing is left: each call ends one batch and takes the next. Answers how many.
async fn drain(store: Arc<SqliteStore>, boot: String) -> Result<usize> {
    let boot = BootId::new(&boot)?;
    let mut seq = 1;
    let request = |seq| ClaimRequest::worker(boot.clone(), seq, BATCH);
    let mut held: Option<Claim> = store.claim(&queue(), request(seq)).await?;
    let mut done = 0;
    while let Some(claim) = held {
        done += claim.jobs.len();
        let holds = claim.jobs.into_iter();
        let completions = holds.map(|job| Hold::new(job.id, claim.token).completion());
        seq += 1;
        let completions = completions.collect();
        let completed = store
            .complete(&queue(), completions, Some(request(seq)))
            .await?;
        held = completed.next;
    }
    Ok(done)
}

async fn drain_with(store: &Arc<SqliteStore>, workers: usize, jobs: usize) -> Result<()> {
    let tasks: Vec<_> = (0..workers)
        .map(|number| tokio::spawn(drain(store.clone(), format!("worker-{number}"))))
        .collect();
    let mut done = 0;
    for task in tasks {
        done += task.await.expect("a worker does not panic")?;
    }
    assert_eq!(done, jobs, "every job is worked off once");
    Ok(())
}

/// One job per call, from many callers at once.
async fn enqueue_singly(store: &Arc<SqliteStore>, jobs: usize) -> Result<()> {
    let caller = |store: Arc<SqliteStore>| async move {
        for _ in 0..jobs / CALLERS {
            let job = vec![NewJob::new(PAYLOAD.to_vec())];
            store.enqueue(&queue(), job).await?;
        }
        Ok(())
    };
    let tasks: Vec<_> = (0..CALLERS)
        .map(|_| tokio::spawn(caller(store.clone())))
        .collect();
    for task in tasks {
        task.await.expect("a caller does not panic")?;
    }
    Ok(())
}

/// Runs something on so many jobs and adds its jobs per second.
macro_rules! timed {
    ($sample:expr, $jobs:expr, $work:expr) => {{
        let began = Instant::now();
        $work;
        $sample.push($jobs as f64 / began.elapsed().as_secs_f64());
    }};
}

const KINDS: [&str; 4] = [
    "enqueue, 100 a call",
    "complete+claim, 1 task",
    "complete+claim, 4 tasks",
    "enqueue, 1 a call",
];

async fn round_of_ours(samples: &mut [Sample; 4], jobs: usize) -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let store = SqliteStore::open(&folder.path().join("jobs.db"), Options::default())?;
    let store = Arc::new(store);
    timed!(samples[0], jobs, enqueue_all(&store, jobs).await?);
    timed!(samples[1], jobs, drain_with(&store, 1, jobs).await?);
    enqueue_all(&store, jobs).await?;
    timed!(samples[2], jobs, drain_with(&store, 4, jobs).await?);
    timed!(samples[3], jobs, enqueue_singly(&store, jobs).await?);
    Ok(())
}

fn round_of_bare(samples: &mut [Sample; 4], jobs: usize) -> rusqlite::Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut bare = Bare::open(&folder.path().join("bare.db"))?;
    timed!(samples[0], jobs, bare.enqueue(jobs, BATCH)?);
    timed!(samples[1], jobs, bare.drain(jobs, BATCH)?);
    bare.enqueue(jobs, BATCH)?;
    // One writer at a time is all the engine has: with four tasks the bare figure is the same.
    timed!(samples[2], jobs, bare.drain(jobs, BATCH)?);
    let few = jobs / 20;
    timed!(samples[3], few, bare.enqueue(few, 1)?);
    Ok(())
}

async fn measure(jobs: usize) -> Result<()> {
    let (mut ours, mut bare) = (<[Sample; 4]>::default(), <[Sample; 4]>::default());
    for _ in 0..ROUNDS {
        round_of_ours(&mut ours, jobs).await?;
        round_of_bare(&mut bare, jobs).expect("the bare engine works");
    }
    println!("jobs per second, {jobs} jobs of 100 bytes, synchronous full, {ROUNDS} rounds;");
    println!("medians, and the median of the ratios of each round");
    println!(
        "{:<24} {:>8} {:>15} {:>8} {:>15} {:>6}",
        "", "ours", "least–most", "bare", "least–most", "ratio"
    );
    for (index, kind) in KINDS.into_iter().enumerate() {
        let (ours, bare) = (&ours[index], &bare[index]);
        let spread = |sample: &Sample| format!("{:.0}–{:.0}", sample.at(0.0), sample.at(1.0));
        println!(
            "{kind:<24} {:>8.0} {:>15} {:>8.0} {:>15} {:>6.2}",
            ours.median(),
            spread(ours),
            bare.median(),
            spread(bare),
            ours.over(bare).median()
        );
    }
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    match measure(size_asked(JOBS)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}: {}", error.help());
            ExitCode::FAILURE
        }
    }
}
