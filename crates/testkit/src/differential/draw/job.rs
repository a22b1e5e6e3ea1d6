//! Draws jobs to enqueue: few ids, keys and payloads, so that they meet again.

use std::time::Duration;

use fastrand::Rng;
use windlass_core::{
    Bytes, Due, Headers, JobId, Kind, NewJob, Priority, RetryPolicy, Timestamp, UniqueKey,
};

use super::super::chance::{ms, percent, pick};
use super::super::step::Step;
use super::super::world::World;
use super::lease;

/// How many ids callers choose from.
const NAMES: u64 = 18;

const PAYLOADS: &[&[u8]] = &[b"", b"a", b"b", b"{\"n\":1}", &[0, 255, 10, 13], &[7; 60]];

pub(super) fn enqueue(world: &mut World) -> Step {
    let count = *pick(&mut world.rng, &[1, 1, 1, 2, 3, 6]);
    let jobs = (0..count).map(|_| job(world)).collect();
    Step::Enqueue(world.queue(), jobs)
}

/// Enough jobs of one sort for a page to fill up.
pub(super) fn burst(world: &mut World) -> Step {
    let count = world.rng.usize(60..=150);
    let due = due(&mut world.rng, Timestamp::default());
    let expires = percent(&mut world.rng, 30).then_some(Due::After(Duration::from_secs(2)));
    let jobs = (0..count).map(|_| {
        let mut job = NewJob::new("burst");
        job.id = generated(world);
        job.due = due;
        job.expires = expires;
        job
    });
    let jobs = jobs.collect();
    Step::Enqueue(world.queue(), jobs)
}

/// The id of a caller's choice, among few.
pub(super) fn name(rng: &mut Rng) -> JobId {
    JobId::new(format!("n{}", rng.u64(..NAMES))).expect("a short plain name is valid")
}

pub(super) fn key(rng: &mut Rng) -> UniqueKey {
    UniqueKey::new(format!("key {}", rng.u8(..4))).expect("a short plain name is valid")
}

pub(super) fn kind(rng: &mut Rng) -> Kind {
    Kind::new(*pick(rng, &["mail", "report"])).expect("a short plain name is valid")
}

pub(super) fn payload(rng: &mut Rng) -> Bytes {
    Bytes::from_static(pick::<&'static [u8]>(rng, PAYLOADS))
}

/// When something falls due, sometimes in the past.
pub(super) fn due(rng: &mut Rng, now: Timestamp) -> Due {
    match rng.u8(..10) {
        0..3 => Due::Now,
        3..8 => Due::After(ms(rng, 0..=8_000)),
        8 => Due::After(ms(rng, 8_000..=120_000)),
        _ => Due::At(Timestamp::from_ms(
            (now.as_ms() + rng.u64(..10_000)).saturating_sub(5_000),
        )),
    }
}

fn generated(world: &mut World) -> JobId {
    JobId::new(format!("g{:05}", world.fresh())).expect("a short plain name is valid")
}

fn job(world: &mut World) -> NewJob {
    let now = super::now(world);
    let mut job = NewJob::new(payload(&mut world.rng));
    job.is_named = percent(&mut world.rng, 75);
    job.id = if job.is_named {
        name(&mut world.rng)
    } else {
        generated(world)
    };
    let rng = &mut world.rng;
    if percent(rng, 35) {
        let level = rng.u8(..10);
        job.priority = Priority::new(level).expect("0 to 9 are priorities");
    }
    if percent(rng, 40) {
        job.due = due(rng, now);
    }
    job.kind = percent(rng, 40).then(|| kind(rng));
    job.retry = policy(rng, now);
    job.timeout = percent(rng, 10).then(|| lease(rng));
    job.expires = percent(rng, 15).then(|| due(rng, now));
    job.unique_key = percent(rng, 25).then(|| key(rng));
    job.keep_outcome = percent(rng, 20);
    if percent(rng, 10) {
        job.headers = headers();
    }
    job
}

fn headers() -> Headers {
    let mut headers = Headers::default();
    headers
        .set("trace", "1-2-3")
        .expect("a plain header is valid");
    headers
}

fn policy(rng: &mut Rng, now: Timestamp) -> RetryPolicy {
    let second = Duration::from_secs(1);
    let policy = match rng.u8(..6) {
        0 => RetryPolicy::never(),
        1 => RetryPolicy::fixed(second).max_attempts(3),
        2 => RetryPolicy::fixed(Duration::ZERO).max_attempts(2),
        3 => RetryPolicy::exponential(ms(rng, 1..=500), second * 3),
        4 => RetryPolicy::fixed(ms(rng, 0..=900)).max_attempts(0),
        _ => RetryPolicy::default(),
    };
    // Nought attempts are refused; one in thirty jobs says so.
    let policy = if policy.max_attempts == 0 && !percent(rng, 3) {
        policy.max_attempts(4)
    } else {
        policy
    };
    if percent(rng, 20) {
        policy.until(due(rng, now))
    } else {
        policy
    }
}
