//! Handlers that leave their worker no thread to run on.

use std::time::Duration;

use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::witness::{Sight, Sighting};
use windlass_core::JobState;

use crate::ground::{Ground, PATIENCE, until_seen};
use crate::hands::Spec;
use crate::rounds;

/// It is renewed after a third of it; the rest is for a machine that stands still, or where whoever
/// renews has to fight for a core.
const LEASE: Duration = Duration::from_secs(4);

/// For how many leases the threads are blocked.
const LEASES: u32 = 4;

on_each_store!(handlers_that_block_every_thread_for_four_leases_keep_their_jobs);

async fn handlers_that_block_every_thread_for_four_leases_keep_their_jobs(ground: Ground) {
    for round in 0..rounds() {
        // At length also busy on every core: renewals have to come by their time all the same.
        let behaviour = if round % 2 == 0 {
            Behaviour::Block(LEASE * LEASES)
        } else {
            Behaviour::Spin(LEASE * LEASES)
        };
        block(&ground, round, behaviour).await;
    }
    ground.assert_sound().await;
    for job in ground.jobs().await.values() {
        let state = (job.state, job.attempt, job.expiries);
        assert_eq!(state, (JobState::Succeeded, 1, 0), "{job:?}");
    }
}

async fn block(ground: &Ground, round: usize, behaviour: Behaviour) {
    // As many as the runtime of a worker has threads.
    let threads = std::thread::available_parallelism().unwrap().get();
    let spec = Spec {
        concurrency: threads,
        lease: LEASE,
        ..Spec::default()
    };
    let mut witness = ground.witness();
    let before = witness.look().unwrap().len();
    let name = format!("blocked.{round}");
    let blocked = ground.hand(&name, spec).await;
    let jobs = format!("job-{round}");
    ground.enqueue_alike(&jobs, threads, behaviour).await;
    let all_began = |seen: &[Sighting]| seen.len() == before + threads;
    until_seen(&mut witness, "all begin", all_began).await;
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
        "{behaviour}: all {threads} threads were taken for {all_blocked:?}, the lease is {LEASE:?}"
    );
    assert!(all_blocked >= LEASE * (LEASES - 2), "{all_blocked:?}");
}
