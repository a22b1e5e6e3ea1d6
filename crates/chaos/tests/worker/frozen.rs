//! A worker is frozen for longer than its lease, and then resumes.

use std::time::Duration;

use tokio::time::timeout;
use windlass_chaos::actor::Actor;
use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::effect_log::{EffectKind, EffectRecord};
use windlass_chaos::event::Event;
use windlass_core::limits::PAGE;
use windlass_core::{Clock, JobState, NewJob, OutcomeStatus, SystemClock};

use crate::fixture::{Fixture, TIMEOUT_MAX, count, job, wait_until_seen};
use crate::workers::Spec;

const SPEC: Spec = Spec {
    concurrency: 8,
    prefetch: 0,
    lease: Duration::from_secs(2),
    delay: Duration::ZERO,
    grace: Duration::from_secs(15),
};

/// The other worker keeps its leases even if the machine stalls.
const OTHER: Spec = Spec {
    lease: Duration::from_secs(20),
    ..SPEC
};

/// How soon a resumed worker must drop jobs whose leases it lost: before the long job ends, even on a
/// busy machine.
const DROP_MAX: Duration = Duration::from_secs(6);

/// Still running when the worker resumes: meanwhile a process starts and a lease ends.
const LONG: Duration = Duration::from_secs(12);

/// Ends while the worker is frozen.
const SHORT: Duration = Duration::from_millis(1_500);

on_each_store!(a_frozen_worker_drops_jobs_that_other_workers_have);

async fn a_frozen_worker_drops_jobs_that_other_workers_have(fixture: Fixture) {
    let batch = |round: usize| {
        let named = |name: &str, behaviour| job(&format!("{round}-{name}"), behaviour);
        vec![
            named("long", Behaviour::Sleep(LONG)),
            named("short", Behaviour::Sleep(SHORT)),
            // A handler that blocks its thread cannot be dropped and runs to its end.
            named("blocking", Behaviour::Block(SHORT)),
        ]
    };
    let has_started =
        |seen: &[EffectRecord], worker: &str| seen_of(seen, worker, EffectKind::Start) == 3;
    let is_over = |seen: &[EffectRecord], worker: &str| {
        seen.iter()
            .any(|line| line.worker == worker && line.kind != EffectKind::Start)
    };
    let (round, frozen_worker) = freeze_worker(&fixture, SPEC, batch, has_started, is_over).await;
    let mut effects = fixture.effects();
    let other = fixture.start_worker("other", OTHER).await;
    let rescued = |seen: &[EffectRecord]| has_started(seen, "other");
    wait_until_seen(&mut effects, "the other worker has them", rescued).await;

    let thawed_us = SystemClock.now_us();
    frozen_worker.thaw().unwrap();

    let long = format!("{round}-long");
    let is_dropped = |seen: &[EffectRecord]| count(seen, &long, EffectKind::Drop) == 1;
    wait_until_seen(&mut effects, "it drops the job", is_dropped).await;
    fixture.wait_until_done(TIMEOUT_MAX).await;
    let seen = effects.read().unwrap();
    let is_drop = |line: &&EffectRecord| line.id.as_str() == long && line.kind == EffectKind::Drop;
    let dropped = seen.iter().find(is_drop).unwrap();
    assert_eq!(dropped.worker, frozen_worker.name);
    let took = Duration::from_micros(dropped.at_us - thawed_us);
    println!("thawed: the handler was dropped after {took:?}");
    assert!(took < DROP_MAX, "dropped after {took:?}");
    assert_lost(&fixture, frozen_worker, other, &batch(round)).await;
}

on_each_store!(a_completion_after_the_end_of_its_lease_is_refused);

async fn a_completion_after_the_end_of_its_lease_is_refused(fixture: Fixture) {
    let batch = |round: usize| -> Vec<NewJob> {
        let named = |n| job(&format!("{round}-job-{n}"), Behaviour::Sleep(SHORT));
        (0..4).map(named).collect()
    };
    // The handlers have ended, and their completions are delayed when the worker freezes.
    let slow = Spec {
        delay: Duration::from_secs(2),
        ..SPEC
    };
    let is_done = |seen: &[EffectRecord], worker: &str| seen_of(seen, worker, EffectKind::End) == 4;
    let is_too_late = |seen: &[EffectRecord], worker: &str| {
        let ends = seen
            .iter()
            .filter(|line| line.worker == worker && line.kind == EffectKind::End);
        let first_us = ends.map(|line| line.at_us).min().unwrap_or_default();
        SystemClock.now_us() - first_us > 1_500_000
    };
    let (round, frozen_worker) = freeze_worker(&fixture, slow, batch, is_done, is_too_late).await;
    let mut effects = fixture.effects();
    let other = fixture.start_worker("other", OTHER).await;
    let rescued = |seen: &[EffectRecord]| seen_of(seen, "other", EffectKind::Start) == 4;
    wait_until_seen(&mut effects, "the other worker has them", rescued).await;

    // The jobs run elsewhere: late completions must not end them.
    frozen_worker.thaw().unwrap();

    fixture.wait_until_done(TIMEOUT_MAX).await;
    let frozen_process = frozen_worker.process;
    assert_lost(&fixture, frozen_worker, other, &batch(round)).await;
    assert_eq!(
        refused(&fixture, frozen_process),
        4,
        "each was sent and refused"
    );
}

/// Freezes a worker while it runs a batch of jobs. Returns the number of the batch and the worker.
///
/// A worker frozen too late, or while it holds SQLite's write lock, is resumed and the next one tried.
async fn freeze_worker(
    fixture: &Fixture,
    spec: Spec,
    batch: impl Fn(usize) -> Vec<NewJob>,
    is_time: impl Fn(&[EffectRecord], &str) -> bool,
    is_too_late: impl Fn(&[EffectRecord], &str) -> bool,
) -> (usize, Actor) {
    let mut effects = fixture.effects();
    for round in 0..10 {
        let frozen_worker = fixture.start_worker(&format!("frozen.{round}"), spec).await;
        let name = frozen_worker.name.as_str();
        fixture.enqueue(batch(round)).await;
        let is_now = |seen: &[EffectRecord]| is_time(seen, name);
        wait_until_seen(&mut effects, "it can be frozen", is_now).await;
        tokio::task::block_in_place(|| frozen_worker.freeze()).unwrap();
        let is_too_late = is_too_late(effects.read().unwrap(), name);
        let write = fixture.opened.store.maintain(&fixture.queue, PAGE);
        if !is_too_late && timeout(spec.lease, write).await.is_ok() {
            return (round, frozen_worker);
        }
        frozen_worker.thaw().unwrap();
        fixture.wait_until_done(TIMEOUT_MAX).await;
        fixture.terminate(frozen_worker).await;
    }
    panic!("no worker could be frozen at work");
}

/// Terminates both workers, and asserts that one lost every job and the other completed it.
async fn assert_lost(fixture: &Fixture, frozen_worker: Actor, other: Actor, batch: &[NewJob]) {
    let (frozen_process, other_process) = (frozen_worker.process, other.process);
    fixture.terminate(frozen_worker).await;
    fixture.terminate(other).await;
    fixture.assert_sound().await;
    let all = batch.len() as u64;
    assert_eq!(fixture.exit_counts(frozen_process), (0, 0, all));
    assert_eq!(fixture.exit_counts(other_process), (all, 0, 0));
    let jobs = fixture.jobs().await;
    for job in batch.iter().map(|new| &jobs[&new.id]) {
        let state = (job.state, job.attempt, job.expiries);
        // The completion has reset the expiries.
        assert_eq!(state, (JobState::Succeeded, 1, 0), "{job:?}");
    }
    let stats = fixture.opened.store.stats(&fixture.queue).await.unwrap();
    assert_eq!(stats.unwrap().total.rescued, all, "each lease expired once");
}

/// The number of effects of one kind by a worker.
fn seen_of(seen: &[EffectRecord], worker: &str, kind: EffectKind) -> usize {
    let matches = |line: &&EffectRecord| line.worker == worker && line.kind == kind;
    seen.iter().filter(matches).count()
}

/// The number of outcomes of a worker that the store refused.
fn refused(fixture: &Fixture, process: usize) -> usize {
    let ledger = fixture.launcher.ledger.lock();
    let lines = ledger.processes[process].lines.iter();
    let is_refusal = |event: &Event| matches!(event, Event::Outcome(OutcomeStatus::LeaseLost, _));
    lines.filter(|line| is_refusal(&line.event)).count()
}
