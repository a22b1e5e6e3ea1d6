//! What must be true of every queue at every moment, whatever happened to it.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::dump::{ClaimDump, QueueDump};
use windlass_core::limits::SUSPECT_AFTER;
use windlass_core::store::stored_bytes;
use windlass_core::{Job, JobState, Priority, Stats, Token};

/// Everything in which a queue contradicts itself; nothing when it is sound.
pub fn faults(dump: &QueueDump) -> Vec<String> {
    let mut faults = Vec::new();
    check_lanes(dump, &mut faults);
    check_keys(dump, &mut faults);
    check_claims(dump, &mut faults);
    check_jobs(dump, &mut faults);
    let counted = recount(dump);
    if dump.stats != counted {
        faults.push(format!(
            "counters: kept {:?}, counted {counted:?}",
            dump.stats
        ));
    }
    faults
}

/// The figures of a queue by counting its jobs; what cannot be counted is taken as it is.
pub fn recount(dump: &QueueDump) -> Stats {
    let mut stats = Stats {
        oldest_ms: dump.stats.oldest_ms,
        next_due_ms: dump.stats.next_due_ms,
        is_paused: dump.stats.is_paused,
        total: dump.stats.total,
        last_minute: dump.stats.last_minute,
        ..Stats::default()
    };
    for job in &dump.jobs {
        match job.state {
            JobState::Scheduled => stats.scheduled += 1,
            JobState::Ready => {
                stats.ready += 1;
                stats.ready_by_priority[job.priority.index()] += 1;
            }
            JobState::Running => stats.running += 1,
            JobState::Succeeded => stats.succeeded += 1,
            JobState::Dead => stats.dead += 1,
            JobState::Cancelled => stats.cancelled += 1,
        }
        let payload = job.payload.as_ref().map_or(0, bytes::Bytes::len);
        stats.bytes += stored_bytes(payload, job.result.as_ref(), job.error.as_deref());
    }
    stats
}

/// Every ready job stands once in the lane of its priority, suspects apart.
fn check_lanes(dump: &QueueDump, faults: &mut Vec<String>) {
    let jobs: BTreeMap<_, _> = dump.jobs.iter().map(|job| (&job.id, job)).collect();
    let mut seen = BTreeSet::new();
    if dump.ready.len() != Priority::COUNT {
        faults.push(format!("the dump shows {} priorities", dump.ready.len()));
    }
    for (priority, (suspects, others)) in dump.ready.iter().enumerate() {
        let lanes = suspects
            .iter()
            .map(|id| (id, true))
            .chain(others.iter().map(|id| (id, false)));
        for (id, is_suspect) in lanes {
            let fits = jobs.get(id).is_some_and(|job| {
                job.state == JobState::Ready
                    && job.priority.index() == priority
                    && (job.expiries >= SUSPECT_AFTER) == is_suspect
            });
            if !fits || !seen.insert(id) {
                faults.push(format!(
                    "{id} does not belong in a lane of priority {priority}"
                ));
            }
        }
    }
    for job in dump.jobs.iter().filter(|job| job.state == JobState::Ready) {
        if !seen.contains(&job.id) {
            faults.push(format!("{} is ready and in no lane", job.id));
        }
    }
}

/// A unique key points at the live job that asked for it.
fn check_keys(dump: &QueueDump, faults: &mut Vec<String>) {
    let kept: BTreeSet<_> = dump.unique_keys.iter().map(|(key, id)| (key, id)).collect();
    let live: BTreeSet<_> = dump
        .jobs
        .iter()
        .filter(|job| !job.state.is_final())
        .filter_map(|job| job.unique_key.as_ref().map(|key| (key, &job.id)))
        .collect();
    if kept != live {
        faults.push(format!(
            "unique keys: kept {kept:?}, held by live jobs {live:?}"
        ));
    }
    let keys: BTreeSet<_> = live.iter().map(|(key, _)| key).collect();
    if keys.len() != live.len() {
        faults.push(format!("two live jobs hold one unique key: {live:?}"));
    }
}

/// Every running job is held by an open claim, and every open claim has a lease.
fn check_claims(dump: &QueueDump, faults: &mut Vec<String>) {
    let mut running: BTreeMap<Token, usize> = BTreeMap::new();
    for job in dump
        .jobs
        .iter()
        .filter(|job| job.state == JobState::Running)
    {
        match job.token {
            Some(token) => *running.entry(token).or_default() += 1,
            None => faults.push(format!("{} runs without a token", job.id)),
        }
    }
    let owners: BTreeSet<_> = dump
        .leases
        .iter()
        .map(|lease| lease.owner.as_str())
        .collect();
    for claim in &dump.claims {
        let held = running.remove(&claim.token).unwrap_or_default();
        check_claim(claim, held, owners.contains(claim.owner.as_str()), faults);
    }
    for token in running.keys() {
        faults.push(format!("jobs run under {token}, which no claim has"));
    }
}

fn check_claim(claim: &ClaimDump, held: usize, has_lease: bool, faults: &mut Vec<String>) {
    let is_open = claim.remaining > 0;
    if claim.remaining != held {
        faults.push(format!(
            "{} has {} jobs left, {held} run",
            claim.token, claim.remaining
        ));
    }
    if claim.remaining + claim.left.len() > claim.size {
        faults.push(format!(
            "{} shows more jobs than it handed out",
            claim.token
        ));
    }
    if is_open && !has_lease {
        faults.push(format!("{} is open and under no lease", claim.token));
    }
    if is_open == claim.finished_at.is_some() {
        faults.push(format!("{} is open and finished, or neither", claim.token));
    }
}

/// A job shows what its state calls for, and nothing else; only ended jobs are remembered so.
fn check_jobs(dump: &QueueDump, faults: &mut Vec<String>) {
    for (id, state, _) in &dump.tombstones {
        let job = dump.jobs.iter().find(|job| job.id == *id);
        if job.is_some_and(|job| job.state != *state) {
            faults.push(format!(
                "{id} is remembered as {state} and is something else"
            ));
        }
    }
    for job in &dump.jobs {
        for (is_right, what) in expectations(job) {
            if !is_right {
                faults.push(format!("{} is {}: {what}", job.id, job.state));
            }
        }
    }
}

fn expectations(job: &Job) -> [(bool, &'static str); 6] {
    let is_running = job.state == JobState::Running;
    [
        (
            job.token.is_some() == is_running,
            "a running job, and no other, has a token",
        ),
        (
            job.finished_at.is_some() == job.state.is_final(),
            "an ended job has an end",
        ),
        (
            job.reason.is_some() == (job.state == JobState::Dead),
            "a dead job has a reason",
        ),
        (
            !job.is_cancel_requested || is_running,
            "only a running job is asked to stop",
        ),
        (
            job.progress.is_none() || is_running,
            "only a running job has progress",
        ),
        (
            job.attempt >= 1 && job.payload.is_some(),
            "it has an attempt and a payload",
        ),
    ]
}
