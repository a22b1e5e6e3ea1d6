//! The instants of a pattern, in order, across changes of the clock.
//!
//! A fixed time inside a gap fires at the first moment after the gap; a fixed time that occurs twice fires the
//! first time. Patterns with `*`, ranges or steps in hour or minute skip the gap and fire in both occurrences.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use croner::{CronIterator, Direction};
use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use windlass_core::Timestamp;

use crate::parse::CronPattern;

/// The instants of a pattern after a time; made by [`CronPattern::after`].
#[derive(Debug)]
pub struct Instants {
    after: jiff::Timestamp,
    times: CronIterator<DateTime>,
    zone: TimeZone,
    is_fixed: bool,
    /// Instants that were found and may not be the next one: the second occurrence of a time comes after the
    /// first occurrence of later times.
    found: BinaryHeap<Reverse<jiff::Timestamp>>,
    /// No later time has an instant before this one.
    complete_until: jiff::Timestamp,
    is_over: bool,
}

impl CronPattern {
    /// Returns the instants after this time.
    pub fn after(&self, time: Timestamp) -> Instants {
        let ms = i64::try_from(time.as_ms()).unwrap_or(i64::MAX);
        let after = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX);
        let local = self.zone.to_datetime(after);
        // In the first of two occurrences, earlier times are still to come again.
        let start = match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Fold { before, after } => {
                local.checked_sub(length(before, after)).unwrap_or(local)
            }
            _ => local,
        };
        Instants {
            after,
            times: self.cron.iter_from(start, Direction::Forward),
            zone: self.zone.clone(),
            is_fixed: self.is_fixed,
            found: BinaryHeap::new(),
            complete_until: jiff::Timestamp::MIN,
            is_over: false,
        }
    }
}

fn length(one: Offset, other: Offset) -> SignedDuration {
    SignedDuration::from_secs(i64::from(one.seconds()) - i64::from(other.seconds())).abs()
}

impl Instants {
    /// Adds the instants of the next local time.
    fn find(&mut self) {
        let Some(time) = self.times.next() else {
            self.is_over = true;
            return;
        };
        let offset = self.zone.to_ambiguous_timestamp(time).offset();
        let at = |offset: Offset| offset.to_timestamp(time).ok();
        let (first, second) = match offset {
            AmbiguousOffset::Unambiguous { offset } => (at(offset), None),
            AmbiguousOffset::Fold { before, after } => {
                (at(before), at(after).filter(|_| !self.is_fixed))
            }
            AmbiguousOffset::Gap { before, .. } => {
                // With the offset from before the gap, its times are instants at or after its end.
                let past = at(before)
                    .and_then(|late| late.checked_add(SignedDuration::from_secs(1)).ok())
                    .and_then(|late| self.zone.preceding(late).next());
                let end = past.map(|transition| transition.timestamp());
                self.complete_until = end.unwrap_or(self.complete_until).max(self.complete_until);
                (end.filter(|_| self.is_fixed), None)
            }
        };
        if let Some(first) = first {
            self.complete_until = self.complete_until.max(first);
        }
        let new = first.into_iter().chain(second);
        self.found
            .extend(new.filter(|instant| *instant > self.after).map(Reverse));
    }
}

impl Iterator for Instants {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        loop {
            match self.found.peek() {
                Some(Reverse(next)) if self.is_over || *next <= self.complete_until => {
                    let next = *next;
                    self.found.pop();
                    // Several times in one gap fire once.
                    if next <= self.after {
                        continue;
                    }
                    self.after = next;
                    return u64::try_from(next.as_millisecond())
                        .ok()
                        .map(Timestamp::from_ms);
                }
                _ if self.is_over => return None,
                _ => self.find(),
            }
        }
    }
}
