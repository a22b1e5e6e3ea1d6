//! The counters of a queue, updated with every change so that stats never count rows.

use std::fmt::Write;

use windlass_core::queue::MinuteCount;
use windlass_core::store::{Rates, Stats, Totals};
use windlass_core::{JobState, Priority, Timestamp};

use crate::error::{TxError, TxResult};

/// Larger than any real counter; larger stored values are corrupt and could overflow sums.
const NUMBER_MAX: u64 = u64::MAX / 1024;

/// Enough for the counters of most queues as text.
const TEXT_CAPACITY: usize = 128;

/// Counters of one queue, stored as numbers in field order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) ready: [u64; Priority::COUNT],
    pub(crate) scheduled: u64,
    pub(crate) running: u64,
    pub(crate) succeeded: FinishedCounter,
    pub(crate) dead: FinishedCounter,
    pub(crate) cancelled: FinishedCounter,
    /// Bytes of all stored jobs.
    pub(crate) bytes: u64,
    pub(crate) tombstones: u64,
    pub(crate) total: Totals,
    pub(crate) enqueued: MinuteCount,
    pub(crate) ended: MinuteCount,
    pub(crate) pending: u64,
    pub(crate) schedules: u64,
    /// Tombstones of unique keys.
    pub(crate) held_keys: u64,
    /// Ready and running jobs with a group.
    pub(crate) grouped_ready: u64,
    pub(crate) grouped_running: u64,
    /// The last turn of any group, and of the jobs without a group.
    pub(crate) turn: u64,
    pub(crate) ungrouped_turn: u64,
    /// Until when a snooze lets the queue rest. Not a column: that would cost every call.
    pub(crate) resting_until: u64,
    /// Attempts failed since the queue was created.
    pub(crate) failed: u64,
    /// The second of the last sample of the history, so that a claim need not read it.
    pub(crate) sampled_s: u64,
}

/// Finished jobs of one state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FinishedCounter {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

impl Counters {
    /// Every number, in storage order.
    fn numbers(&mut self) -> impl Iterator<Item = &mut u64> {
        let finished = [&mut self.succeeded, &mut self.dead, &mut self.cancelled];
        let finished = finished.map(|finished| [&mut finished.count, &mut finished.bytes]);
        let total = &mut self.total;
        let minutes = [&mut self.enqueued, &mut self.ended]
            .map(|count| [&mut count.minute, &mut count.this, &mut count.last]);
        let all = self.ready.iter_mut();
        all.chain([&mut self.scheduled, &mut self.running])
            .chain(finished.into_iter().flatten())
            .chain([&mut self.bytes, &mut self.tombstones])
            .chain([&mut total.enqueued, &mut total.succeeded, &mut total.dead])
            .chain([&mut total.cancelled, &mut total.rescued])
            .chain(minutes.into_iter().flatten())
            .chain([&mut self.pending, &mut self.schedules])
            .chain([&mut self.held_keys])
            .chain([&mut self.grouped_ready, &mut self.grouped_running])
            .chain([&mut self.turn, &mut self.ungrouped_turn])
            .chain([&mut self.resting_until])
            .chain([&mut self.failed, &mut self.sampled_s])
    }

    /// Adds the difference between counted and stored values of an earlier snapshot.
    pub(crate) fn repair(&mut self, stored: &Self, counted: &Self) {
        let (mut stored, mut counted) = (stored.clone(), counted.clone());
        let found = stored.numbers().zip(counted.numbers());
        for (number, (stored, counted)) in self.numbers().zip(found) {
            *number = (*number + *counted).saturating_sub(*stored);
        }
    }

    pub(crate) fn write(&self) -> String {
        let mut text = String::with_capacity(TEXT_CAPACITY);
        for number in self.clone().numbers() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{number} ");
        }
        text.pop();
        text
    }

    pub(crate) fn read(text: &str) -> TxResult<Self> {
        let mut counters = Self::default();
        let mut fields = text.split(' ');
        for number in counters.numbers() {
            // A version that does not know the last ones omits them.
            let field = fields.next().unwrap_or("0");
            *number = field
                .parse()
                .ok()
                .filter(|number| *number <= NUMBER_MAX)
                .ok_or_else(|| TxError::corrupt("stats", text))?;
        }
        Ok(counters)
    }

    /// Counts a live job that entered a state.
    pub(crate) fn enter(&mut self, state: JobState, priority: Priority) {
        *self.live(state, priority) += 1;
    }

    /// Counts a live job that left a state. A counter that is too low stays at 0 until an audit
    /// repairs it.
    pub(crate) fn leave(&mut self, state: JobState, priority: Priority) {
        let counter = self.live(state, priority);
        *counter = counter.saturating_sub(1);
    }

    /// Replaces the counted bytes of a job.
    pub(crate) fn resize(&mut self, from: u64, to: u64) {
        self.bytes = self.bytes.saturating_sub(from) + to;
    }

    /// Counts a finished job that is kept.
    pub(crate) fn add_finished(&mut self, state: JobState, bytes: u64) {
        let finished = self.finished(state);
        finished.count += 1;
        finished.bytes += bytes;
    }

    /// Uncounts a finished job.
    pub(crate) fn remove_finished(&mut self, state: JobState, bytes: u64) {
        let finished = self.finished(state);
        finished.count = finished.count.saturating_sub(1);
        finished.bytes = finished.bytes.saturating_sub(bytes);
    }

    /// The counter of a final state.
    pub(crate) fn finished(&mut self, state: JobState) -> &mut FinishedCounter {
        match state {
            JobState::Succeeded => &mut self.succeeded,
            JobState::Dead => &mut self.dead,
            _ => &mut self.cancelled,
        }
    }

    fn live(&mut self, state: JobState, priority: Priority) -> &mut u64 {
        match state {
            JobState::Pending => &mut self.pending,
            JobState::Scheduled => &mut self.scheduled,
            JobState::Ready => &mut self.ready[priority.index()],
            _ => &mut self.running,
        }
    }

    /// The public stats.
    pub(crate) fn stats(&self, now: Timestamp) -> Stats {
        Stats {
            ready: self.ready.iter().sum(),
            ready_by_priority: self.ready,
            pending: self.pending,
            scheduled: self.scheduled,
            schedules: self.schedules,
            running: self.running,
            succeeded: self.succeeded.count,
            dead: self.dead.count,
            cancelled: self.cancelled.count,
            bytes: self.bytes,
            total: self.total,
            last_minute: Rates {
                enqueued: self.enqueued.last_minute(now),
                finished: self.ended.last_minute(now),
            },
            ..Stats::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_back_as_written() {
        let mut counters = Counters::default();
        for (index, number) in counters.numbers().enumerate() {
            *number = index as u64 * 7;
        }
        assert_eq!(Counters::read(&counters.write()).unwrap(), counters);
        assert!(Counters::read("1 2 x").is_err());
    }
}
