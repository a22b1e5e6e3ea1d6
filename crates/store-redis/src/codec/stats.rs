//! The stats of a queue, packed as little-endian doubles.

use windlass_core::limits::NUMBER_MAX;
use windlass_core::queue::MinuteCount;
use windlass_core::store::{Rates, Stats, Totals};
use windlass_core::{Error, ErrorKind, Priority, Result, Timestamp};

use super::damaged;
use super::names::{
    BYTES, CLOCK_MARK, ENDED_MINUTE, ENQUEUED_MINUTE, GROUPS_SCHEMA, PARTITIONS, PAUSED, READY,
    SCHEMA, STALE_ENTRIES, STATS_COUNT, TOTAL_CANCELLED, TOTAL_DEAD, TOTAL_ENQUEUED, TOTAL_RESCUED,
    TOTAL_SUCCEEDED,
};

/// The stored stats of one queue.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StatsRecord([f64; STATS_COUNT]);

/// Counts and times that are not stored in the stats but read from other keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StateCounts {
    pub(crate) pending: u64,
    pub(crate) scheduled: u64,
    pub(crate) running: u64,
    pub(crate) succeeded: u64,
    pub(crate) dead: u64,
    pub(crate) cancelled: u64,
    /// The earliest due time among the heads of the ready lists and the suspects.
    pub(crate) oldest_due: Option<Timestamp>,
    pub(crate) schedules: u64,
    /// The earliest due time of a scheduled job or an instant of a schedule, or end of a rest or a closed rate.
    pub(crate) next_due: Option<Timestamp>,
    /// Until when the queue rests.
    pub(crate) resting_until: Timestamp,
}

impl StatsRecord {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let stats = Self(unpack("stats", bytes)?);
        let schema = stats.count(SCHEMA);
        if schema > GROUPS_SCHEMA {
            return Err(newer(schema));
        }
        Ok(stats)
    }

    /// The time of the latest change, in microseconds.
    pub(crate) fn mark_us(&self) -> u64 {
        self.count(CLOCK_MARK)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.count(PAUSED) != 0
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.count(BYTES)
    }

    /// Ready jobs by priority, suspects included.
    pub(crate) fn ready(&self) -> [u64; Priority::COUNT] {
        std::array::from_fn(|priority| self.count(READY + priority))
    }

    pub(crate) fn partitions(&self) -> u32 {
        u32::try_from(self.count(PARTITIONS))
            .unwrap_or(u32::MAX)
            .max(1)
    }

    /// The stats as callers see them. A negative counter, which only manual changes in Redis can cause,
    /// is shown as 0 until an audit corrects it.
    pub(crate) fn stats(&self, now: Timestamp, counts: &StateCounts) -> Stats {
        let ready_by_priority = self.ready();
        Stats {
            ready: ready_by_priority.iter().sum(),
            ready_by_priority,
            pending: counts.pending,
            scheduled: counts.scheduled,
            running: counts.running,
            succeeded: counts.succeeded,
            dead: counts.dead,
            cancelled: counts.cancelled,
            bytes: self.bytes(),
            schedules: counts.schedules,
            stale_entries: self.count(STALE_ENTRIES),
            oldest_ms: counts
                .oldest_due
                .map(|due| now.as_ms().saturating_sub(due.as_ms())),
            next_due_ms: counts
                .next_due
                .map(|due| due.as_ms().saturating_sub(now.as_ms())),
            is_paused: self.is_paused(),
            resting_ms: (counts.resting_until > now)
                .then(|| counts.resting_until.as_ms() - now.as_ms()),
            total: Totals {
                enqueued: self.count(TOTAL_ENQUEUED),
                succeeded: self.count(TOTAL_SUCCEEDED),
                dead: self.count(TOTAL_DEAD),
                cancelled: self.count(TOTAL_CANCELLED),
                rescued: self.count(TOTAL_RESCUED),
            },
            last_minute: Rates {
                enqueued: self.minute(ENQUEUED_MINUTE).last_minute(now),
                finished: self.minute(ENDED_MINUTE).last_minute(now),
            },
        }
    }

    fn minute(&self, at: usize) -> MinuteCount {
        MinuteCount {
            minute: self.count(at),
            this: self.count(at + 1),
            last: self.count(at + 2),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates"
    )]
    fn count(&self, at: usize) -> u64 {
        // A larger number is not exact and only a manual change can cause it; sums must not overflow.
        (self.0[at - 1] as u64).min(NUMBER_MAX)
    }
}

fn newer(schema: u64) -> Error {
    Error::new(
        ErrorKind::StoreNewer,
        format!("the queue was written by a newer Windlass (schema {schema})"),
        "upgrade this program; nothing was changed",
    )
}

/// Packs numbers.
#[cfg(test)]
pub(super) fn pack(numbers: &[f64]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

/// Unpacks exactly `N` numbers.
pub(super) fn unpack<const N: usize>(kind: &str, bytes: &[u8]) -> Result<[f64; N]> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    let numbers: Vec<f64> = numbers.iter().copied().map(f64::from_le_bytes).collect();
    if !rest.is_empty() || !numbers.iter().all(|number| number.is_finite()) {
        return Err(damaged(kind, "invalid number"));
    }
    let count = numbers.len();
    <[f64; N]>::try_from(numbers)
        .map_err(|_| damaged(kind, format!("expected {N} numbers, got {count}")))
}

/// Converts a double to a whole number from 0 to 2^53.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is whole and in range"
)]
pub(crate) fn whole_number(number: f64) -> Option<u64> {
    let is_whole = (0.0..=double(NUMBER_MAX)).contains(&number) && number.fract() == 0.0;
    is_whole.then_some(number as u64)
}

/// Converts a number to a double; exact up to 2^53.
#[expect(
    clippy::cast_precision_loss,
    reason = "stored numbers stay within 2^53"
)]
pub(crate) const fn double(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stats in which each value is its position: the third is 3.
    fn counted() -> [f64; STATS_COUNT] {
        std::array::from_fn(|index| double(index as u64 + 1))
    }

    #[test]
    fn each_stat_is_read_from_its_position() {
        let record = StatsRecord::read(&pack(&counted())).unwrap();

        assert_eq!((record.mark_us(), record.bytes()), (2, 8));
        assert_eq!(record.partitions(), 16);
        let counts = StateCounts {
            pending: 100,
            scheduled: 101,
            running: 102,
            succeeded: 103,
            dead: 104,
            cancelled: 105,
            schedules: 106,
            oldest_due: None,
            next_due: None,
            resting_until: Timestamp::default(),
        };
        // In minute 11 since 1970: 12 jobs were enqueued in it so far, 13 in the minute before.
        let now = Timestamp::from_ms(11 * 60_000);
        let expected = Stats {
            ready: (21..=30).sum(),
            ready_by_priority: std::array::from_fn(|index| 21 + index as u64),
            pending: 100,
            scheduled: 101,
            running: 102,
            succeeded: 103,
            dead: 104,
            cancelled: 105,
            bytes: 8,
            schedules: 106,
            stale_entries: 7,
            oldest_ms: None,
            next_due_ms: None,
            is_paused: true,
            resting_ms: None,
            total: Totals {
                enqueued: 9,
                succeeded: 10,
                dead: 45,
                cancelled: 46,
                rescued: 47,
            },
            last_minute: Rates {
                enqueued: 12 + 13,
                finished: 0,
            },
        };
        assert_eq!(record.stats(now, &counts), expected);
    }

    #[test]
    fn a_damaged_number_is_shown_as_a_number_without_overflow() {
        for damaged in [f64::INFINITY, f64::MAX, f64::NAN, -1.0] {
            let record = StatsRecord([damaged; STATS_COUNT]);
            let now = Timestamp::from_ms(60_000);
            let stats = record.stats(now, &StateCounts::default());
            assert!(stats.ready <= NUMBER_MAX * Priority::COUNT as u64);
        }
    }

    #[test]
    fn waits_are_relative_to_now_and_never_negative() {
        let record = StatsRecord::read(&pack(&counted())).unwrap();
        let at = |ms| Some(Timestamp::from_ms(ms));
        let waits = |oldest_due, next_due| {
            let counts = StateCounts {
                oldest_due,
                next_due,
                ..StateCounts::default()
            };
            let stats = record.stats(Timestamp::from_ms(1_000), &counts);
            (stats.oldest_ms, stats.next_due_ms)
        };
        assert_eq!(waits(at(400), at(1_300)), (Some(600), Some(300)));
        assert_eq!(waits(at(1_400), at(300)), (Some(0), Some(0)));
    }

    #[test]
    fn a_negative_counter_is_shown_as_zero() {
        let mut numbers = counted();
        numbers[BYTES - 1] = -5.0;
        let record = StatsRecord::read(&pack(&numbers)).unwrap();
        assert_eq!(record.bytes(), 0);
    }

    #[test]
    fn damaged_and_newer_stats_are_rejected() {
        let kind = |bytes: &[u8]| StatsRecord::read(bytes).unwrap_err().kind();
        let mut numbers = counted();
        assert_eq!(kind(b""), ErrorKind::StoreDamaged);
        assert_eq!(kind(&pack(&numbers[1..])), ErrorKind::StoreDamaged);
        assert_eq!(kind(&[0; 377]), ErrorKind::StoreDamaged);
        numbers[20] = f64::NAN;
        assert_eq!(kind(&pack(&numbers)), ErrorKind::StoreDamaged);
        numbers = counted();
        numbers[0] = 4.0;
        assert_eq!(kind(&pack(&numbers)), ErrorKind::StoreNewer);
    }
}
