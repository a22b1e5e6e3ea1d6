//! Workers are asked to stop at random times.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::effect_log::{EffectKind, EffectRecord};
use windlass_chaos::event::Event;
use windlass_core::JobState;

use crate::durations::Durations;
use crate::fixture::{Fixture, count, ended, job, wait_until_seen};
use crate::workers::{Spec, Workers};
use crate::{rounds, seed};

const JOBS: usize = 2_500;
const WORKERS: usize = 4;
/// Stops per worker and round.
const STOPS: usize = 52;

const SPEC: Spec = Spec {
    concurrency: 4,
    prefetch: 4,
    lease: Duration::from_secs(20),
    delay: Duration::ZERO,
    grace: Duration::from_secs(8),
};

/// How long a worker may take to exit beyond its grace period, on a busy machine.
const END_SLACK: Duration = Duration::from_secs(10);

/// The longest run of a worker: some are stopped before they have claimed anything.
const RUN_MAX_MS: u64 = 150;

on_each_store!(a_worker_stopped_at_any_time_loses_nothing_and_counts_no_attempt);

async fn a_worker_stopped_at_any_time_loses_nothing_and_counts_no_attempt(fixture: Fixture) {
    let seed = seed();
    let mut rng = fastrand::Rng::with_seed(seed);
    let all = JOBS * rounds();
    let jobs = (0..all).map(|n| {
        let time = Duration::from_millis(rng.u64(..=50));
        job(&format!("job-{n}"), Behaviour::Sleep(time))
    });
    fixture.enqueue(jobs.collect()).await;

    let slots = (0..WORKERS as u64).map(|slot| stop_repeatedly(&fixture, seed, slot));
    let mut slots = slots.collect::<Vec<_>>().into_iter();
    let [a, b, c, d] = std::array::from_fn(|_| slots.next().unwrap());
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    let ends = Durations::new([a, b, c, d].concat());
    let left = fixture.stats().await.ready;
    let workers = Workers::start(&fixture, SPEC, WORKERS).await;
    fixture.wait_until_done(Duration::from_secs(120)).await;
    workers.terminate().await;

    let stats = fixture.assert_sound().await;
    println!("SIGTERM to exit: {ends}; {left} of {all} jobs were left for the last workers");
    assert!(ends.percentile(100) <= SPEC.grace + END_SLACK, "{ends}");
    // No job runs for long, so no worker waits for the end of its grace period.
    assert!(ends.percentile(50) <= SPEC.grace / 2, "{ends}");
    assert_eq!(stats.total.succeeded, all as u64);
    assert_eq!(stats.total.rescued, 0, "no lease expired");
    for job in fixture.jobs().await.values() {
        assert_eq!((job.attempt, job.expiries), (1, 0), "{job:?}");
    }
    // No job took longer than the grace period, so none was interrupted and restarted.
    let mut effects = fixture.effects();
    let seen = effects.read().unwrap();
    let starts = seen.iter().filter(|line| line.kind == EffectKind::Start);
    assert_eq!(starts.count(), all, "every job was started once");
}

async fn stop_repeatedly(fixture: &Fixture, seed: u64, slot: u64) -> Vec<Duration> {
    let mut rng = fastrand::Rng::with_seed(seed ^ slot);
    let mut ends = Vec::new();
    for run in 0..STOPS * rounds() {
        let worker = fixture
            .start_worker(&format!("worker-{slot}.{run}"), SPEC)
            .await;
        let process = worker.process;
        tokio::time::sleep(Duration::from_millis(rng.u64(..RUN_MAX_MS))).await;
        ends.push(fixture.terminate(worker).await);
        assert_eq!(fixture.exit_counts(process).2, 0, "nothing is lost");
    }
    ends
}

on_each_store!(a_job_that_outlasts_the_grace_period_is_released_with_no_attempt_counted);

async fn a_job_that_outlasts_the_grace_period_is_released_with_no_attempt_counted(
    fixture: Fixture,
) {
    fixture.enqueue_many("never", 2, Behaviour::Never).await;
    fixture
        .enqueue_many("until-stopped", 1, Behaviour::UntilStopped)
        .await;
    // A job that ends within the grace period may finish.
    let within = SPEC.grace / 2;
    fixture
        .enqueue_many("within", 1, Behaviour::Sleep(within))
        .await;
    let mut effects = fixture.effects();
    let worker = fixture.start_worker("worker", SPEC).await;
    let process = worker.process;
    wait_until_seen(&mut effects, "all have started", |seen| seen.len() == 4).await;

    let took = fixture.terminate(worker).await;

    println!("SIGTERM to exit, with handlers that do not return: {took:?}");
    assert!(took <= SPEC.grace + END_SLACK, "{took:?}");
    assert_eq!(fixture.exit_counts(process), (1, 3, 0));
    for (id, job) in fixture.jobs().await {
        let state = match id.as_str() {
            "within-0" => JobState::Succeeded,
            _ => JobState::Ready,
        };
        let seen = (job.state, job.attempt, job.expiries);
        assert_eq!(seen, (state, 1, 0), "{job:?}");
    }
    let seen = effects.read().unwrap();
    for (id, kind) in [
        ("never-0", EffectKind::Drop),
        ("never-1", EffectKind::Drop),
        ("until-stopped-0", EffectKind::Stop),
    ] {
        assert_eq!(count(seen, id, kind), 1, "{id}");
    }
}

on_each_store!(outcomes_of_finished_jobs_reach_a_slow_store);

async fn outcomes_of_finished_jobs_reach_a_slow_store(fixture: Fixture) {
    fixture.enqueue_many("return", 4, Behaviour::Return).await;
    let mut effects = fixture.effects();
    let slow = Spec {
        delay: Duration::from_secs(2),
        ..SPEC
    };
    let worker = fixture.start_worker("worker", slow).await;
    let process = worker.process;
    let all_ended = |seen: &[EffectRecord]| ended(seen).len() == 4;
    wait_until_seen(&mut effects, "all have ended", all_ended).await;

    fixture.terminate(worker).await;

    assert_eq!(fixture.exit_counts(process), (4, 0, 0));
    assert_eq!(fixture.assert_sound().await.total.succeeded, 4);
}

on_each_store!(a_second_signal_stops_a_worker_immediately);

async fn a_second_signal_stops_a_worker_immediately(fixture: Fixture) {
    fixture.enqueue_many("never", 4, Behaviour::Never).await;
    let mut effects = fixture.effects();
    let spec = Spec {
        grace: Duration::from_secs(150),
        ..SPEC
    };
    let worker = fixture.start_worker("worker", spec).await;
    wait_until_seen(&mut effects, "all have started", |seen| seen.len() == 4).await;
    let began = Instant::now();
    worker.signal(Signal::TERM).unwrap();
    // Signals sent at once would be merged: send the second after the first was handled.
    fixture.wait_until_logged(&worker, &Event::Stopping).await;
    let took = fixture.terminate(worker).await;

    println!("second SIGTERM to exit: {took:?}");
    assert!(began.elapsed() < spec.grace / 5, "{took:?}");
    assert_eq!(fixture.stats().await.ready, 4);
}
