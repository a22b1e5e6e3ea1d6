//! Draws the next step: which verb, by whom, on what.

mod job;
mod operate;
mod outcome;

use std::time::Duration;

use fastrand::Rng;
use windlass_core::{ClaimRequest, Claimer, Clock, Mode, Renewal, Timestamp, Token};

use super::chance::{ms, percent, pick};
use super::step::{Movement, Step};
use super::world::World;

/// One way to draw a step.
type Draw = fn(&mut World) -> Step;

/// Every way, and how often it is chosen in comparison with the others.
const DRAWS: &[(u32, Draw)] = &[
    (150, forward),
    (3, back),
    (150, job::enqueue),
    (4, job::burst),
    (120, claim),
    (30, claim_single),
    (15, claim_dispatch),
    (5, claim_at_most_once),
    (10, claim_much),
    (60, renew),
    (15, renew_single),
    (15, outcome::accept),
    (15, outcome::progress),
    (110, outcome::complete),
    (70, outcome::fail),
    (30, outcome::release),
    (30, outcome::snooze),
    (40, operate::cancel),
    (30, operate::retry),
    (25, operate::delete),
    (20, operate::promote),
    (2, operate::purge),
    (45, operate::maintain),
    (6, operate::audit),
    (4, operate::pause),
    (12, operate::resume),
    (12, operate::set),
    (20, operate::look),
    (22, operate::register),
    (35, operate::heartbeat),
    (8, operate::leave),
    (10, operate::fail_worker),
    (14, operate::command),
    (50, repeat),
    (8, crash),
];

/// The next step.
pub(super) fn draw(world: &mut World) -> Step {
    if let Some(step) = world.urgent.pop() {
        return step;
    }
    let total: u32 = DRAWS.iter().map(|(weight, _)| weight).sum();
    let mut at = world.rng.u32(..total);
    for (weight, draw) in DRAWS {
        if at < *weight {
            return draw(world);
        }
        at -= weight;
    }
    forward(world)
}

fn forward(world: &mut World) -> Step {
    let rng = &mut world.rng;
    let by = match rng.u8(..100) {
        0..45 => Duration::from_micros(rng.u64(0..400_000)),
        45..75 => ms(rng, 400..=3_000),
        75..90 => ms(rng, 3_000..=11_000),
        90..96 => ms(rng, 11_000..=40_000),
        96..99 => ms(rng, 59_000..=62_000),
        _ => ms(rng, 3_599_000..=3_700_000),
    };
    Step::Clock(Movement::Forward(by))
}

fn back(world: &mut World) -> Step {
    let rng = &mut world.rng;
    let far = if rng.bool() { 5_000 } else { 90_000 };
    Step::Clock(Movement::Back(ms(rng, 1..=far)))
}

/// What the clock shows.
fn now(world: &World) -> Timestamp {
    Timestamp::from_ms(world.clock().now_us() / 1000)
}

/// How long jobs are held: mostly so short that leases run out.
fn lease(rng: &mut Rng) -> Duration {
    match rng.u8(..10) {
        0 => ms(rng, 1..=50),
        1..8 => ms(rng, 200..=5_000),
        _ => ms(rng, 5_000..=60_000),
    }
}

fn max(rng: &mut Rng) -> usize {
    *pick(rng, &[1, 1, 1, 2, 3, 5, 10])
}

/// A claim by one of the workers; now and then it says a number it has used before.
fn worker_request(world: &mut World, max: usize) -> ClaimRequest {
    let index = world.rng.usize(..world.lives.len());
    let life = &mut world.lives[index];
    let back = match world.rng.u8(..20) {
        0 => 1,
        1 => 2,
        _ => 0,
    };
    let seq = if back > 0 {
        (life.seq + 1).saturating_sub(back).max(1)
    } else {
        life.seq += 1;
        life.seq
    };
    let request = ClaimRequest::worker(life.boot.clone(), seq, max);
    seeded(&mut world.rng, request)
}

/// Replaces the parts that are drawn from elsewhere.
fn seeded(rng: &mut Rng, mut request: ClaimRequest) -> ClaimRequest {
    request.nonce = rng.u32(..);
    request.lease(lease(rng))
}

fn claim(world: &mut World) -> Step {
    let max = max(&mut world.rng);
    Step::Claim(world.queue(), worker_request(world, max))
}

/// Takes so much that taking it back needs more than one step.
fn claim_much(world: &mut World) -> Step {
    Step::Claim(world.queue(), worker_request(world, 150))
}

fn claim_single(world: &mut World) -> Step {
    let max = max(&mut world.rng);
    let request = single_request(world, max);
    Step::Claim(world.queue(), request)
}

/// A single claim, now and then for a worker.
fn single_request(world: &mut World, max: usize) -> ClaimRequest {
    let mut request = seeded(&mut world.rng, ClaimRequest::single(max));
    if percent(&mut world.rng, 30) {
        let index = world.rng.usize(..world.lives.len());
        request.claimer = Claimer::Single {
            worker: Some(world.lives[index].boot.clone()),
        };
    }
    request
}

fn claim_dispatch(world: &mut World) -> Step {
    // A dispatch of two is refused.
    let max = if percent(&mut world.rng, 3) { 2 } else { 1 };
    let request = single_request(world, max).mode(Mode::Dispatch);
    Step::Claim(world.queue(), request)
}

fn claim_at_most_once(world: &mut World) -> Step {
    let max = max(&mut world.rng);
    let request = if world.rng.bool() {
        worker_request(world, max)
    } else {
        seeded(&mut world.rng, ClaimRequest::single(max))
    };
    Step::Claim(world.queue(), request.mode(Mode::AtMostOnce))
}

/// A worker renews what it knows; now and then it lists a token that is not its own, or says that
/// more is settled than it can know.
fn renew(world: &mut World) -> Step {
    let queue = world.queue();
    let index = world.rng.usize(..world.lives.len());
    let life = &world.lives[index];
    let held = life.held.iter().filter(|known| known.queue == queue);
    let mut tokens: Vec<Token> = held.map(|known| known.token).collect();
    let settled = if world.rng.u8(..8) == 0 {
        life.seq
    } else {
        life.settled
    };
    let boot = life.boot.clone();
    if percent(&mut world.rng, 15) && !world.past.is_empty() {
        tokens.push(pick(&mut world.rng, &world.past).token);
    }
    if percent(&mut world.rng, 5) && !tokens.is_empty() {
        tokens.remove(0);
    }
    let renewal = Renewal::Worker {
        boot,
        tokens,
        settled,
    };
    Step::Renew(queue, renewal, lease(&mut world.rng))
}

fn renew_single(world: &mut World) -> Step {
    let claims = if percent(&mut world.rng, 70) {
        &world.singles
    } else {
        &world.past
    };
    if claims.is_empty() {
        return renew(world);
    }
    let known = pick(&mut world.rng, claims);
    let renewal = Renewal::Single { token: known.token };
    Step::Renew(known.queue.clone(), renewal, lease(&mut world.rng))
}

/// A call whose reply was lost is made again.
fn repeat(world: &mut World) -> Step {
    if world.unanswered.is_empty() {
        return claim(world);
    }
    let index = world.rng.usize(..world.unanswered.len());
    world.unanswered.swap_remove(index)
}

fn crash(world: &mut World) -> Step {
    let index = world.rng.usize(..world.lives.len());
    world.crash(index);
    forward(world)
}
