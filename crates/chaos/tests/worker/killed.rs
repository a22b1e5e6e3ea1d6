//! One of several workers is killed again and again.

use std::time::{Duration, Instant};

use windlass_chaos::behaviour::Behaviour;

use crate::ground::{Ground, ended, job};
use crate::hands::{Crew, Spec};
use crate::{rescues, rounds, seed};

/// How many jobs run in one round.
const JOBS: usize = 2_000;
const WORKERS: usize = 4;
const LEASE: Duration = Duration::from_secs(1);

/// How long a rescued job may take to be begun again beyond its lease.
const RESCUE_MAX: Duration = Duration::from_secs(1);

/// What a machine that is busy with other things adds to it in a short run, where the last few jobs
/// decide: it may stand still for seconds.
const MACHINE_SLACK: Duration = Duration::from_secs(10);

on_each_store!(what_a_killed_worker_ran_is_resumed_and_every_job_ends_once);

async fn what_a_killed_worker_ran_is_resumed_and_every_job_ends_once(ground: Ground) {
    let mut rng = fastrand::Rng::with_seed(seed());
    let count = JOBS * rounds();
    // Here workers die of blows and not of their jobs.
    ground.set("poison_after=1000").await;
    let jobs = (0..count).map(|n| {
        let time = Duration::from_millis(rng.u64(10..30));
        job(&format!("job-{n}"), Behaviour::Sleep(time))
    });
    ground.enqueue(jobs.collect()).await;
    let spec = Spec {
        lease: LEASE,
        ..Spec::default()
    };
    let mut witness = ground.witness();
    let began = Instant::now();
    let patience = Duration::from_secs(200) * u32::try_from(rounds()).unwrap();
    let mut crew = Crew::start(&ground, spec, WORKERS).await;
    while ended(witness.look().unwrap()).len() < count {
        assert!(began.elapsed() < patience, "it does not come to an end");
        let more = witness.look().unwrap().len() + rng.usize(20..100);
        // A crew that has fallen silent waits for a lease to end: it is struck all the same.
        let second = Duration::from_secs(1);
        witness
            .until(second, |seen| seen.len() >= more)
            .await
            .unwrap();
        crew.kill(rng.usize(..WORKERS)).await;
    }
    ground.until_done(Duration::from_secs(60)).await;
    let took = began.elapsed();
    let killed = crew.killed.clone();
    crew.leave().await;

    let stats = ground.assert_sound().await;
    assert_eq!(stats.total.succeeded, count as u64);
    let seen = witness.look().unwrap();
    assert_eq!(ended(seen).len(), count);
    let jobs = ground.jobs().await;
    let rescued = rescues::of(&ground.stage.record.ledger(), seen, &killed, &jobs);
    let times = rescued.times;
    println!(
        "{count} jobs, {} kills in {took:?}; {} rescues by the store; kill to restart elsewhere: {times}; \
         not counted, since a second holder was killed in silence: {}",
        killed.len(),
        stats.total.rescued,
        rescued.untold
    );
    assert!(times.count() > 0, "nobody was rescued: it shows nothing");
    let p99 = times.percentile(99);
    let slack = if rounds() < 5 {
        MACHINE_SLACK
    } else {
        Duration::ZERO
    };
    assert!(p99 <= LEASE + RESCUE_MAX + slack, "{times}");
    // What is slow by itself is slow every time.
    let p50 = times.percentile(50);
    assert!(p50 <= LEASE + RESCUE_MAX + slack / 5, "{times}");
}
