//! Invariants of the ledger and the final store, whatever was killed when.
//!
//! Pure functions of the actors' events and the final listing. The store's stats are used only to
//! check them (I8).

mod order;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use windlass_core::store::Stats;
use windlass_core::{JobId, JobLease, JobState, OutcomeStatus, Token};

use crate::CLOCK_SLACK;
use crate::event::Event;
use crate::ledger::{Ledger, ProcessLog};

/// As many jobs may die in any run, and one in [`DEAD_ONE_IN`] besides.
const DEAD_MIN: usize = 5;
const DEAD_ONE_IN: usize = 100;

/// A violated invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which: I0 to I9.
    pub invariant: &'static str,
    /// What was observed.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.what)
    }
}

/// A job of the final listing.
pub type ListedJob = (JobId, JobState);

/// Invariants of the ledger alone; may be checked at any time.
pub fn of_ledger(ledger: &Ledger) -> Vec<Violation> {
    let mut violations = Vec::new();
    no_violations_logged(ledger, &mut violations);
    accepted_once(ledger, &mut violations);
    one_boot_per_token(ledger, |token| token.number, &mut violations);
    one_completion_per_job(ledger, &mut violations);
    no_completion_after_loss(ledger, &mut violations);
    no_early_loss(ledger, &mut violations);
    order::completed_by_last_claim(ledger, &mut violations);
    order::back_in_claim_order(ledger, &mut violations);
    violations
}

/// Invariants of the ledger and the store when every job has ended.
pub fn at_the_end(ledger: &Ledger, listing: &[ListedJob], stats: &Stats) -> Vec<Violation> {
    let mut violations = of_ledger(ledger);
    nothing_lost(ledger, listing, &mut violations);
    completed_is_succeeded(ledger, listing, &mut violations);
    stats_are_right(listing, stats, &mut violations);
    violations
}

/// Invariants that hold although a failover may have undone unreplicated claims and completions: no
/// job accepted at the requested level is lost, and no token is issued twice.
pub fn after_failovers(ledger: &Ledger, listing: &[ListedJob]) -> Vec<Violation> {
    let mut violations = Vec::new();
    no_violations_logged(ledger, &mut violations);
    one_boot_per_token(ledger, |token| token, &mut violations);
    nothing_lost(ledger, listing, &mut violations);
    violations
}

/// Panics if there are violations, and lists the first of them.
#[track_caller]
pub fn assert_none(violations: &[Violation], when: &str) {
    let listed: String = violations
        .iter()
        .take(20)
        .map(|found| format!("\n  {found}"))
        .collect();
    let count = violations.len();
    assert!(violations.is_empty(), "{when}: {count} violations{listed}");
}

fn broken(invariant: &'static str, what: impl Into<String>) -> Violation {
    Violation {
        invariant,
        what: what.into(),
    }
}

/// I0: no actor logged a violation.
fn no_violations_logged(ledger: &Ledger, violations: &mut Vec<Violation>) {
    for (process, event) in ledger.events() {
        if let Event::Violation(what) = event {
            violations.push(broken("I0", format!("{}: {what}", process.name)));
        }
    }
}

/// I1, at any time: an id is accepted once, and every job still exists, because finished jobs are kept.
fn accepted_once(ledger: &Ledger, violations: &mut Vec<Violation>) {
    let mut accepted = BTreeSet::new();
    for (process, event) in ledger.events() {
        match event {
            Event::Accepted(id) if !accepted.insert(id) => {
                let what = format!("{id} was accepted again, by {}", process.name);
                violations.push(broken("I1", what));
            }
            Event::Outcome(OutcomeStatus::Gone, lease) => {
                let what = format!(
                    "{} is gone, according to the reply to {}",
                    lease.id, process.name
                );
                violations.push(broken("I1", what));
            }
            _ => {}
        }
    }
}

/// I1, at the end: accepted jobs exist once and have ended; jobs enqueued without a reply exist once
/// or not at all; no other jobs exist.
fn nothing_lost(ledger: &Ledger, listing: &[ListedJob], violations: &mut Vec<Violation>) {
    let mut found: BTreeMap<&JobId, Vec<JobState>> = BTreeMap::new();
    for (id, state) in listing {
        found.entry(id).or_default().push(*state);
    }
    let mut enqueued = BTreeSet::new();
    for (process, event) in ledger.events() {
        match event {
            Event::Enqueuing(ids) => enqueued.extend(ids),
            Event::Accepted(id) | Event::Duplicate(id) if !found.contains_key(id) => {
                let what = format!("{id}, accepted for {}, is lost", process.name);
                violations.push(broken("I1", what));
            }
            _ => {}
        }
    }
    for (id, states) in found {
        if states.len() > 1 {
            violations.push(broken("I1", format!("{id} exists {} times", states.len())));
        }
        for state in states.into_iter().filter(|state| !state.is_final()) {
            violations.push(broken("I1", format!("{id} is still {state}")));
        }
        if !enqueued.contains(id) {
            violations.push(broken("I1", format!("{id} was never enqueued")));
        }
    }
}

/// I2: a token number is issued to one process only; across failovers, the whole token.
fn one_boot_per_token<T: Ord>(
    ledger: &Ledger,
    key: impl Fn(Token) -> T,
    violations: &mut Vec<Violation>,
) {
    let mut holders: BTreeMap<T, &ProcessLog> = BTreeMap::new();
    for (process, event) in ledger.events() {
        if let Event::Claimed(lease) = event {
            let holder = holders.entry(key(lease.token)).or_insert(process);
            if !std::ptr::eq(*holder, process) {
                let what = format!(
                    "{} was issued to {} and to {}",
                    lease.token, holder.name, process.name
                );
                violations.push(broken("I2", what));
            }
        }
    }
}

/// I3, at any time: at most one token completes a job.
fn one_completion_per_job(ledger: &Ledger, violations: &mut Vec<Violation>) {
    let mut completed: BTreeMap<&JobId, Token> = BTreeMap::new();
    for (_, event) in ledger.events() {
        if let Event::Outcome(OutcomeStatus::Completed, lease) = event {
            let first = *completed.entry(&lease.id).or_insert(lease.token);
            if first != lease.token {
                let what = format!("{} was completed by {first} and {}", lease.id, lease.token);
                violations.push(broken("I3", what));
            }
        }
    }
}

/// I3, at the end: a job whose completion was confirmed has succeeded.
fn completed_is_succeeded(ledger: &Ledger, listing: &[ListedJob], violations: &mut Vec<Violation>) {
    let states: BTreeMap<_, _> = listing.iter().map(|(id, state)| (id, *state)).collect();
    for (process, event) in ledger.events() {
        if let Event::Outcome(OutcomeStatus::Completed, lease) = event {
            let state = states.get(&lease.id);
            if state != Some(&JobState::Succeeded) {
                let state = state.map_or("lost", |state| state.as_str());
                let what = format!("{}, completed by {}, is {state}", lease.id, process.name);
                violations.push(broken("I3", what));
            }
        }
    }
}

/// I4: a token that got another status for a job never gets `completed` for it later.
fn no_completion_after_loss(ledger: &Ledger, violations: &mut Vec<Violation>) {
    for process in &ledger.processes {
        let mut left: BTreeMap<(&JobId, Token), OutcomeStatus> = BTreeMap::new();
        for line in &process.lines {
            let Event::Outcome(status, lease) = &line.event else {
                continue;
            };
            let before = left.get(&(&lease.id, lease.token));
            if let (OutcomeStatus::Completed, Some(before)) = (status, before) {
                let what = format!(
                    "{} of {} was {before}, then completed",
                    lease.id, lease.token
                );
                violations.push(broken("I4", what));
            }
            if *status != OutcomeStatus::Completed {
                left.entry((&lease.id, lease.token)).or_insert(*status);
            }
        }
    }
}

/// I5: no lease is lost before it ends, counted from the call that last claimed or renewed it.
fn no_early_loss(ledger: &Ledger, violations: &mut Vec<Violation>) {
    for process in &ledger.processes {
        for (lease, early_us) in early_losses(process, ledger.lease) {
            let what = format!(
                "{} lost {} under {} at least {early_us} us before its lease ended",
                process.name, lease.id, lease.token
            );
            violations.push(broken("I5", what));
        }
    }
}

fn early_losses(process: &ProcessLog, lease: Duration) -> Vec<(&JobLease, u64)> {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let lease_us = micros(lease.saturating_sub(CLOCK_SLACK));
    let (mut claiming_us, mut renewing_us) = (0, 0);
    let mut safe_until: BTreeMap<Token, u64> = BTreeMap::new();
    let mut left: BTreeSet<(&JobId, Token)> = BTreeSet::new();
    let mut early = Vec::new();
    for line in &process.lines {
        match &line.event {
            Event::Claiming => claiming_us = line.at_us,
            Event::Renewing => renewing_us = line.at_us,
            Event::Claimed(lease) => {
                safe_until.insert(lease.token, claiming_us + lease_us);
            }
            Event::Renewed(token) => {
                safe_until.insert(*token, renewing_us + lease_us);
            }
            Event::Outcome(status, lease) => {
                let is_first = left.insert((&lease.id, lease.token));
                let until = safe_until.get(&lease.token).copied().unwrap_or_default();
                if *status == OutcomeStatus::LeaseLost && is_first && line.at_us < until {
                    early.push((lease, until - line.at_us));
                }
            }
            _ => {}
        }
    }
    early
}

/// I8: the store's stats match the listing.
fn stats_are_right(listing: &[ListedJob], stats: &Stats, violations: &mut Vec<Violation>) {
    let kept = [
        (JobState::Pending, stats.pending),
        (JobState::Scheduled, stats.scheduled),
        (JobState::Ready, stats.ready),
        (JobState::Running, stats.running),
        (JobState::Succeeded, stats.succeeded),
        (JobState::Dead, stats.dead),
        (JobState::Cancelled, stats.cancelled),
    ];
    for (state, reported) in kept {
        let counted = listing.iter().filter(|(_, found)| *found == state).count() as u64;
        if counted != reported {
            let what =
                format!("the stats report {reported} {state} jobs, the listing has {counted}");
            violations.push(broken("I8", what));
        }
    }
}

/// I9: few jobs die of lost leases. Only a job that loses four of them dies, alone in the last two, so kills and
/// stops at random times rarely hit the same job that often.
pub fn few_dead(listing: &[ListedJob]) -> Vec<Violation> {
    let dead = listing.iter().filter(|(_, state)| *state == JobState::Dead);
    let (dead, max) = (dead.count(), DEAD_MIN + listing.len() / DEAD_ONE_IN);
    if dead <= max {
        return Vec::new();
    }
    let what = format!(
        "{dead} of {} jobs are dead, at most {max} may be",
        listing.len()
    );
    vec![broken("I9", what)]
}

#[cfg(test)]
mod tests;
