//! Handlers that leave their worker no thread to run on.

use std::time::Duration;

use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::witness::{Sight, Sighting};
use windlass_core::JobState;

use crate::ground::Ground;
use crate::hands::Spec;
use crate::rounds;

const LEASE: Duration = Duration::from_millis(400);

/// Where whoever renews has to fight for a core: a sixth of it may pass before it has one.
const LEASE_BUSY: Duration = Duration::from_millis(1_500);
const PATIENCE: Duration = Duration::from_secs(60);

on_each_store!(handlers_that_block_every_thread_for_ten_leases_keep_their_jobs);

async fn handlers_that_block_every_thread_for_ten_leases_keep_their_jobs(ground: Ground) {
    for round in 0..rounds() {
        // At length also busy on every core: renewals have to come by their time all the same.
        if round % 2 == 0 {
            block(&ground, round, LEASE, Behaviour::Block(LEASE * 10)).await;
        } else {
            block(&ground, round, LEASE_BUSY, Behaviour::Spin(LEASE_BUSY * 10)).await;
        }
    }
    ground.assert_sound().await;
    for job in ground.jobs().await.values() {
        let state = (job.state, job.attempt, job.expiries);
        assert_eq!(state, (JobState::Succeeded, 1, 0), "{job:?}");
    }
}

async fn block(ground: &Ground, round: usize, lease: Duration, behaviour: Behaviour) {
    // As many as the runtime of a worker has threads.
    let threads = std::thread::available_parallelism().unwrap().get();
    let spec = Spec {
        concurrency: threads,
        lease,
        ..Spec::default()
    };
    let mut witness = ground.witness();
    let before = witness.look().unwrap().len();
    let name = format!("blocked.{round}");
    let blocked = ground.hand(&name, spec).await;
    let jobs = format!("job-{round}");
    ground.enqueue_alike(&jobs, threads, behaviour).await;
    let all_began = |seen: &[Sighting]| seen.len() == before + threads;
    assert!(witness.until(lease * 5, all_began).await.unwrap());
    let eager = ground.hand(&format!("eager.{round}"), spec).await;
    ground.until_known(2).await;

    ground.until_done(PATIENCE).await;
    ground.terminate(eager).await;
    ground.terminate(blocked).await;

    let seen = &witness.look().unwrap()[before..];
    assert!(seen.iter().all(|line| line.who == name), "{seen:?}");
    let starts = seen.iter().filter(|line| line.sight == Sight::Start);
    let last_start = starts.map(|line| line.at_us).max().unwrap();
    let ends = seen.iter().filter(|line| line.sight == Sight::End);
    let first_end = ends.map(|line| line.at_us).min().unwrap();
    let all_blocked = Duration::from_micros(first_end.saturating_sub(last_start));
    println!(
        "{behaviour}: all {threads} threads were taken for {all_blocked:?}, the lease is {lease:?}"
    );
    assert!(all_blocked >= lease * 8, "{all_blocked:?}");
}
