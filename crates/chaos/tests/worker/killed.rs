//! One of several workers is killed repeatedly.

use std::time::{Duration, Instant};

use windlass_chaos::behaviour::Behaviour;

use crate::fixture::{Fixture, ended, job};
use crate::workers::{Spec, Workers};
use crate::{rescues, rounds, seed};

/// Jobs per round.
const JOBS: usize = 2_000;
const WORKERS: usize = 4;
const LEASE: Duration = Duration::from_secs(1);

/// How long a rescued job may take to restart beyond its lease.
const RESCUE_MAX: Duration = Duration::from_secs(1);

/// Extra time for a busy machine in a short run, where the slowest few jobs decide.
const MACHINE_SLACK: Duration = Duration::from_secs(10);

on_each_store!(jobs_of_a_killed_worker_are_rescued_and_every_job_ends_once);

async fn jobs_of_a_killed_worker_are_rescued_and_every_job_ends_once(fixture: Fixture) {
    let mut rng = fastrand::Rng::with_seed(seed());
    let count = JOBS * rounds();
    // Workers die of kills here, not of their jobs.
    fixture.set("poison_after=1000").await;
    let jobs = (0..count).map(|n| {
        let time = Duration::from_millis(rng.u64(10..30));
        job(&format!("job-{n}"), Behaviour::Sleep(time))
    });
    fixture.enqueue(jobs.collect()).await;
    let spec = Spec {
        lease: LEASE,
        ..Spec::default()
    };
    let mut effects = fixture.effects();
    let began = Instant::now();
    let timeout = Duration::from_secs(200) * u32::try_from(rounds()).unwrap();
    let mut workers = Workers::start(&fixture, spec, WORKERS).await;
    while ended(effects.read().unwrap()).len() < count {
        assert!(began.elapsed() < timeout, "timed out");
        let more = effects.read().unwrap().len() + rng.usize(20..100);
        // If the log is silent, workers wait for a lease to end: kill anyway.
        let second = Duration::from_secs(1);
        effects
            .wait_until(second, |seen| seen.len() >= more)
            .await
            .unwrap();
        workers.kill(rng.usize(..WORKERS)).await;
    }
    fixture.wait_until_done(Duration::from_secs(60)).await;
    let took = began.elapsed();
    let killed = workers.killed.clone();
    workers.terminate().await;

    let stats = fixture.assert_sound().await;
    assert_eq!(stats.total.succeeded, count as u64);
    let seen = effects.read().unwrap();
    assert_eq!(ended(seen).len(), count);
    let jobs = fixture.jobs().await;
    let rescued = rescues::of(&fixture.launcher.ledger.lock(), seen, &killed, &jobs);
    let times = rescued.times;
    println!(
        "{count} jobs, {} kills in {took:?}; {} rescues by the store; kill to restart elsewhere: {times}; \
         not counted, since another worker was killed before it logged the job: {}",
        killed.len(),
        stats.total.rescued,
        rescued.unlogged
    );
    assert!(
        times.count() > 0,
        "no job was rescued: the run proves nothing"
    );
    let p99 = times.percentile(99);
    let slack = if rounds() < 5 {
        MACHINE_SLACK
    } else {
        Duration::ZERO
    };
    assert!(p99 <= LEASE + RESCUE_MAX + slack, "{times}");
    // A systematic delay would show in the median as well.
    let p50 = times.percentile(50);
    assert!(p50 <= LEASE + RESCUE_MAX + slack / 5, "{times}");
}
