//! I6 and I7: which claim of a job comes last, and in which order jobs come back from a lost claim.

use std::collections::BTreeMap;

use windlass_core::{JobId, OutcomeStatus, Token};

use super::{Violation, broken};
use crate::event::{Event, JobOrder};
use crate::ledger::{Ledger, ProcessLog};

/// I6: the claim that completes a job is its last one. So no job runs again after its completion, and
/// none is completed with a lease that another process got meanwhile.
pub(super) fn completed_by_last_claim(ledger: &Ledger, violations: &mut Vec<Violation>) {
    let mut last: BTreeMap<&JobId, Token> = BTreeMap::new();
    for (_, event) in ledger.events() {
        if let Event::Claimed(lease) = event {
            let last = last.entry(&lease.id).or_insert(lease.token);
            *last = (*last).max(lease.token);
        }
    }
    for (process, event) in ledger.events() {
        if let Event::Outcome(OutcomeStatus::Completed, lease) = event
            && let Some(last) = last.get(&lease.id)
            && last.number > lease.token.number
        {
            let what = format!(
                "{} was completed by {} with {}, but claimed again with {last}",
                lease.id, process.name, lease.token
            );
            violations.push(broken("I6", what));
        }
    }
}

/// A job in a claim: the number and position of the claim, and what decides its order.
#[derive(Debug, Clone, Copy)]
struct Place {
    at: (u64, usize),
    order: JobOrder,
}

/// I7: jobs of a claim whose lease expired are claimed again in the order of that claim.
pub(super) fn back_in_claim_order(ledger: &Ledger, violations: &mut Vec<Violation>) {
    let mut places: BTreeMap<&JobId, Vec<Place>> = BTreeMap::new();
    let claims: Vec<_> = ledger.processes.iter().flat_map(claims).collect();
    for claim in &claims {
        for (index, (id, order)) in claim.jobs.iter().enumerate() {
            let at = (claim.token.number, index);
            places
                .entry(id)
                .or_default()
                .push(Place { at, order: *order });
        }
    }
    // The first claim after this one, if the lease of this one is all that expired until then.
    let next = |claim: &LoggedClaim<'_>, id: &JobId, order: JobOrder| {
        let later = places
            .get(id)?
            .iter()
            .filter(|place| place.at.0 > claim.token.number);
        let next = later.min_by_key(|place| place.at)?;
        (next.order.expiries == order.expiries + 1).then_some(*next)
    };
    for claim in &claims {
        let expired: Vec<_> = claim.expired().collect();
        for (at, (first, order)) in expired.iter().enumerate() {
            let same = expired[at + 1..].iter().find(|(_, other)| other == order);
            let Some((second, _)) = same else { continue };
            let (Some(one), Some(other)) =
                (next(claim, first, *order), next(claim, second, *order))
            else {
                continue;
            };
            if one.order == other.order && one.at > other.at {
                let what = format!(
                    "{first} was before {second} in {}, and came back after it: {one:?}, {other:?}",
                    claim.token
                );
                violations.push(broken("I7", what));
            }
        }
    }
}

/// A claim as its process logged it.
struct LoggedClaim<'a> {
    token: Token,
    /// Its jobs in claim order; of a killed process perhaps not all of them.
    jobs: Vec<(&'a JobId, JobOrder)>,
    /// The first outcome of each job that has one.
    outcomes: BTreeMap<&'a JobId, OutcomeStatus>,
}

impl<'a> LoggedClaim<'a> {
    /// The jobs that left the claim only because its lease expired. Workers report in claim order, so
    /// the first job without a reply may be in flight. A claim without any outcome may have been given
    /// up.
    fn expired(&self) -> impl Iterator<Item = (&'a JobId, JobOrder)> {
        let in_flight = self
            .jobs
            .iter()
            .find(|(id, _)| !self.outcomes.contains_key(id));
        let is_expired = move |(id, _): &&(&JobId, JobOrder)| match self.outcomes.get(id) {
            None => in_flight.is_none_or(|(first, _)| first != id),
            Some(status) => *status == OutcomeStatus::LeaseLost,
        };
        let jobs = if self.outcomes.is_empty() {
            &[][..]
        } else {
            &self.jobs
        };
        jobs.iter().filter(is_expired).copied()
    }
}

fn claims(process: &ProcessLog) -> Vec<LoggedClaim<'_>> {
    let mut claims: BTreeMap<Token, LoggedClaim<'_>> = BTreeMap::new();
    for line in &process.lines {
        match &line.event {
            Event::Ordered(lease, order) => {
                let claim = claims.entry(lease.token).or_insert_with(|| LoggedClaim {
                    token: lease.token,
                    jobs: Vec::new(),
                    outcomes: BTreeMap::new(),
                });
                claim.jobs.push((&lease.id, *order));
            }
            Event::Outcome(status, lease) => {
                if let Some(claim) = claims.get_mut(&lease.token) {
                    claim.outcomes.entry(&lease.id).or_insert(*status);
                }
            }
            _ => {}
        }
    }
    claims.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_by(processes: &[(&str, &str)]) -> Vec<&'static str> {
        let ledger = Ledger::read(processes);
        let mut violations = Vec::new();
        completed_by_last_claim(&ledger, &mut violations);
        back_in_claim_order(&ledger, &mut violations);
        violations.iter().map(|found| found.invariant).collect()
    }

    #[test]
    fn a_completed_job_is_not_claimed_again() {
        let first = "1 claimed a 5-00000001\n2 completed a 5-00000001";
        assert_eq!(broken_by(&[("one", first)]), [""; 0]);
        let earlier = "1 claimed a 4-00000001\n2 lease_lost a 4-00000001";
        assert_eq!(broken_by(&[("one", first), ("two", earlier)]), [""; 0]);
        let later = "1 claimed a 6-00000001";
        assert_eq!(broken_by(&[("one", first), ("two", later)]), ["I6"]);
    }

    /// Claims `jobs` with a token number; each has this number of expiries.
    fn claim(number: u64, jobs: &str, expiries: u32) -> String {
        let line = |id| format!("1 ordered {id} {number}-00000001 5 1 {expiries}\n");
        jobs.split(' ').map(line).collect()
    }

    #[test]
    fn jobs_of_a_lost_claim_come_back_in_its_order() {
        let lost = format!("{}2 completed a 5-00000001", claim(5, "a b c d", 0));
        let back = |later: String| broken_by(&[("one", &lost), ("two", &later)]);

        assert_eq!(back(claim(6, "b c d", 1)), [""; 0]);
        assert_eq!(
            back(claim(6, "c b d", 1)),
            [""; 0],
            "b may have been in flight"
        );
        assert_eq!(back(claim(6, "b d c", 1)), ["I7"]);
        assert_eq!(back(claim(6, "d", 1) + &claim(7, "c", 1)), ["I7"]);
        let twice_lost = claim(6, "d", 1) + &claim(7, "c", 2);
        assert_eq!(
            back(twice_lost),
            [""; 0],
            "c may have been claimed before d"
        );

        let late = lost.clone() + "\n2 lease_lost b 5-00000001\n3 lease_lost c 5-00000001";
        let back = |later: String| broken_by(&[("one", &late), ("two", &later)]);
        assert_eq!(back(claim(6, "c b d", 1)), ["I7"]);
    }
}
