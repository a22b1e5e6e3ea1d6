//! Figures: the numbers of a queue, packed as little-endian doubles.

use windlass_core::limits::NUMBER_MAX;
use windlass_core::queue::MinuteCount;
use windlass_core::{Error, ErrorKind, Priority, Rates, Result, Stats, Timestamp, Totals};

use super::damaged;

/// How many figures a queue has.
const COUNT: usize = 47;

/// The layout that this version writes.
const SCHEMA: u64 = 1;

// Where each figure stands, counted from 1 as in the scripts.
const AT_SCHEMA: usize = 1;
const AT_MARK: usize = 2;
const AT_PAUSED: usize = 4;
const AT_BYTES: usize = 8;
const AT_TOTALS: usize = 12;
const AT_ENQUEUED_MINUTE: usize = 17;
const AT_ENDED_MINUTE: usize = 20;
const AT_READY: usize = 26;
const AT_PARTITIONS: usize = 46;

/// The numbers of one queue.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figures([f64; COUNT]);

/// What is counted by Redis itself or seen at the heads: with the figures it makes the stats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) scheduled: u64,
    pub(crate) running: u64,
    pub(crate) succeeded: u64,
    pub(crate) dead: u64,
    pub(crate) cancelled: u64,
    /// The earliest due time among the heads of the ready lists and the suspects.
    pub(crate) oldest_due: Option<Timestamp>,
    /// The earliest due time of a scheduled job.
    pub(crate) next_due: Option<Timestamp>,
}

impl Figures {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let figures = Self(unpack("figures", bytes)?);
        let schema = figures.count(AT_SCHEMA);
        if schema > SCHEMA {
            return Err(newer(schema));
        }
        Ok(figures)
    }

    /// The latest time any step that changed something has seen, in microseconds.
    pub(crate) fn mark_us(&self) -> u64 {
        self.count(AT_MARK)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.count(AT_PAUSED) != 0
    }

    /// Bytes of all jobs.
    pub(crate) fn bytes(&self) -> u64 {
        self.count(AT_BYTES)
    }

    /// Ready jobs by priority, suspects included.
    pub(crate) fn ready(&self) -> [u64; Priority::COUNT] {
        std::array::from_fn(|priority| self.count(AT_READY + priority))
    }

    /// Over how many partitions the queue is spread.
    pub(crate) fn partitions(&self) -> u32 {
        u32::try_from(self.count(AT_PARTITIONS))
            .unwrap_or(u32::MAX)
            .max(1)
    }

    /// The figures as callers are told them. A counter that a hand in the database sent below zero
    /// is shown as zero until the audit mends it.
    pub(crate) fn stats(&self, now: Timestamp, counts: &Counts) -> Stats {
        let total = |index: usize| self.count(AT_TOTALS + index);
        let ready_by_priority = self.ready();
        Stats {
            ready: ready_by_priority.iter().sum(),
            ready_by_priority,
            scheduled: counts.scheduled,
            running: counts.running,
            succeeded: counts.succeeded,
            dead: counts.dead,
            cancelled: counts.cancelled,
            bytes: self.bytes(),
            oldest_ms: counts
                .oldest_due
                .map(|due| now.as_ms().saturating_sub(due.as_ms())),
            next_due_ms: counts
                .next_due
                .map(|due| due.as_ms().saturating_sub(now.as_ms())),
            is_paused: self.is_paused(),
            total: Totals {
                enqueued: total(0),
                succeeded: total(1),
                dead: total(2),
                cancelled: total(3),
                rescued: total(4),
            },
            last_minute: Rates {
                enqueued: self.minute(AT_ENQUEUED_MINUTE).last_minute(now),
                finished: self.minute(AT_ENDED_MINUTE).last_minute(now),
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
        reason = "the cast stops at zero and at the largest number"
    )]
    fn count(&self, at: usize) -> u64 {
        self.0[at - 1] as u64
    }
}

fn newer(schema: u64) -> Error {
    Error::new(
        ErrorKind::StoreNewer,
        format!("the queue was written by a newer Windlass: it has schema {schema}"),
        "upgrade this program; nothing was changed",
    )
}

/// Packs numbers as scripts read them.
#[cfg(test)]
pub(super) fn pack(numbers: &[f64]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

/// Reads packed numbers: exactly so many.
pub(super) fn unpack<const N: usize>(part: &str, bytes: &[u8]) -> Result<[f64; N]> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    let numbers: Vec<f64> = numbers.iter().copied().map(f64::from_le_bytes).collect();
    if !rest.is_empty() || !numbers.iter().all(|number| number.is_finite()) {
        return Err(damaged(part, "a number in them is none"));
    }
    let count = numbers.len();
    <[f64; N]>::try_from(numbers)
        .map_err(|_| damaged(part, format!("there are {count} of them, not {N}")))
}

/// A whole number from 0 that a double holds exactly.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is whole, positive and within bounds"
)]
pub(crate) fn whole(number: f64) -> Option<u64> {
    let is_whole = (0.0..=double(NUMBER_MAX)).contains(&number) && number.fract() == 0.0;
    is_whole.then_some(number as u64)
}

/// A number as a double; exact up to 2^53.
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

    /// Figures in which each stands for itself: the third is 3.
    fn counted() -> [f64; COUNT] {
        std::array::from_fn(|index| double(index as u64 + 1))
    }

    #[test]
    fn each_figure_is_found_in_its_place() {
        let figures = Figures::read(&pack(&counted())).unwrap();

        assert_eq!((figures.mark_us(), figures.bytes()), (2, 8));
        assert_eq!(figures.partitions(), 46);
        let counts = Counts {
            scheduled: 101,
            running: 102,
            succeeded: 103,
            dead: 104,
            cancelled: 105,
            oldest_due: None,
            next_due: None,
        };
        // The 17th minute since 1970 has begun: 18 were enqueued in it so far, 19 in the last.
        let now = Timestamp::from_ms(17 * 60_000);
        let expected = Stats {
            ready: (26..=35).sum(),
            ready_by_priority: std::array::from_fn(|index| 26 + index as u64),
            scheduled: 101,
            running: 102,
            succeeded: 103,
            dead: 104,
            cancelled: 105,
            bytes: 8,
            oldest_ms: None,
            next_due_ms: None,
            is_paused: true,
            total: Totals {
                enqueued: 12,
                succeeded: 13,
                dead: 14,
                cancelled: 15,
                rescued: 16,
            },
            last_minute: Rates {
                enqueued: 19,
                finished: 0,
            },
        };
        assert_eq!(figures.stats(now, &counts), expected);
    }

    #[test]
    fn waits_are_told_from_now_and_never_below_zero() {
        let figures = Figures::read(&pack(&counted())).unwrap();
        let at = |ms| Some(Timestamp::from_ms(ms));
        let waits = |oldest_due, next_due| {
            let counts = Counts {
                oldest_due,
                next_due,
                ..Counts::default()
            };
            let stats = figures.stats(Timestamp::from_ms(1_000), &counts);
            (stats.oldest_ms, stats.next_due_ms)
        };
        assert_eq!(waits(at(400), at(1_300)), (Some(600), Some(300)));
        assert_eq!(waits(at(1_400), at(300)), (Some(0), Some(0)));
    }

    #[test]
    fn a_counter_below_zero_is_shown_as_zero() {
        let mut numbers = counted();
        numbers[AT_BYTES - 1] = -5.0;
        let figures = Figures::read(&pack(&numbers)).unwrap();
        assert_eq!(figures.bytes(), 0);
    }

    #[test]
    fn damaged_and_newer_figures_are_refused() {
        let kind = |bytes: &[u8]| Figures::read(bytes).unwrap_err().kind();
        let mut numbers = counted();
        assert_eq!(kind(b""), ErrorKind::StoreDamaged);
        assert_eq!(kind(&pack(&numbers[1..])), ErrorKind::StoreDamaged);
        assert_eq!(kind(&[0; 377]), ErrorKind::StoreDamaged);
        numbers[20] = f64::NAN;
        assert_eq!(kind(&pack(&numbers)), ErrorKind::StoreDamaged);
        numbers = counted();
        numbers[0] = 2.0;
        assert_eq!(kind(&pack(&numbers)), ErrorKind::StoreNewer);
    }
}
