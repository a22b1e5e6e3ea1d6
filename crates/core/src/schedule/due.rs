//! Which due instants of a schedule fire. Pure arithmetic, with the same result in every store.

use std::time::Duration;

use super::{KNOWN_FOREVER, Missed, Schedule};
use crate::limits::{FRESH_FOR, INSTANTS_AHEAD_LOW, INSTANTS_LOW};
use crate::time::{Timestamp, as_ms};

/// An instant of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedInstant {
    /// The instant, in whole seconds.
    pub at: Timestamp,
    /// How long after the instant the job is enqueued.
    pub jitter: Duration,
}

impl PlannedInstant {
    /// Returns when the job is enqueued.
    pub fn fires_at(self) -> Timestamp {
        self.at.plus(self.jitter)
    }
}

/// The due instants of a schedule, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueInstants(Vec<(PlannedInstant, bool)>);

impl DueInstants {
    /// Takes the due instants from the front of `instants`. One that is not due ends them, so that instants
    /// are settled in order.
    pub fn take(schedule: &Schedule, instants: &mut Vec<PlannedInstant>, now: Timestamp) -> Self {
        let count = instants
            .iter()
            .take_while(|instant| instant.fires_at() <= now);
        let due: Vec<_> = instants.drain(..count.count()).collect();
        let age = |instant: &PlannedInstant| now.since(instant.fires_at());
        let fresh = due
            .iter()
            .filter(|instant| age(instant) <= FRESH_FOR)
            .count();
        let catches_up = match schedule.missed {
            Missed::Skip => 0,
            Missed::Last => usize::from(fresh == 0),
            Missed::All(count) => count,
        };
        let first = due.len().saturating_sub(fresh + catches_up);
        let fires = |(index, instant): (usize, PlannedInstant)| {
            let is_caught_up = index >= first && age(&instant) < schedule.catch_up;
            (instant, age(&instant) <= FRESH_FOR || is_caught_up)
        };
        Self(due.into_iter().enumerate().map(fires).collect())
    }

    /// Returns the instants, and whether each fires. The others are missed.
    pub fn iter(&self) -> impl Iterator<Item = (PlannedInstant, bool)> {
        self.0.iter().copied()
    }
}

/// Returns when a schedule asks for more instants, if ever: once it has few and does not know them far ahead,
/// and in any case once it does not know all instants until now.
pub fn next_refill(instants: &[PlannedInstant], known_until: Timestamp) -> Option<Timestamp> {
    if known_until >= KNOWN_FOREVER {
        return None;
    }
    let known_ms = known_until.as_ms();
    Some(Timestamp::from_ms(if instants.len() < INSTANTS_LOW {
        known_ms.saturating_sub(as_ms(INSTANTS_AHEAD_LOW))
    } else {
        known_ms + 1
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_asks_in_time() {
        let instant = PlannedInstant {
            at: Timestamp::default(),
            jitter: Duration::ZERO,
        };
        let known = Timestamp::default().plus(2 * INSTANTS_AHEAD_LOW);
        let asks = |count| next_refill(&vec![instant; count], known);
        assert_eq!(
            asks(INSTANTS_LOW - 1),
            Some(Timestamp::default().plus(INSTANTS_AHEAD_LOW))
        );
        assert_eq!(
            asks(INSTANTS_LOW),
            Some(Timestamp::from_ms(known.as_ms() + 1))
        );
        assert_eq!(next_refill(&[], KNOWN_FOREVER), None);
    }
}
