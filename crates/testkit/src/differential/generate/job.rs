//! Generates new jobs, with few different ids, keys and payloads so that they collide.

use std::collections::BTreeSet;
use std::time::Duration;

use fastrand::Rng;
use windlass_core::store::{Headers, Kind, OnDuplicate, UniqueKey, UniqueUntil};
use windlass_core::{Bytes, Due, JobId, NewJob, Priority, RetryPolicy, Timestamp};

use super::super::callers::Callers;
use super::super::operation::Operation;
use super::super::random::{ms, percent, pick};
use super::{group, lease, worker_request};

/// The number of ids chosen by callers.
const NAMES: u64 = 18;

/// The number of unique keys.
const KEYS: u8 = 4;

/// The largest payload.
pub(in super::super) const LARGE_BYTES: usize = 1024 * 1024;

const PAYLOADS: &[&[u8]] = &[b"", b"a", b"b", b"{\"n\":1}", &[0, 255, 10, 13], &[7; 60]];

pub(super) fn enqueue(callers: &mut Callers) -> Operation {
    let count = *pick(&mut callers.rng, &[1, 1, 1, 2, 3, 6]);
    let mut jobs: Vec<_> = (0..count).map(|_| job(callers)).collect();
    // A store may execute a batch that repeats an id in parts, and each part forgets amendments beyond
    // `dedup_max`. So at that limit a repeated id that amended another job may be a new one.
    let mut amending = BTreeSet::new();
    jobs.retain(|job| {
        let is_repeated = amending.contains(&job.id);
        if job.on_duplicate != OnDuplicate::Keep && job.unique_key.is_some() {
            amending.insert(job.id.clone());
        }
        !is_repeated
    });
    Operation::Enqueue(callers.queue(), jobs)
}

/// Enqueues a job that replaces or postpones a job of a schedule.
pub(super) fn amend_scheduled(callers: &mut Callers) -> Operation {
    if callers.scheduled.is_empty() {
        return enqueue(callers);
    }
    let id = pick(&mut callers.rng, &callers.scheduled).clone();
    let job = amending(callers, id);
    Operation::Enqueue(callers.queue(), vec![job])
}

/// Generates a job that replaces or postpones the one with an id.
pub(super) fn amending(callers: &mut Callers, id: JobId) -> NewJob {
    let mut job = job(callers);
    let rng = &mut callers.rng;
    job.id = id;
    job.is_named = true;
    job.on_duplicate = *pick(rng, &OnDuplicate::ALL[1..]);
    job.postpone_max = None;
    job.due = Due::After(ms(rng, 0..=60_000));
    job
}

/// Enqueues enough similar jobs to fill a page.
pub(super) fn burst(callers: &mut Callers) -> Operation {
    let count = callers.rng.usize(60..=150);
    let due = due(&mut callers.rng, Timestamp::default());
    let expires = percent(&mut callers.rng, 30).then_some(Due::After(Duration::from_secs(2)));
    let jobs = (0..count).map(|_| {
        let mut job = NewJob::new("burst");
        job.id = generated(callers);
        job.due = due;
        job.expires = expires;
        if callers.has_groups && callers.rng.bool() {
            job.group = Some(group::name(&mut callers.rng));
        }
        job
    });
    let jobs = jobs.collect();
    Operation::Enqueue(callers.queue(), jobs)
}

/// Enqueues jobs with the largest payload, mostly more than a claim hands out, and claims them.
pub(super) fn large_burst(callers: &mut Callers) -> Operation {
    let count = callers.rng.usize(3..=6);
    let queue = callers.queue();
    let jobs = (b'0'..).take(count).map(|fill| {
        let mut job = NewJob::new(vec![fill; LARGE_BYTES]);
        job.id = generated(callers);
        job.priority = Priority::new(0).expect("a valid priority");
        job
    });
    let jobs = jobs.collect();
    let request = worker_request(callers, 10);
    callers
        .urgent
        .push(Operation::Claim(queue.clone(), request));
    Operation::Enqueue(queue, jobs)
}

/// Generates an id chosen by the caller.
pub(super) fn name(rng: &mut Rng) -> JobId {
    JobId::new(format!("n{}", rng.u64(..NAMES))).expect("a valid name")
}

pub(super) fn key(rng: &mut Rng) -> UniqueKey {
    numbered_key(rng.u8(..KEYS))
}

fn numbered_key(number: u8) -> UniqueKey {
    UniqueKey::new(format!("key {number}")).expect("a valid name")
}

/// Generates a job with each unique key.
pub(super) fn one_per_key(callers: &mut Callers) -> Vec<NewJob> {
    let job = |number| {
        let mut job = NewJob::new("it has a key").unique_key(numbered_key(number));
        job.id = generated(callers);
        job
    };
    (0..KEYS).map(job).collect()
}

pub(super) fn kind(rng: &mut Rng) -> Kind {
    Kind::new(*pick(rng, &["mail", "report"])).expect("a valid name")
}

pub(super) fn payload(rng: &mut Rng) -> Bytes {
    Bytes::from_static(pick::<&'static [u8]>(rng, PAYLOADS))
}

/// Generates a due time, sometimes in the past.
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

fn generated(callers: &mut Callers) -> JobId {
    JobId::new(format!("g{:05}", callers.fresh())).expect("a valid name")
}

fn job(callers: &mut Callers) -> NewJob {
    let now = super::now(callers);
    let mut job = NewJob::new(payload(&mut callers.rng));
    job.is_named = percent(&mut callers.rng, 75);
    job.id = if job.is_named {
        name(&mut callers.rng)
    } else {
        generated(callers)
    };
    let rng = &mut callers.rng;
    if percent(rng, 35) {
        let level = rng.u8(..10);
        job.priority = Priority::new(level).expect("a valid priority");
    }
    if percent(rng, 40) {
        job.due = due(rng, now);
    }
    job.kind = percent(rng, 40).then(|| kind(rng));
    job.retry = policy(rng, now);
    job.timeout = percent(rng, 10).then(|| lease(rng).get());
    job.expires = percent(rng, 15).then(|| due(rng, now));
    job.unique_key = percent(rng, 25).then(|| key(rng));
    if callers.has_groups && percent(rng, 60) {
        job.group = Some(group::name(rng));
    }
    deduplication(rng, &mut job);
    job.keep_outcome = percent(rng, 20);
    if percent(rng, 10) {
        job.headers = headers();
    }
    job
}

/// Chooses what the job does to others with its id or key, and how long it holds its key.
pub(super) fn deduplication(rng: &mut Rng, job: &mut NewJob) {
    if percent(rng, 30) {
        job.on_duplicate = *pick(rng, OnDuplicate::ALL);
        let has_max = job.on_duplicate.postpones() && percent(rng, 30);
        job.postpone_max = has_max.then(|| ms(rng, 0..=20_000));
    }
    hold(rng, job);
}

/// Chooses how long the job holds its key.
pub(super) fn hold(rng: &mut Rng, job: &mut NewJob) {
    if job.unique_key.is_some() {
        match rng.u8(..10) {
            0..2 => job.unique_until = UniqueUntil::Start,
            2..5 => job.unique_for = Some(ms(rng, 0..=60_000)),
            _ => {}
        }
    }
}

fn headers() -> Headers {
    let mut headers = Headers::default();
    headers.set("trace", "1-2-3").expect("a valid header");
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
    // A policy with 0 attempts is invalid; keep it in a few jobs.
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
