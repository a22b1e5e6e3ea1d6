//! An instant as the clock on the wall shows it, and whether a change of that clock affects it.

use jiff::tz::{AmbiguousOffset, TimeZone};
use windlass_core::Timestamp;

use crate::parse::CronPattern;
use crate::plan::Plan;

/// An instant in the time zone of its rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalInstant {
    /// RFC 3339 with the offset of the zone, such as `2026-03-29T03:00:00+02:00`.
    pub text: String,
    /// What a change of the clock does to it.
    pub note: Option<ClockNote>,
}

/// What a change of the clock does to an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockNote {
    /// Its fixed time does not exist on this day, so it fires at the first moment after the gap.
    Moved,
    /// Times of the pattern before this one do not exist on this day, so they are skipped.
    AfterGap,
    /// The clock shows its time twice; this is the first.
    FirstOfTwo,
    /// The clock shows its time twice; this is the second.
    SecondOfTwo,
}

impl ClockNote {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::AfterGap => "after_gap",
            Self::FirstOfTwo => "first_of_two",
            Self::SecondOfTwo => "second_of_two",
        }
    }
}

impl Plan {
    /// Returns an instant in the time zone of the rule, which is UTC for an interval. `previous` is the
    /// instant before it, or the time after which it is the first one.
    pub fn local(&self, previous: Timestamp, at: Timestamp) -> LocalInstant {
        let cron = self.cron();
        let zone = cron.map_or(TimeZone::UTC, |cron| cron.zone.clone());
        let zoned = time(at).to_zoned(zone);
        let text = zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
        // A gap before the first possible instant concerns none.
        let previous = previous.max(self.from());
        let note = cron.and_then(|cron| cron.note(time(previous), time(at)));
        LocalInstant { text, note }
    }
}

impl CronPattern {
    fn note(&self, previous: jiff::Timestamp, at: jiff::Timestamp) -> Option<ClockNote> {
        let local = self.zone.to_datetime(at);
        let offset = self.zone.to_ambiguous_timestamp(local).offset();
        if let AmbiguousOffset::Fold { before, .. } = offset {
            let is_first = self.zone.to_offset(at) == before;
            return Some(if is_first {
                ClockNote::FirstOfTwo
            } else {
                ClockNote::SecondOfTwo
            });
        }
        let change = self
            .zone
            .preceding(at + jiff::Span::new().seconds(1))
            .next()?;
        let moment = change.timestamp();
        if moment <= previous {
            return None;
        }
        let before = self.zone.to_offset(moment - jiff::Span::new().seconds(1));
        let (gap_start, gap_end) = (before.to_datetime(moment), self.zone.to_datetime(moment));
        let first = self.cron.find_next_occurrence(&gap_start, true).ok()?;
        (first < gap_end).then_some(if self.is_fixed {
            ClockNote::Moved
        } else {
            ClockNote::AfterGap
        })
    }
}

fn time(at: Timestamp) -> jiff::Timestamp {
    let ms = i64::try_from(at.as_ms()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use windlass_core::store::Rule;

    use super::*;

    /// The next instants in Berlin, with their notes.
    fn berlin(pattern: &str, after: &str, count: usize) -> Vec<String> {
        let rule = Rule::cron(pattern, "Europe/Berlin").expect("valid");
        let plan = Plan::new(&rule).expect("valid");
        let after: jiff::Timestamp = after.parse().expect("a time");
        let ms = u64::try_from(after.as_millisecond()).expect("after 1970");
        let instants = plan.after(Timestamp::from_ms(ms)).take(count);
        let mut previous = Timestamp::from_ms(ms);
        let show = |at| {
            let local = plan.local(previous, at);
            previous = at;
            let note = local.note.map_or("", ClockNote::as_str);
            format!("{} {note}", local.text).trim_end().to_owned()
        };
        instants.map(show).collect()
    }

    #[test]
    fn a_fixed_time_is_moved_by_a_gap_and_fires_once_in_an_overlap() {
        assert_eq!(
            berlin("30 2 * * *", "2026-03-27T12:00:00Z", 3),
            [
                "2026-03-28T02:30:00+01:00",
                "2026-03-29T03:00:00+02:00 moved",
                "2026-03-30T02:30:00+02:00",
            ]
        );
        assert_eq!(
            berlin("30 2 * * *", "2026-10-24T12:00:00Z", 2),
            [
                "2026-10-25T02:30:00+02:00 first_of_two",
                "2026-10-26T02:30:00+01:00",
            ]
        );
    }

    #[test]
    fn a_pattern_skips_a_gap_and_runs_through_both_halves_of_an_overlap() {
        assert_eq!(
            berlin("*/30 * * * *", "2026-03-29T00:15:00Z", 3),
            [
                "2026-03-29T01:30:00+01:00",
                "2026-03-29T03:00:00+02:00 after_gap",
                "2026-03-29T03:30:00+02:00",
            ]
        );
        assert_eq!(
            berlin("30 * * * *", "2026-10-24T23:45:00Z", 4),
            [
                "2026-10-25T02:30:00+02:00 first_of_two",
                "2026-10-25T02:30:00+01:00 second_of_two",
                "2026-10-25T03:30:00+01:00",
                "2026-10-25T04:30:00+01:00",
            ]
        );
    }

    #[test]
    fn a_gap_without_a_time_of_the_pattern_is_not_noted() {
        assert_eq!(
            berlin("0 12 * * *", "2026-03-28T12:00:00Z", 1),
            ["2026-03-29T12:00:00+02:00"]
        );
    }
}
