//! A worker that is frozen for longer than its lease, and then goes on.

use std::time::Duration;

use tokio::time::timeout;
use windlass_chaos::actor::Actor;
use windlass_chaos::behaviour::Behaviour;
use windlass_chaos::event::Event;
use windlass_chaos::witness::{Sight, Sighting};
use windlass_core::limits::PAGE;
use windlass_core::{Clock, JobState, NewJob, OutcomeStatus, SystemClock};

use crate::ground::{Ground, PATIENCE, count, job, until_seen};
use crate::hands::Spec;

const SPEC: Spec = Spec {
    concurrency: 8,
    prefetch: 0,
    lease: Duration::from_secs(2),
    delay: Duration::ZERO,
    grace: Duration::from_secs(15),
};

/// Whoever takes over keeps what it has, though the machine may stand still.
const OTHER: Spec = Spec {
    lease: Duration::from_secs(20),
    ..SPEC
};

/// How soon a worker that goes on lets go of what is not its own any more: before the long job is
/// over, on a busy machine too.
const LET_GO_MAX: Duration = Duration::from_secs(6);

/// Still running when the worker goes on: a process starts and a lease ends meanwhile.
const LONG: Duration = Duration::from_secs(12);

/// Over while the worker stands still.
const SHORT: Duration = Duration::from_millis(1_500);

on_each_store!(a_frozen_worker_lets_go_of_what_others_have_by_now);

async fn a_frozen_worker_lets_go_of_what_others_have_by_now(ground: Ground) {
    let batch = |round: usize| {
        let named = |name: &str, behaviour| job(&format!("{round}-{name}"), behaviour);
        vec![
            named("long", Behaviour::Sleep(LONG)),
            named("short", Behaviour::Sleep(SHORT)),
            // One that blocks its thread cannot be dropped: it comes to its end all the same.
            named("blocking", Behaviour::Block(SHORT)),
        ]
    };
    let is_begun = |seen: &[Sighting], who: &str| seen_of(seen, who, Sight::Start) == 3;
    let is_over = |seen: &[Sighting], who: &str| {
        seen.iter()
            .any(|line| line.who == who && line.sight != Sight::Start)
    };
    let (round, sleeper) = frozen(&ground, SPEC, batch, is_begun, is_over).await;
    let mut witness = ground.witness();
    let other = ground.hand("other", OTHER).await;
    let rescued = |seen: &[Sighting]| is_begun(seen, "other");
    until_seen(&mut witness, "the other has them", rescued).await;

    let thawed_us = SystemClock.now_us();
    sleeper.thaw().unwrap();

    let long = format!("{round}-long");
    let is_dropped = |seen: &[Sighting]| count(seen, &long, Sight::Drop) == 1;
    until_seen(&mut witness, "it lets go", is_dropped).await;
    ground.until_done(PATIENCE).await;
    let seen = witness.look().unwrap();
    let is_drop = |line: &&Sighting| line.id.as_str() == long && line.sight == Sight::Drop;
    let dropped = seen.iter().find(is_drop).unwrap();
    assert_eq!(dropped.who, sleeper.name);
    let took = Duration::from_micros(dropped.at_us - thawed_us);
    println!("thawed: the handler was dropped after {took:?}");
    assert!(took < LET_GO_MAX, "it let go after {took:?}");
    assert_lost(&ground, sleeper, other, &batch(round)).await;
}

on_each_store!(a_completion_that_comes_after_its_lease_is_refused);

async fn a_completion_that_comes_after_its_lease_is_refused(ground: Ground) {
    let batch = |round: usize| -> Vec<NewJob> {
        let named = |n| job(&format!("{round}-job-{n}"), Behaviour::Sleep(SHORT));
        (0..4).map(named).collect()
    };
    // The handlers are done, and their completions are on their way when the worker freezes.
    let slow = Spec {
        delay: Duration::from_secs(2),
        ..SPEC
    };
    let is_done = |seen: &[Sighting], who: &str| seen_of(seen, who, Sight::End) == 4;
    let is_too_late = |seen: &[Sighting], who: &str| {
        let ends = seen
            .iter()
            .filter(|line| line.who == who && line.sight == Sight::End);
        let first_us = ends.map(|line| line.at_us).min().unwrap_or_default();
        SystemClock.now_us() - first_us > 1_500_000
    };
    let (round, sleeper) = frozen(&ground, slow, batch, is_done, is_too_late).await;
    let mut witness = ground.witness();
    let other = ground.hand("other", OTHER).await;
    let rescued = |seen: &[Sighting]| seen_of(seen, "other", Sight::Start) == 4;
    until_seen(&mut witness, "the other has them", rescued).await;

    // The jobs run elsewhere: what arrives now must not end them.
    sleeper.thaw().unwrap();

    ground.until_done(PATIENCE).await;
    let sleeper_life = sleeper.life;
    assert_lost(&ground, sleeper, other, &batch(round)).await;
    assert_eq!(
        refused(&ground, sleeper_life),
        4,
        "each was sent, and refused"
    );
}

/// A worker frozen while it works on a batch of jobs, and the number of the batch.
///
/// One that was frozen too late, or while it writes, is let go on, and the next is tried: on SQLite
/// nobody else could write either.
async fn frozen(
    ground: &Ground,
    spec: Spec,
    batch: impl Fn(usize) -> Vec<NewJob>,
    is_moment: impl Fn(&[Sighting], &str) -> bool,
    is_too_late: impl Fn(&[Sighting], &str) -> bool,
) -> (usize, Actor) {
    let mut witness = ground.witness();
    for round in 0..10 {
        let sleeper = ground.hand(&format!("sleeper.{round}"), spec).await;
        let name = sleeper.name.as_str();
        ground.enqueue(batch(round)).await;
        let moment = |seen: &[Sighting]| is_moment(seen, name);
        until_seen(&mut witness, "the moment to freeze it", moment).await;
        tokio::task::block_in_place(|| sleeper.freeze()).unwrap();
        let is_too_late = is_too_late(witness.look().unwrap(), name);
        let write = ground.opened.store.maintain(&ground.queue, PAGE);
        if !is_too_late && timeout(spec.lease, write).await.is_ok() {
            return (round, sleeper);
        }
        sleeper.thaw().unwrap();
        ground.until_done(PATIENCE).await;
        ground.terminate(sleeper).await;
    }
    panic!("it could not be frozen at work");
}

/// Both leave; every job is lost to the one and was completed by the other.
async fn assert_lost(ground: &Ground, sleeper: Actor, other: Actor, batch: &[NewJob]) {
    let (sleeper_life, other_life) = (sleeper.life, other.life);
    ground.terminate(sleeper).await;
    ground.terminate(other).await;
    ground.assert_sound().await;
    let all = batch.len() as u64;
    assert_eq!(ground.left(sleeper_life), (0, 0, all));
    assert_eq!(ground.left(other_life), (all, 0, 0));
    let jobs = ground.jobs().await;
    for job in batch.iter().map(|new| &jobs[&new.id]) {
        let state = (job.state, job.attempt, job.expiries);
        assert_eq!(state, (JobState::Succeeded, 1, 1), "{job:?}");
    }
}

/// How often something was seen of the jobs of a worker.
fn seen_of(seen: &[Sighting], who: &str, sight: Sight) -> usize {
    let is_it = |line: &&Sighting| line.who == who && line.sight == sight;
    seen.iter().filter(is_it).count()
}

/// How many outcomes of a worker the store refused.
fn refused(ground: &Ground, life: usize) -> usize {
    let ledger = ground.stage.record.ledger();
    let lines = ledger.lives[life].lines.iter();
    let is_refusal = |event: &Event| matches!(event, Event::Told(OutcomeStatus::LeaseLost, _));
    lines.filter(|line| is_refusal(&line.event)).count()
}
