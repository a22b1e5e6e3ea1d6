//! What must be true of the ledger and of the store at the end, whoever was killed when.
//!
//! Pure functions: they see what the actors said and the final listing, and nothing that the store
//! says about itself, except where its figures are what is judged (I8).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use windlass_core::{JobId, JobLease, JobState, OutcomeStatus, Stats, Token};

use crate::event::Event;
use crate::ledger::{Ledger, Life};
use crate::{CLOCK_SLACK, LEASE};

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which: I0 to I8.
    pub invariant: &'static str,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.what)
    }
}

/// A job of the final listing.
pub type Found = (JobId, JobState);

/// What the ledger alone shows, at any moment.
pub fn of_ledger(ledger: &Ledger) -> Vec<Violation> {
    let mut violations = Vec::new();
    no_faults(ledger, &mut violations);
    accepted_once(ledger, &mut violations);
    one_boot_per_token(ledger, |token| token.number, &mut violations);
    one_completion_per_job(ledger, &mut violations);
    no_completion_after_loss(ledger, &mut violations);
    no_early_loss(ledger, &mut violations);
    violations
}

/// What the ledger and the store show together when everything has ended.
pub fn at_the_end(ledger: &Ledger, listing: &[Found], stats: &Stats) -> Vec<Violation> {
    let mut violations = of_ledger(ledger);
    nothing_lost(ledger, listing, &mut violations);
    completed_is_succeeded(ledger, listing, &mut violations);
    figures_are_right(listing, stats, &mut violations);
    violations
}

/// What holds although a failover may have undone claims and completions that no replica had: no
/// job is lost that was accepted at the level asked for, and no token was given out twice.
pub fn after_failovers(ledger: &Ledger, listing: &[Found]) -> Vec<Violation> {
    let mut violations = Vec::new();
    no_faults(ledger, &mut violations);
    one_boot_per_token(ledger, |token| token, &mut violations);
    nothing_lost(ledger, listing, &mut violations);
    violations
}

/// Panics where something is broken, and names the first of it.
#[track_caller]
pub fn assert_none(violations: &[Violation], when: &str) {
    let named: String = violations
        .iter()
        .take(20)
        .map(|found| format!("\n  {found}"))
        .collect();
    let count = violations.len();
    assert!(violations.is_empty(), "{when}: {count} violations{named}");
}

fn broken(invariant: &'static str, what: impl Into<String>) -> Violation {
    Violation {
        invariant,
        what: what.into(),
    }
}

/// I0: no actor saw what must never happen.
fn no_faults(ledger: &Ledger, violations: &mut Vec<Violation>) {
    for (life, event) in ledger.events() {
        if let Event::Fault(what) = event {
            violations.push(broken("I0", format!("{}: {what}", life.name)));
        }
    }
}

/// I1, at any moment: an id is accepted once, and a job that is kept is never gone.
fn accepted_once(ledger: &Ledger, violations: &mut Vec<Violation>) {
    let mut accepted = BTreeSet::new();
    for (life, event) in ledger.events() {
        match event {
            Event::Accepted(id) if !accepted.insert(id) => {
                violations.push(broken(
                    "I1",
                    format!("{id} was accepted again, by {}", life.name),
                ));
            }
            Event::Told(OutcomeStatus::Gone, hold) => {
                violations.push(broken(
                    "I1",
                    format!("{} is gone, {} was told", hold.id, life.name),
                ));
            }
            _ => {}
        }
    }
}

/// I1, at the end: what was answered is there once and has ended; what was asked and not answered
/// is there once or not at all; nothing else is there.
fn nothing_lost(ledger: &Ledger, listing: &[Found], violations: &mut Vec<Violation>) {
    let mut found: BTreeMap<&JobId, Vec<JobState>> = BTreeMap::new();
    for (id, state) in listing {
        found.entry(id).or_default().push(*state);
    }
    let mut asked = BTreeSet::new();
    for (life, event) in ledger.events() {
        match event {
            Event::Asking(ids) => asked.extend(ids),
            Event::Accepted(id) | Event::Duplicate(id) if !found.contains_key(id) => {
                violations.push(broken(
                    "I1",
                    format!("{id}, answered to {}, is lost", life.name),
                ));
            }
            _ => {}
        }
    }
    for (id, states) in found {
        if states.len() > 1 {
            violations.push(broken(
                "I1",
                format!("{id} is there {} times", states.len()),
            ));
        }
        for state in states.into_iter().filter(|state| !state.is_final()) {
            violations.push(broken("I1", format!("{id} is still {state}")));
        }
        if !asked.contains(id) {
            violations.push(broken("I1", format!("nobody asked for {id}")));
        }
    }
}

/// I2: a token's number was given to one life of one worker only; across a failover, the token.
fn one_boot_per_token<T: Ord>(
    ledger: &Ledger,
    part: impl Fn(Token) -> T,
    violations: &mut Vec<Violation>,
) {
    let mut holders: BTreeMap<T, &Life> = BTreeMap::new();
    for (life, event) in ledger.events() {
        if let Event::Claimed(hold) = event {
            let holder = holders.entry(part(hold.token)).or_insert(life);
            if !std::ptr::eq(*holder, life) {
                violations.push(broken(
                    "I2",
                    format!(
                        "{} went to {} and to {}",
                        hold.token, holder.name, life.name
                    ),
                ));
            }
        }
    }
}

/// I3, at any moment: at most one token is told that it completed a job.
fn one_completion_per_job(ledger: &Ledger, violations: &mut Vec<Violation>) {
    let mut completed: BTreeMap<&JobId, Token> = BTreeMap::new();
    for (_, event) in ledger.events() {
        if let Event::Told(OutcomeStatus::Completed, hold) = event {
            let first = *completed.entry(&hold.id).or_insert(hold.token);
            if first != hold.token {
                violations.push(broken(
                    "I3",
                    format!("{} was completed by {first} and {}", hold.id, hold.token),
                ));
            }
        }
    }
}

/// I3, at the end: a job whose completion was told has succeeded.
fn completed_is_succeeded(ledger: &Ledger, listing: &[Found], violations: &mut Vec<Violation>) {
    let states: BTreeMap<_, _> = listing.iter().map(|(id, state)| (id, *state)).collect();
    for (life, event) in ledger.events() {
        if let Event::Told(OutcomeStatus::Completed, hold) = event {
            let state = states.get(&hold.id);
            if state != Some(&JobState::Succeeded) {
                let state = state.map_or("lost", |state| state.as_str());
                violations.push(broken(
                    "I3",
                    format!("{}, completed by {}, is {state}", hold.id, life.name),
                ));
            }
        }
    }
}

/// I4: a token that was told a job has left it otherwise is never told `completed` for it later.
fn no_completion_after_loss(ledger: &Ledger, violations: &mut Vec<Violation>) {
    for life in &ledger.lives {
        let mut left: BTreeMap<(&JobId, Token), OutcomeStatus> = BTreeMap::new();
        for line in &life.lines {
            let Event::Told(how, hold) = &line.event else {
                continue;
            };
            let before = left.get(&(&hold.id, hold.token));
            if let (OutcomeStatus::Completed, Some(before)) = (how, before) {
                violations.push(broken(
                    "I4",
                    format!("{} of {} was {before}, then completed", hold.id, hold.token),
                ));
            }
            if *how != OutcomeStatus::Completed {
                left.entry((&hold.id, hold.token)).or_insert(*how);
            }
        }
    }
}

/// I5: no job is taken from a holder before its lease ends, counted from the call that last
/// asked for the lease.
fn no_early_loss(ledger: &Ledger, violations: &mut Vec<Violation>) {
    for life in &ledger.lives {
        for (hold, early_us) in early_losses(life) {
            violations.push(broken(
                "I5",
                format!(
                    "{} lost {} under {} at least {early_us} us before its lease ended",
                    life.name, hold.id, hold.token
                ),
            ));
        }
    }
}

fn early_losses(life: &Life) -> Vec<(&JobLease, u64)> {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let lease_us = micros(LEASE.saturating_sub(CLOCK_SLACK));
    let (mut claiming_us, mut renewing_us) = (0, 0);
    let mut safe_until: BTreeMap<Token, u64> = BTreeMap::new();
    let mut left: BTreeSet<(&JobId, Token)> = BTreeSet::new();
    let mut early = Vec::new();
    for line in &life.lines {
        match &line.event {
            Event::Claiming => claiming_us = line.at_us,
            Event::Renewing => renewing_us = line.at_us,
            Event::Claimed(hold) => {
                safe_until.insert(hold.token, claiming_us + lease_us);
            }
            Event::Renewed(token) => {
                safe_until.insert(*token, renewing_us + lease_us);
            }
            Event::Told(how, hold) => {
                let is_first = left.insert((&hold.id, hold.token));
                let until = safe_until.get(&hold.token).copied().unwrap_or_default();
                if *how == OutcomeStatus::LeaseLost && is_first && line.at_us < until {
                    early.push((hold, until - line.at_us));
                }
            }
            _ => {}
        }
    }
    early
}

/// I8: the store's figures are what counting gives.
fn figures_are_right(listing: &[Found], stats: &Stats, violations: &mut Vec<Violation>) {
    let kept = [
        (JobState::Scheduled, stats.scheduled),
        (JobState::Ready, stats.ready),
        (JobState::Running, stats.running),
        (JobState::Succeeded, stats.succeeded),
        (JobState::Dead, stats.dead),
        (JobState::Cancelled, stats.cancelled),
    ];
    for (state, figure) in kept {
        let counted = listing.iter().filter(|(_, found)| *found == state).count() as u64;
        if counted != figure {
            violations.push(broken(
                "I8",
                format!("the store says {figure} {state}, there are {counted}"),
            ));
        }
    }
}

#[cfg(test)]
mod tests;
