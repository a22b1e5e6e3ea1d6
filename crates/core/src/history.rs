//! The history of a queue: one row per minute, for one day, so that an operator sees throughput and waits over time.
//!
//! Stores take samples. A sample is due in the first claim or maintenance of each minute, and in the first claim of each
//! second that hands out jobs, which notes how long its first job waited. The sample of a new minute closes the row of
//! the minute before: what happened between two samples counts for the minute of the first one.

mod histogram;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

pub use histogram::Histogram;

use crate::queue::{Stats, Totals};
use crate::time::Timestamp;

/// The maximum number of rows of a queue: one day.
pub const HISTORY_MINUTES: u32 = 24 * 60;

const MINUTE_S: u64 = 60;

/// What happened in a queue in one minute, and its jobs at the end of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryRow {
    /// The start of the minute.
    pub minute: Timestamp,
    /// What happened in the minute.
    pub counts: HistoryCounts,
    /// The jobs of the queue at the end of the minute, or now if it is the last row.
    pub levels: HistoryLevels,
    /// How long jobs had waited when they were claimed: one job per second.
    pub waits: Histogram,
}

/// Counts of one minute, or since the queue was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HistoryCounts {
    /// Jobs enqueued.
    pub enqueued: u64,
    /// Jobs succeeded.
    pub succeeded: u64,
    /// Attempts failed.
    pub failed: u64,
    /// Jobs dead.
    pub dead: u64,
    /// Jobs cancelled.
    pub cancelled: u64,
    /// Jobs returned to the queue because their lease expired.
    pub rescued: u64,
}

/// Numbers of jobs by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HistoryLevels {
    /// Jobs waiting for a worker.
    pub ready: u64,
    /// Jobs waiting for their due time.
    pub scheduled: u64,
    /// Jobs leased to a worker.
    pub running: u64,
    /// Dead jobs that are kept.
    pub dead: u64,
}

impl HistoryCounts {
    /// The counts since the queue was created.
    pub const fn new(total: &Totals, failed: u64) -> Self {
        Self {
            enqueued: total.enqueued,
            succeeded: total.succeeded,
            failed,
            dead: total.dead,
            cancelled: total.cancelled,
            rescued: total.rescued,
        }
    }

    /// Returns the numbers in the order in which stores write them.
    pub const fn numbers(&self) -> [u64; 6] {
        [
            self.enqueued,
            self.succeeded,
            self.failed,
            self.dead,
            self.cancelled,
            self.rescued,
        ]
    }

    const fn from_numbers(
        [enqueued, succeeded, failed, dead, cancelled, rescued]: [u64; 6],
    ) -> Self {
        Self {
            enqueued,
            succeeded,
            failed,
            dead,
            cancelled,
            rescued,
        }
    }

    fn zip(self, other: Self, with: impl Fn(u64, u64) -> u64) -> Self {
        let (these, others) = (self.numbers(), other.numbers());
        Self::from_numbers(std::array::from_fn(|at| with(these[at], others[at])))
    }
}

impl HistoryLevels {
    const fn numbers(&self) -> [u64; 4] {
        [self.ready, self.scheduled, self.running, self.dead]
    }

    const fn from_numbers([ready, scheduled, running, dead]: [u64; 4]) -> Self {
        Self {
            ready,
            scheduled,
            running,
            dead,
        }
    }

    fn add(&mut self, other: Self) {
        let (these, others) = (self.numbers(), other.numbers());
        *self = Self::from_numbers(std::array::from_fn(|at| {
            these[at].saturating_add(others[at])
        }));
    }
}

impl From<&Stats> for HistoryLevels {
    fn from(stats: &Stats) -> Self {
        Self::from_numbers([stats.ready, stats.scheduled, stats.running, stats.dead])
    }
}

impl HistoryRow {
    /// Writes a row as text: its minute since 1970, its numbers, then its waits.
    pub fn write(&self) -> String {
        let mut text = minute_of(self.minute).to_string();
        for number in self
            .counts
            .numbers()
            .into_iter()
            .chain(self.levels.numbers())
        {
            // Writing to a string cannot fail.
            let _ = write!(text, " {number}");
        }
        text + &self.waits.write()
    }

    /// Reads a row; `None` if it is not one.
    pub fn read(text: &str) -> Option<Self> {
        let mut fields = text.split(' ');
        let minute: u64 = fields.next()?.parse().ok()?;
        Some(Self {
            minute: Timestamp::from_ms(minute.checked_mul(MINUTE_S * 1000)?),
            counts: HistoryCounts::from_numbers(numbers(&mut fields)?),
            levels: HistoryLevels::from_numbers(numbers(&mut fields)?),
            waits: Histogram::read(fields)?,
        })
    }
}

fn numbers<'a, const N: usize>(fields: &mut impl Iterator<Item = &'a str>) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = fields.next()?.parse().ok()?;
    }
    Some(numbers)
}

/// The minute that is not over: what its row needs besides the stats of the queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenMinute {
    /// The second of the last sample; 0 in a queue that has none yet.
    pub sampled_s: u64,
    /// The counts when the minute was opened.
    base: HistoryCounts,
    waits: Histogram,
}

impl OpenMinute {
    /// The state of a queue that an earlier version created: its counts until now are not part of the history.
    pub const fn unknown(counts: HistoryCounts) -> Self {
        Self {
            sampled_s: 0,
            base: counts,
            waits: Histogram::NONE,
        }
    }

    /// Returns whether a claim or maintenance takes a sample if the last one was in this second.
    pub const fn is_due(sampled_s: u64, now: Timestamp, hands_out: bool) -> bool {
        let second = now.as_ms() / 1000;
        second / MINUTE_S != sampled_s / MINUTE_S || (hands_out && second != sampled_s)
    }

    /// Takes a sample. Returns the row of the minute that is over. If the clock was set back, no minute is over: the
    /// row stays open as that of the current minute, and the store drops the rows that are not before it.
    pub fn sample(
        &mut self,
        now: Timestamp,
        counts: HistoryCounts,
        levels: HistoryLevels,
        wait: Option<Duration>,
    ) -> Option<HistoryRow> {
        let second = now.as_ms() / 1000;
        let is_over = self.sampled_s > 0 && self.sampled_s / MINUTE_S < second / MINUTE_S;
        let row = is_over.then(|| self.row(counts, levels));
        if is_over {
            (self.base, self.waits) = (counts, Histogram::NONE);
        }
        if let Some(wait) = wait {
            self.waits.note(wait);
        }
        self.sampled_s = second;
        row
    }

    /// Returns the row of the minute as it is now.
    pub fn row(&self, counts: HistoryCounts, levels: HistoryLevels) -> HistoryRow {
        let minute = self.sampled_s / MINUTE_S;
        HistoryRow {
            minute: Timestamp::from_ms(minute * MINUTE_S * 1000),
            counts: counts.zip(self.base, u64::saturating_sub),
            levels,
            waits: self.waits.clone(),
        }
    }

    /// Writes it as text: the second of the last sample, the counts, then the waits.
    pub fn write(&self) -> String {
        let mut text = self.sampled_s.to_string();
        for number in self.base.numbers() {
            let _ = write!(text, " {number}");
        }
        text + &self.waits.write()
    }

    /// Reads what [`OpenMinute::write`] wrote; `None` if it is something else.
    pub fn read(text: &str) -> Option<Self> {
        let mut fields = text.split(' ');
        Some(Self {
            sampled_s: fields.next()?.parse().ok()?,
            base: HistoryCounts::from_numbers(numbers(&mut fields)?),
            waits: Histogram::read(fields)?,
        })
    }
}

/// Returns the number of a minute since 1970.
pub const fn minute_of(time: Timestamp) -> u64 {
    time.as_ms() / (MINUTE_S * 1000)
}

/// Returns the first of the last `minutes` minutes, at most a day.
pub fn first_minute(now: Timestamp, minutes: u32) -> u64 {
    let minutes = minutes.clamp(1, HISTORY_MINUTES);
    (minute_of(now) + 1).saturating_sub(u64::from(minutes))
}

/// Merges the rows of several partitions. In a minute without a sample, a partition has as many jobs as in its row
/// before.
pub fn merge(partitions: Vec<Vec<HistoryRow>>) -> Vec<HistoryRow> {
    let minutes: BTreeSet<Timestamp> = partitions.iter().flatten().map(|row| row.minute).collect();
    let mut merged: Vec<_> = minutes
        .into_iter()
        .map(|minute| HistoryRow {
            minute,
            ..HistoryRow::default()
        })
        .collect();
    for rows in partitions {
        let (mut rows, mut levels) = (rows.into_iter().peekable(), HistoryLevels::default());
        for sum in &mut merged {
            if let Some(row) = rows.next_if(|row| row.minute == sum.minute) {
                sum.counts = sum.counts.zip(row.counts, u64::saturating_add);
                sum.waits.add(&row.waits);
                levels = row.levels;
            }
            sum.levels.add(levels);
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enqueued(enqueued: u64) -> HistoryCounts {
        HistoryCounts {
            enqueued,
            ..HistoryCounts::default()
        }
    }

    fn ready(ready: u64) -> HistoryLevels {
        HistoryLevels {
            ready,
            ..HistoryLevels::default()
        }
    }

    #[test]
    fn rows_are_read_back_as_written() {
        let mut row = HistoryRow {
            minute: Timestamp::from_ms(120_000),
            counts: HistoryCounts::from_numbers([1, 2, 3, 4, 5, 6]),
            levels: HistoryLevels::from_numbers([7, 8, 9, 10]),
            waits: Histogram::NONE,
        };
        row.waits.note(Duration::from_millis(7));
        assert_eq!(row.write(), "2 1 2 3 4 5 6 7 8 9 10 3:1");
        assert_eq!(HistoryRow::read(&row.write()), Some(row));
        for bad in [
            "",
            "2 1",
            "x 1 2 3 4 5 6 7 8 9 10",
            "2 1 2 3 4 5 6 7 8 9 10 3",
        ] {
            assert_eq!(HistoryRow::read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_open_minute_is_read_back_as_written() {
        let mut open = OpenMinute::unknown(enqueued(3));
        let wait = Some(Duration::ZERO);
        open.sample(Timestamp::from_ms(61_500), enqueued(3), ready(0), wait);
        assert_eq!(open.write(), "61 3 0 0 0 0 0 0:1");
        assert_eq!(OpenMinute::read(&open.write()), Some(open));
        assert_eq!(OpenMinute::read("61 3"), None);
    }

    #[test]
    fn partitions_are_merged_minute_by_minute() {
        let row = |minute: u64, count, level| HistoryRow {
            minute: Timestamp::from_ms(minute * 60_000),
            counts: enqueued(count),
            levels: ready(level),
            waits: Histogram::NONE,
        };
        let merged = merge(vec![
            vec![row(1, 10, 4), row(3, 30, 6)],
            vec![row(2, 5, 1), row(3, 7, 2)],
        ]);
        assert_eq!(merged, [row(1, 10, 4), row(2, 5, 5), row(3, 37, 8)]);
    }
}
