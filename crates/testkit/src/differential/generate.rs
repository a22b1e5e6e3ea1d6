//! Generates random operations.

mod group;
mod job;
mod operate;
mod outcome;
pub(super) mod schedule;

use std::time::Duration;

use fastrand::Rng;
use windlass_core::store::Claimer;
use windlass_core::{ClaimRequest, Clock, LeaseTime, Mode, Renewal, Timestamp, Token};

pub(super) use self::job::LARGE_BYTES;

use super::callers::Callers;
use super::operation::{Movement, Operation};
use super::random::{ms, percent, pick};

/// Generates one kind of operation.
type Generator = fn(&mut Callers) -> Operation;

/// All generators with their weights.
const GENERATORS: &[(u32, Generator)] = &[
    (150, forward),
    (3, back),
    (150, job::enqueue),
    (30, job::amend_scheduled),
    (4, job::burst),
    (1, job::large_burst),
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
    (3, operate::retry_while_keys_are_held),
    (25, operate::delete),
    (20, operate::promote),
    (24, schedule::put),
    (14, schedule::refill),
    (12, schedule::run),
    (6, schedule::change),
    (30, schedule::read),
    (2, operate::purge),
    (2, operate::delete_queue),
    (20, group::set),
    (8, group::read),
    (2, group::change_slots),
    (45, operate::maintain),
    (6, operate::audit),
    (4, operate::pause),
    (12, operate::resume),
    (12, operate::set),
    (20, operate::read),
    (22, operate::register),
    (35, operate::heartbeat),
    (8, operate::leave),
    (10, operate::fail_worker),
    (14, operate::command),
    (50, repeat),
    (8, crash),
];

/// Generates the next operation.
pub(super) fn generate(callers: &mut Callers) -> Operation {
    if let Some(operation) = callers.urgent.pop() {
        return operation;
    }
    let total: u32 = GENERATORS.iter().map(|(weight, _)| weight).sum();
    let mut at = callers.rng.u32(..total);
    for (weight, generate) in GENERATORS {
        if at < *weight {
            return generate(callers);
        }
        at -= weight;
    }
    forward(callers)
}

fn forward(callers: &mut Callers) -> Operation {
    let rng = &mut callers.rng;
    let by = match rng.u8(..100) {
        0..45 => Duration::from_micros(rng.u64(0..400_000)),
        45..75 => ms(rng, 400..=3_000),
        75..90 => ms(rng, 3_000..=11_000),
        90..96 => ms(rng, 11_000..=40_000),
        96..99 => ms(rng, 59_000..=62_000),
        _ => ms(rng, 3_599_000..=3_700_000),
    };
    Operation::Clock(Movement::Forward(by))
}

fn back(callers: &mut Callers) -> Operation {
    let rng = &mut callers.rng;
    let far = if rng.bool() { 5_000 } else { 90_000 };
    Operation::Clock(Movement::Back(ms(rng, 1..=far)))
}

/// Returns the current time.
fn now(callers: &Callers) -> Timestamp {
    Timestamp::from_ms(callers.clock().now_us() / 1000)
}

/// Generates a lease: mostly so short that it expires.
fn lease(rng: &mut Rng) -> LeaseTime {
    LeaseTime::nearest(match rng.u8(..10) {
        0 => ms(rng, 1..=50),
        1..8 => ms(rng, 200..=5_000),
        _ => ms(rng, 5_000..=60_000),
    })
}

fn max(rng: &mut Rng) -> usize {
    *pick(rng, &[1, 1, 1, 2, 3, 5, 10])
}

/// Generates a claim by a worker, which occasionally repeats an earlier sequence number.
fn worker_request(callers: &mut Callers, max: usize) -> ClaimRequest {
    let index = callers.rng.usize(..callers.workers.len());
    let worker = &mut callers.workers[index];
    let back = match callers.rng.u8(..20) {
        0 => 1,
        1 => 2,
        _ => 0,
    };
    let seq = if back > 0 {
        (worker.seq + 1).saturating_sub(back).max(1)
    } else {
        worker.seq += 1;
        worker.seq
    };
    let request = ClaimRequest::worker(worker.boot.clone(), seq, max);
    seeded(&mut callers.rng, request)
}

/// Replaces the random parts of a request with seeded ones.
fn seeded(rng: &mut Rng, mut request: ClaimRequest) -> ClaimRequest {
    request.nonce = rng.u32(..);
    request.lease(lease(rng))
}

fn claim(callers: &mut Callers) -> Operation {
    let max = max(&mut callers.rng);
    Operation::Claim(callers.queue(), worker_request(callers, max))
}

/// Claims so many jobs that reaping them needs more than one transaction.
fn claim_much(callers: &mut Callers) -> Operation {
    Operation::Claim(callers.queue(), worker_request(callers, 150))
}

fn claim_single(callers: &mut Callers) -> Operation {
    let max = max(&mut callers.rng);
    let request = single_request(callers, max);
    Operation::Claim(callers.queue(), request)
}

/// Generates a single claim, occasionally for a worker.
fn single_request(callers: &mut Callers, max: usize) -> ClaimRequest {
    let mut request = seeded(&mut callers.rng, ClaimRequest::single(max));
    if percent(&mut callers.rng, 30) {
        let index = callers.rng.usize(..callers.workers.len());
        request.claimer = Claimer::Single {
            worker: Some(callers.workers[index].boot.clone()),
        };
    }
    request
}

fn claim_dispatch(callers: &mut Callers) -> Operation {
    // A dispatch of two jobs is invalid.
    let max = if percent(&mut callers.rng, 3) { 2 } else { 1 };
    let request = single_request(callers, max).mode(Mode::Dispatch);
    Operation::Claim(callers.queue(), request)
}

fn claim_at_most_once(callers: &mut Callers) -> Operation {
    let max = max(&mut callers.rng);
    let request = if callers.rng.bool() {
        worker_request(callers, max)
    } else {
        seeded(&mut callers.rng, ClaimRequest::single(max))
    };
    Operation::Claim(callers.queue(), request.mode(Mode::AtMostOnce))
}

/// Renews the claims of a worker. Occasionally it lists a token of another claim, or a `settled` that is too
/// high.
fn renew(callers: &mut Callers) -> Operation {
    let queue = callers.queue();
    let index = callers.rng.usize(..callers.workers.len());
    let worker = &callers.workers[index];
    let claims = worker.claims.iter().filter(|known| known.queue == queue);
    let mut tokens: Vec<Token> = claims.map(|known| known.token).collect();
    let settled = if callers.rng.u8(..8) == 0 {
        worker.seq
    } else {
        worker.settled
    };
    let boot = worker.boot.clone();
    if percent(&mut callers.rng, 15) && !callers.past.is_empty() {
        tokens.push(pick(&mut callers.rng, &callers.past).token);
    }
    if percent(&mut callers.rng, 5) && !tokens.is_empty() {
        tokens.remove(0);
    }
    let renewal = Renewal::Worker {
        boot,
        tokens,
        settled,
    };
    Operation::Renew(queue, renewal, lease(&mut callers.rng))
}

fn renew_single(callers: &mut Callers) -> Operation {
    let claims = if percent(&mut callers.rng, 70) {
        &callers.singles
    } else {
        &callers.past
    };
    if claims.is_empty() {
        return renew(callers);
    }
    let known = pick(&mut callers.rng, claims);
    let renewal = Renewal::Single { token: known.token };
    Operation::Renew(known.queue.clone(), renewal, lease(&mut callers.rng))
}

/// Repeats a call whose reply was lost.
fn repeat(callers: &mut Callers) -> Operation {
    if callers.unanswered.is_empty() {
        return claim(callers);
    }
    let index = callers.rng.usize(..callers.unanswered.len());
    callers.unanswered.swap_remove(index)
}

fn crash(callers: &mut Callers) -> Operation {
    let index = callers.rng.usize(..callers.workers.len());
    callers.crash(index);
    forward(callers)
}
