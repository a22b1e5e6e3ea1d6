//! The invariants of a queue.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::dump::{ClaimDump, QueueDump};
use windlass_core::limits::SUSPECT_AFTER;
use windlass_core::queue::stored_bytes;
use windlass_core::store::{GroupName, GroupSlot, Stats};
use windlass_core::{Job, JobId, JobState, Priority, Token};

/// Returns all violated invariants of a queue.
pub fn problems(dump: &QueueDump) -> Vec<String> {
    let mut problems = Vec::new();
    check_lanes(dump, &mut problems);
    check_groups(dump, &mut problems);
    check_keys(dump, &mut problems);
    check_claims(dump, &mut problems);
    check_jobs(dump, &mut problems);
    check_schedules(dump, &mut problems);
    let counted = recount(dump);
    if dump.stats != counted {
        problems.push(format!(
            "counters: stored {:?}, counted {counted:?}",
            dump.stats
        ));
    }
    problems
}

/// Computes the stats of a queue by counting its jobs. Copies what cannot be counted.
pub fn recount(dump: &QueueDump) -> Stats {
    let mut stats = Stats {
        oldest_ms: dump.stats.oldest_ms,
        next_due_ms: dump.stats.next_due_ms,
        is_paused: dump.stats.is_paused,
        resting_ms: dump.stats.resting_ms,
        total: dump.stats.total,
        last_minute: dump.stats.last_minute,
        schedules: dump.schedules.len() as u64,
        ..Stats::default()
    };
    for job in &dump.jobs {
        match job.state {
            JobState::Pending => stats.pending += 1,
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
        stats.bytes += stored_bytes(job);
    }
    stats
}

/// Every ready job is in exactly one lane: that of its priority, with separate lanes for suspects.
fn check_lanes(dump: &QueueDump, problems: &mut Vec<String>) {
    let jobs: BTreeMap<_, _> = dump.jobs.iter().map(|job| (&job.id, job)).collect();
    let mut seen = BTreeSet::new();
    if dump.ready.len() != Priority::COUNT {
        problems.push(format!("the dump has {} priorities", dump.ready.len()));
    }
    for (priority, (suspects, others)) in dump.ready.iter().enumerate() {
        let lanes = suspects
            .iter()
            .map(|id| (id, true))
            .chain(others.iter().map(|id| (id, false)));
        for (id, is_suspect) in lanes {
            let is_right = jobs.get(id).is_some_and(|job| {
                job.state == JobState::Ready
                    && job.group.is_none()
                    && job.priority.index() == priority
                    && (job.expiries >= SUSPECT_AFTER) == is_suspect
            });
            if !is_right || !seen.insert(id) {
                problems.push(format!(
                    "{id} does not belong in a lane of priority {priority}"
                ));
            }
        }
    }
    let ready = dump.jobs.iter().filter(|job| job.state == JobState::Ready);
    for job in ready.filter(|job| job.group.is_none()) {
        if !seen.contains(&job.id) {
            problems.push(format!("{} is ready but in no lane", job.id));
        }
    }
}

/// Every ready job of a group is in its line once, its slots are held by jobs of the group, and nobody else runs.
fn check_groups(dump: &QueueDump, problems: &mut Vec<String>) {
    let slot = dump.settings.group_slot;
    for group in &dump.groups {
        let name = &group.record.name;
        let of_group = |job: &&Job| job.group.as_ref() == Some(name);
        let ids = |is_in: &dyn Fn(&Job) -> bool| -> BTreeSet<&JobId> {
            let jobs = dump.jobs.iter().filter(of_group);
            jobs.filter(|job| is_in(job)).map(|job| &job.id).collect()
        };
        let line: BTreeSet<_> = group.line.iter().collect();
        if line != ids(&|job| job.state == JobState::Ready) || line.len() != group.line.len() {
            problems.push(format!("the line of {name} differs from its ready jobs"));
        }
        let holders: BTreeSet<_> = group.holders.iter().collect();
        let may_hold = ids(&|job| match job.state {
            JobState::Running => true,
            JobState::Dead => slot == GroupSlot::Success,
            state => slot.is_lane() && state.is_waiting(),
        });
        let running = ids(&|job| job.state == JobState::Running);
        if !holders.is_subset(&may_hold) || !running.is_subset(&holders) {
            problems.push(format!("the slots of {name} are held by {holders:?}"));
        }
        let counts = (group.record.ready, group.record.slots);
        if counts != (line.len() as u64, holders.len() as u64) {
            problems.push(format!("the counts of {name} are {counts:?}"));
        }
    }
    let is_known = |name: &GroupName| dump.groups.iter().any(|group| group.record.name == *name);
    for job in &dump.jobs {
        let needs_group = matches!(job.state, JobState::Ready | JobState::Running);
        if job
            .group
            .as_ref()
            .is_some_and(|name| needs_group && !is_known(name))
        {
            problems.push(format!("{} has a group that does not exist", job.id));
        }
    }
    let waiting = dump.groups.iter().filter(|group| !group.line.is_empty());
    let waiting: BTreeSet<_> = waiting.map(|group| &group.record.name).collect();
    let turns: BTreeSet<_> = dump.turns.iter().flatten().collect();
    if turns != waiting || dump.turns.len() != turns.len() + usize::from(!turns.is_empty()) {
        problems.push(format!(
            "turns: stored {:?}, waiting {waiting:?}",
            dump.turns
        ));
    }
}

/// Every unique key belongs to the unfinished job that has it.
fn check_keys(dump: &QueueDump, problems: &mut Vec<String>) {
    let stored: BTreeSet<_> = dump.unique_keys.iter().map(|(key, id)| (key, id)).collect();
    let live: BTreeSet<_> = dump
        .jobs
        .iter()
        .filter(|job| !job.state.is_final())
        .filter_map(|job| job.unique_key.as_ref().map(|key| (key, &job.id)))
        .collect();
    if stored != live {
        problems.push(format!(
            "unique keys: stored {stored:?}, of unfinished jobs {live:?}"
        ));
    }
    for (key, id, state, _) in &dump.held_keys {
        if !state.is_final() || live.iter().any(|(other, _)| *other == key) {
            problems.push(format!(
                "{key} is held by {id}, which is {state}, or by another job"
            ));
        }
    }
    let keys: BTreeSet<_> = live.iter().map(|(key, _)| key).collect();
    if keys.len() != live.len() {
        problems.push(format!(
            "two unfinished jobs have the same unique key: {live:?}"
        ));
    }
}

/// Every running job has an open claim, and every open claim has a lease.
fn check_claims(dump: &QueueDump, problems: &mut Vec<String>) {
    let mut running: BTreeMap<Token, usize> = BTreeMap::new();
    for job in dump
        .jobs
        .iter()
        .filter(|job| job.state == JobState::Running)
    {
        match job.token {
            Some(token) => *running.entry(token).or_default() += 1,
            None => problems.push(format!("{} is running without a token", job.id)),
        }
    }
    let owners: BTreeSet<_> = dump
        .leases
        .iter()
        .map(|lease| lease.owner.as_str())
        .collect();
    for claim in &dump.claims {
        let running_jobs = running.remove(&claim.token).unwrap_or_default();
        check_claim(
            claim,
            running_jobs,
            owners.contains(claim.owner.as_str()),
            problems,
        );
    }
    for token in running.keys() {
        problems.push(format!("jobs run with token {token}, which has no claim"));
    }
}

fn check_claim(
    claim: &ClaimDump,
    running_jobs: usize,
    has_lease: bool,
    problems: &mut Vec<String>,
) {
    let is_open = claim.remaining > 0;
    if claim.remaining != running_jobs {
        problems.push(format!(
            "{} has {} jobs left, {running_jobs} are running",
            claim.token, claim.remaining
        ));
    }
    if claim.remaining + claim.left.len() > claim.size {
        problems.push(format!("{} has more jobs than it claimed", claim.token));
    }
    if is_open && !has_lease {
        problems.push(format!("{} is open without a lease", claim.token));
    }
    if is_open == claim.finished_at.is_some() {
        problems.push(format!(
            "{} is both open and finished, or neither",
            claim.token
        ));
    }
}

/// The current and the waiting job of a schedule have not ended, and every pending job waits for one.
fn check_schedules(dump: &QueueDump, problems: &mut Vec<String>) {
    let jobs: BTreeMap<_, _> = dump.jobs.iter().map(|job| (&job.id, job)).collect();
    let mut waiting = BTreeSet::new();
    for record in &dump.schedules {
        let name = &record.schedule.name;
        let belongs = |id: &JobId, is_right: fn(JobState) -> bool| {
            let job = jobs.get(id);
            job.is_some_and(|job| is_right(job.state) && job.schedule.as_ref() == Some(name))
        };
        if let Some(id) = &record.current
            && !belongs(id, |state| !state.is_final() && state != JobState::Pending)
        {
            problems.push(format!("{id} is not a current job of the schedule {name}"));
        }
        if let Some(id) = &record.waiting {
            waiting.insert(id);
            if !belongs(id, |state| state == JobState::Pending) || record.current.is_none() {
                problems.push(format!("{id} is not a waiting job of the schedule {name}"));
            }
        }
        let is_ordered = record
            .instants
            .windows(2)
            .all(|pair| pair[0].at < pair[1].at);
        let is_after = record
            .instants
            .first()
            .is_none_or(|first| first.at > record.settled_until);
        if !is_ordered || !is_after {
            problems.push(format!(
                "the instants of the schedule {name} are not in order"
            ));
        }
    }
    for job in dump
        .jobs
        .iter()
        .filter(|job| job.state == JobState::Pending)
    {
        if !waiting.contains(&job.id) {
            problems.push(format!("{} is pending but waits for no job", job.id));
        }
    }
}

/// A job has exactly the fields of its state, and a tombstone has the state of its job.
fn check_jobs(dump: &QueueDump, problems: &mut Vec<String>) {
    for (id, state, _) in &dump.tombstones {
        let job = dump.jobs.iter().find(|job| job.id == *id);
        if job.is_some_and(|job| job.state != *state) {
            problems.push(format!(
                "{id} is remembered as {state} but is in another state"
            ));
        }
    }
    for job in &dump.jobs {
        for (is_right, what) in expectations(job) {
            if !is_right {
                problems.push(format!("{} is {}: {what}", job.id, job.state));
            }
        }
    }
}

fn expectations(job: &Job) -> [(bool, &'static str); 6] {
    let is_running = job.state == JobState::Running;
    [
        (
            job.token.is_some() == is_running,
            "exactly the running jobs have a token",
        ),
        (
            job.finished_at.is_some() == job.state.is_final(),
            "exactly the finished jobs have an end",
        ),
        (
            job.reason.is_some() == (job.state == JobState::Dead),
            "exactly the dead jobs have a reason",
        ),
        (
            !job.is_cancel_requested || is_running,
            "only a running job has a cancellation request",
        ),
        (
            job.progress.is_none() || is_running,
            "only a running job has progress",
        ),
        (
            job.attempt >= 1 && job.payload.is_some(),
            "every job has an attempt and a payload",
        ),
    ]
}
