//! Generates outcomes, with tokens that are valid, lost, or were never issued.

use fastrand::Rng;
use windlass_core::store::{Completion, Failure, Fraction, Jitter, Retry, SnoozeScope};
use windlass_core::{JobLease, QueueName, Token};

use super::super::callers::{Callers, KnownClaim};
use super::super::operation::Operation;
use super::super::random::{percent, pick};
use super::{job, lease as random_lease, max, now, worker_request};

/// Returns jobs of one claim: mostly an open one, otherwise a past one.
fn some_leases(callers: &mut Callers) -> (QueueName, Vec<JobLease>) {
    let mut known = some_claim(callers);
    let rng = &mut callers.rng;
    rng.shuffle(&mut known.ids);
    if rng.bool() {
        known.ids.truncate(1);
    }
    let mut leases: Vec<_> = known
        .ids
        .into_iter()
        .map(|id| JobLease::new(id, known.token))
        .collect();
    match rng.u8(..40) {
        0 => leases.push(JobLease::new(job::name(rng), known.token)),
        1 => {
            // Not one of the others: Redis would need two calls for it, and prunes between them.
            let id = job::name(rng);
            if leases.iter().all(|lease| lease.id != id) {
                let (number, nonce) = (1, 1);
                leases.push(JobLease::new(id, Token { number, nonce }));
            }
        }
        2 => leases.extend(leases.first().cloned()),
        _ => {}
    }
    (known.queue, leases)
}

fn some_claim(callers: &mut Callers) -> KnownClaim {
    let open = callers
        .workers
        .iter()
        .flat_map(|worker| &worker.claims)
        .chain(&callers.singles);
    let open: Vec<_> = open.collect();
    let use_open = percent(&mut callers.rng, 80);
    if use_open && !open.is_empty() {
        return (*pick(&mut callers.rng, &open)).clone();
    }
    if !callers.past.is_empty() {
        return pick(&mut callers.rng, &callers.past).clone();
    }
    let ids = vec![job::name(&mut callers.rng)];
    KnownClaim {
        queue: callers.queue(),
        token: Token {
            number: 1,
            nonce: 1,
        },
        ids,
    }
}

fn one_lease(callers: &mut Callers) -> (QueueName, JobLease) {
    let (queue, mut leases) = some_leases(callers);
    (queue, leases.remove(0))
}

pub(super) fn accept(callers: &mut Callers) -> Operation {
    let (queue, lease) = one_lease(callers);
    Operation::Accept(queue, lease, random_lease(&mut callers.rng))
}

pub(super) fn progress(callers: &mut Callers) -> Operation {
    let (queue, lease) = one_lease(callers);
    let fraction = *pick(&mut callers.rng, &[0.0, 0.25, 0.5, 1.0]);
    let fraction = Fraction::new(fraction).expect("a fraction");
    let message = callers.rng.bool().then(|| "under way".to_owned());
    Operation::Progress(queue, lease, fraction, message)
}

pub(super) fn complete(callers: &mut Callers) -> Operation {
    let (queue, leases) = some_leases(callers);
    let result = percent(&mut callers.rng, 40).then(|| job::payload(&mut callers.rng));
    let completion = |lease| Completion {
        lease,
        result: result.clone(),
    };
    let completions = leases.into_iter().map(completion).collect();
    let max = max(&mut callers.rng);
    let next = percent(&mut callers.rng, 25).then(|| worker_request(callers, max));
    Operation::Complete(queue, completions, next)
}

pub(super) fn fail(callers: &mut Callers) -> Operation {
    let (queue, leases) = some_leases(callers);
    let now = now(callers);
    let rng = &mut callers.rng;
    let retry = match rng.u8(..10) {
        0..7 => Retry::ByPolicy(Jitter(rng.u16(..))),
        7 | 8 => Retry::At(job::due(rng, now)),
        _ => Retry::Permanent,
    };
    let error = error(rng);
    let failure = |lease| Failure {
        lease,
        error: error.clone(),
        retry,
    };
    Operation::Fail(queue, leases.into_iter().map(failure).collect())
}

/// Generates an error: short, long, or so that some are equal when normalized.
pub(super) fn error(rng: &mut Rng) -> String {
    match rng.u8(..5) {
        0 => String::new(),
        1 => "it broke".to_owned(),
        2 => format!("it broke {} times\nand said much about it", rng.u8(..)),
        3 => format!("it lost 'x{}'", "é".repeat(rng.usize(..1_000))),
        _ => format!("error {}", rng.alphabetic()),
    }
}

pub(super) fn release(callers: &mut Callers) -> Operation {
    let (queue, leases) = some_leases(callers);
    Operation::Release(queue, leases)
}

pub(super) fn snooze(callers: &mut Callers) -> Operation {
    let (queue, leases) = some_leases(callers);
    let now = now(callers);
    let due = job::due(&mut callers.rng, now);
    let scope = match callers.rng.u8(..10) {
        0..5 if callers.has_groups => SnoozeScope::Group,
        5..7 if callers.has_groups => SnoozeScope::Queue,
        _ => SnoozeScope::Job,
    };
    Operation::Snooze(queue, leases, due, scope)
}
