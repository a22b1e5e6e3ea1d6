//! Draws what holders do with their jobs, with tokens that hold, did hold, or never held.

use windlass_core::{Completion, Failure, Jitter, JobLease, QueueName, Retry, Token};

use super::super::chance::{percent, pick};
use super::super::step::Step;
use super::super::world::{Known, World};
use super::{job, lease, max, now, worker_request};

/// Jobs under one claim: mostly one that is held, else one of the past.
fn some_holds(world: &mut World) -> (QueueName, Vec<JobLease>) {
    let mut known = some_claim(world);
    let rng = &mut world.rng;
    rng.shuffle(&mut known.ids);
    if rng.bool() {
        known.ids.truncate(1);
    }
    let mut holds: Vec<_> = known
        .ids
        .into_iter()
        .map(|id| JobLease::new(id, known.token))
        .collect();
    match rng.u8(..40) {
        0 => holds.push(JobLease::new(job::name(rng), known.token)),
        1 => holds.push(JobLease::new(
            job::name(rng),
            Token {
                number: 1,
                nonce: 1,
            },
        )),
        2 => holds.extend(holds.first().cloned()),
        _ => {}
    }
    (known.queue, holds)
}

fn some_claim(world: &mut World) -> Known {
    let helds = world
        .lives
        .iter()
        .flat_map(|life| &life.held)
        .chain(&world.singles);
    let held: Vec<_> = helds.collect();
    let is_fresh = percent(&mut world.rng, 80);
    if is_fresh && !held.is_empty() {
        return (*pick(&mut world.rng, &held)).clone();
    }
    if !world.past.is_empty() {
        return pick(&mut world.rng, &world.past).clone();
    }
    let ids = vec![job::name(&mut world.rng)];
    Known {
        queue: world.queue(),
        token: Token {
            number: 1,
            nonce: 1,
        },
        ids,
    }
}

fn one_hold(world: &mut World) -> (QueueName, JobLease) {
    let (queue, mut holds) = some_holds(world);
    (queue, holds.remove(0))
}

pub(super) fn accept(world: &mut World) -> Step {
    let (queue, hold) = one_hold(world);
    Step::Accept(queue, hold, lease(&mut world.rng))
}

pub(super) fn progress(world: &mut World) -> Step {
    let (queue, hold) = one_hold(world);
    let fraction = *pick(&mut world.rng, &[0.0, 0.25, 0.5, 1.0, 1.5]);
    let message = world.rng.bool().then(|| "under way".to_owned());
    Step::Progress(queue, hold, fraction, message)
}

pub(super) fn complete(world: &mut World) -> Step {
    let (queue, holds) = some_holds(world);
    let result = percent(&mut world.rng, 40).then(|| job::payload(&mut world.rng));
    let completion = |hold| Completion {
        lease: hold,
        result: result.clone(),
    };
    let completions = holds.into_iter().map(completion).collect();
    let max = max(&mut world.rng);
    let next = percent(&mut world.rng, 25).then(|| worker_request(world, max));
    Step::Complete(queue, completions, next)
}

pub(super) fn fail(world: &mut World) -> Step {
    let (queue, holds) = some_holds(world);
    let now = now(world);
    let rng = &mut world.rng;
    let retry = match rng.u8(..10) {
        0..7 => Retry::ByPolicy(Jitter(rng.u16(..))),
        7 | 8 => Retry::At(job::due(rng, now)),
        _ => Retry::Permanent,
    };
    let error = (*pick(rng, &["", "it broke", "it broke and said much about it"])).to_owned();
    let failure = |hold| Failure {
        lease: hold,
        error: error.clone(),
        retry,
    };
    Step::Fail(queue, holds.into_iter().map(failure).collect())
}

pub(super) fn release(world: &mut World) -> Step {
    let (queue, holds) = some_holds(world);
    Step::Release(queue, holds)
}

pub(super) fn snooze(world: &mut World) -> Step {
    let (queue, holds) = some_holds(world);
    let now = now(world);
    Step::Snooze(queue, holds, job::due(&mut world.rng, now))
}
