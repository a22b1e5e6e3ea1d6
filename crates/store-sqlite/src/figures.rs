//! The counters of a queue, kept with every change so that nobody ever has to count.

use windlass_core::queue::MinuteCount;
use windlass_core::{JobState, Priority, Rates, Stats, Timestamp, Totals};

use crate::fault::{Db, Fault};

/// More than anything can ever count to: with figures this large, sums would overflow.
const NUMBER_MAX: u64 = u64::MAX / 1024;

/// Counters of one queue. Written to the store as numbers in the order of the fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) ready: [u64; Priority::COUNT],
    pub(crate) scheduled: u64,
    pub(crate) running: u64,
    pub(crate) succeeded: Kept,
    pub(crate) dead: Kept,
    pub(crate) cancelled: Kept,
    /// Bytes of all stored jobs.
    pub(crate) bytes: u64,
    pub(crate) tombstones: u64,
    pub(crate) total: Totals,
    pub(crate) enqueued: MinuteCount,
    pub(crate) ended: MinuteCount,
}

/// Finished jobs of one state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

impl Figures {
    /// Every number, in the order they are stored in.
    fn numbers(&mut self) -> Vec<&mut u64> {
        let mut all: Vec<&mut u64> = self.ready.iter_mut().collect();
        all.extend([&mut self.scheduled, &mut self.running]);
        for kept in [&mut self.succeeded, &mut self.dead, &mut self.cancelled] {
            all.extend([&mut kept.count, &mut kept.bytes]);
        }
        all.extend([&mut self.bytes, &mut self.tombstones]);
        let total = &mut self.total;
        all.extend([&mut total.enqueued, &mut total.succeeded, &mut total.dead]);
        all.extend([&mut total.cancelled, &mut total.rescued]);
        for count in [&mut self.enqueued, &mut self.ended] {
            all.extend([&mut count.minute, &mut count.this, &mut count.last]);
        }
        all
    }

    /// Adds what figures of an earlier moment were off by.
    pub(crate) fn mend(&mut self, stored: &Self, counted: &Self) {
        let (mut stored, mut counted) = (stored.clone(), counted.clone());
        let found = stored.numbers().into_iter().zip(counted.numbers());
        for (number, (stored, counted)) in self.numbers().into_iter().zip(found) {
            *number = (*number + *counted).saturating_sub(*stored);
        }
    }

    pub(crate) fn write(&self) -> String {
        let mut copy = self.clone();
        let numbers: Vec<_> = copy
            .numbers()
            .into_iter()
            .map(|number| number.to_string())
            .collect();
        numbers.join(" ")
    }

    pub(crate) fn read(text: &str) -> Db<Self> {
        let mut figures = Self::default();
        let mut words = text.split(' ');
        for number in figures.numbers() {
            *number = words
                .next()
                .and_then(|word| word.parse().ok())
                .filter(|number| *number <= NUMBER_MAX)
                .ok_or_else(|| Fault::unreadable("figures", text))?;
        }
        Ok(figures)
    }

    /// A live job came into a state.
    pub(crate) fn came(&mut self, state: JobState, priority: Priority) {
        *self.live(state, priority) += 1;
    }

    /// A live job left a state. A figure spoilt by hand stays at 0 until an audit mends it.
    pub(crate) fn went(&mut self, state: JobState, priority: Priority) {
        let figure = self.live(state, priority);
        *figure = figure.saturating_sub(1);
    }

    /// The stored bytes of a job changed.
    pub(crate) fn resize(&mut self, from: u64, to: u64) {
        self.bytes = self.bytes.saturating_sub(from) + to;
    }

    /// A finished job is kept.
    pub(crate) fn keep(&mut self, state: JobState, bytes: u64) {
        let kept = self.kept(state);
        kept.count += 1;
        kept.bytes += bytes;
    }

    /// A finished job is no longer kept.
    pub(crate) fn unkeep(&mut self, state: JobState, bytes: u64) {
        let kept = self.kept(state);
        kept.count = kept.count.saturating_sub(1);
        kept.bytes = kept.bytes.saturating_sub(bytes);
    }

    /// The counters of a state that jobs end in.
    pub(crate) fn kept(&mut self, state: JobState) -> &mut Kept {
        match state {
            JobState::Succeeded => &mut self.succeeded,
            JobState::Dead => &mut self.dead,
            _ => &mut self.cancelled,
        }
    }

    fn live(&mut self, state: JobState, priority: Priority) -> &mut u64 {
        match state {
            JobState::Scheduled => &mut self.scheduled,
            JobState::Ready => &mut self.ready[priority.index()],
            _ => &mut self.running,
        }
    }

    /// What of it users see.
    pub(crate) fn stats(&self, now: Timestamp) -> Stats {
        Stats {
            ready: self.ready.iter().sum(),
            ready_by_priority: self.ready,
            scheduled: self.scheduled,
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
    fn figures_are_read_back_as_written() {
        let mut figures = Figures::default();
        for (index, number) in figures.numbers().into_iter().enumerate() {
            *number = index as u64 * 7;
        }
        assert_eq!(Figures::read(&figures.write()).unwrap(), figures);
        assert!(Figures::read("1 2 x").is_err());
    }
}
