//! Handlers that block every thread of their worker.

use std::time::Duration;

use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::effect_log::{EffectKind, EffectRecord};
use windlass_core::JobState;

use crate::fixture::{Fixture, TIMEOUT_MAX, wait_until_seen};
use crate::rounds;
use crate::workers::Spec;

/// Renewed after a third of it; the rest is a margin for a stalled or busy machine.
const LEASE: Duration = Duration::from_secs(4);

/// How long the threads are blocked, in leases.
const LEASES: u32 = 4;

on_each_store!(handlers_that_block_every_thread_for_four_leases_keep_their_jobs);

async fn handlers_that_block_every_thread_for_four_leases_keep_their_jobs(fixture: Fixture) {
    for round in 0..rounds() {
        // Longer runs also keep every core busy: renewals must still be in time.
        let behaviour = if round % 2 == 0 {
            Behaviour::Block(LEASE * LEASES)
        } else {
            Behaviour::Spin(LEASE * LEASES)
        };
        block(&fixture, round, behaviour).await;
    }
    fixture.assert_sound().await;
    for job in fixture.jobs().await.values() {
        let state = (job.state, job.attempt, job.expiries);
        assert_eq!(state, (JobState::Succeeded, 1, 0), "{job:?}");
    }
}

async fn block(fixture: &Fixture, round: usize, behaviour: Behaviour) {
    // As many as the runtime has threads.
    let threads = std::thread::available_parallelism().unwrap().get();
    let spec = Spec {
        concurrency: threads,
        lease: LEASE,
        ..Spec::default()
    };
    let mut effects = fixture.effects();
    let before = effects.read().unwrap().len();
    let name = format!("blocked.{round}");
    let blocked = fixture.start_worker(&name, spec).await;
    let jobs = format!("job-{round}");
    fixture.enqueue_many(&jobs, threads, behaviour).await;
    let all_started = |seen: &[EffectRecord]| seen.len() == before + threads;
    wait_until_seen(&mut effects, "all have started", all_started).await;
    let idle = fixture.start_worker(&format!("idle.{round}"), spec).await;
    fixture.wait_until_registered(2).await;

    fixture.wait_until_done(TIMEOUT_MAX).await;
    fixture.terminate(idle).await;
    fixture.terminate(blocked).await;

    let seen = &effects.read().unwrap()[before..];
    assert!(seen.iter().all(|line| line.worker == name), "{seen:?}");
    let starts = seen.iter().filter(|line| line.kind == EffectKind::Start);
    let last_start = starts.map(|line| line.at_us).max().unwrap();
    let ends = seen.iter().filter(|line| line.kind == EffectKind::End);
    let first_end = ends.map(|line| line.at_us).min().unwrap();
    let all_blocked = Duration::from_micros(first_end.saturating_sub(last_start));
    println!(
        "{behaviour:?}: all {threads} threads were blocked for {all_blocked:?}, the lease is {LEASE:?}"
    );
    assert!(all_blocked >= LEASE * (LEASES - 2), "{all_blocked:?}");
}
