//! The stats of a queue. Stores keep counters, so reading stats never scans.

use bytes::Bytes;

use crate::job::Job;
use crate::priority::Priority;
use crate::time::Timestamp;

/// The number of jobs in a queue now, and counters over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Jobs waiting for a worker.
    pub ready: u64,
    /// Ready jobs by priority.
    pub ready_by_priority: [u64; Priority::COUNT],
    /// Jobs waiting for the previous job of their schedule.
    pub pending: u64,
    /// Jobs waiting for their due time.
    pub scheduled: u64,
    /// Jobs leased to a worker.
    pub running: u64,
    /// Succeeded jobs that are kept.
    pub succeeded: u64,
    /// Dead jobs that are kept.
    pub dead: u64,
    /// Cancelled jobs that are kept.
    pub cancelled: u64,
    /// Total size of payloads, results and errors in bytes.
    pub bytes: u64,
    /// Entries that jobs left in an index of the store when they were cancelled, expired or deleted while
    /// ready. Claims and maintenance remove them. Only Redis has any.
    pub stale_entries: u64,
    /// The longest time that a job at the head of its priority has been due. Jobs of groups are not considered.
    pub oldest_ms: Option<u64>,
    /// The number of schedules.
    pub schedules: u64,
    /// The time until the next scheduled job or the next instant of a schedule is due. An idle worker waits
    /// no longer than this.
    pub next_due_ms: Option<u64>,
    /// Whether the queue is paused.
    pub is_paused: bool,
    /// The time until the rest of a snoozed queue ends.
    pub resting_ms: Option<u64>,
    /// Counts since the queue was created.
    pub total: Totals,
    /// Counts in the last minute.
    pub last_minute: Rates,
}

impl Stats {
    /// Returns the number of waiting jobs: ready, pending or scheduled.
    pub const fn waiting(&self) -> u64 {
        self.ready + self.pending + self.scheduled
    }

    /// Returns the number of jobs in any state.
    pub const fn jobs(&self) -> u64 {
        self.waiting() + self.running + self.succeeded + self.dead + self.cancelled
    }

    /// Adds the stats of another partition or queue.
    ///
    /// ```
    /// # use windlass_core::store::Stats;
    /// let mut all = Stats { ready: 2, next_due_ms: Some(900), ..Stats::default() };
    /// all.add(&Stats { ready: 1, next_due_ms: Some(300), ..Stats::default() });
    /// assert_eq!((all.ready, all.next_due_ms), (3, Some(300)));
    /// ```
    pub fn add(&mut self, other: &Self) {
        self.ready += other.ready;
        for (sum, more) in self
            .ready_by_priority
            .iter_mut()
            .zip(other.ready_by_priority)
        {
            *sum += more;
        }
        self.pending += other.pending;
        self.scheduled += other.scheduled;
        self.running += other.running;
        self.succeeded += other.succeeded;
        self.dead += other.dead;
        self.cancelled += other.cancelled;
        self.bytes += other.bytes;
        self.stale_entries += other.stale_entries;
        self.schedules += other.schedules;
        self.oldest_ms = self.oldest_ms.max(other.oldest_ms);
        let due = [self.next_due_ms, other.next_due_ms];
        self.next_due_ms = due.into_iter().flatten().min();
        self.is_paused |= other.is_paused;
        self.resting_ms = self.resting_ms.max(other.resting_ms);
        self.total.add(&other.total);
        self.last_minute.enqueued += other.last_minute.enqueued;
        self.last_minute.finished += other.last_minute.finished;
    }
}

/// Counts since a queue was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Jobs enqueued.
    pub enqueued: u64,
    /// Jobs succeeded.
    pub succeeded: u64,
    /// Jobs dead.
    pub dead: u64,
    /// Jobs cancelled.
    pub cancelled: u64,
    /// Jobs returned to the queue because their lease expired.
    pub rescued: u64,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.enqueued += other.enqueued;
        self.succeeded += other.succeeded;
        self.dead += other.dead;
        self.cancelled += other.cancelled;
        self.rescued += other.rescued;
    }
}

/// The reply to [`Store::delete_queue`](crate::Store::delete_queue).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueDeletion {
    /// The queue was deleted.
    Deleted,
    /// The queue has jobs, so nothing was changed.
    HasJobs,
    /// The queue has schedules, so nothing was changed.
    HasSchedules,
    /// The queue does not exist.
    NotFound,
}

/// Counts in the last minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// Jobs enqueued.
    pub enqueued: u64,
    /// Jobs finished in any state.
    pub finished: u64,
}

const MINUTE_MS: u64 = 60_000;

/// A counter for the current minute and the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MinuteCount {
    /// The current minute, in minutes since the Unix epoch.
    pub minute: u64,
    /// The count of the current minute.
    pub this: u64,
    /// The count of the minute before.
    pub last: u64,
}

impl MinuteCount {
    /// Adds `n` to the current minute.
    pub fn add(&mut self, now: Timestamp, n: u64) {
        self.roll(now);
        self.this += n;
    }

    /// Returns the count of the last 60 seconds: all of the current minute, and of the one before the
    /// share that the 60 seconds still cover.
    pub fn last_minute(mut self, now: Timestamp) -> u64 {
        self.roll(now);
        let covered = u128::from(MINUTE_MS - now.as_ms() % MINUTE_MS);
        let minute = u128::from(MINUTE_MS);
        let share = (u128::from(self.last) * covered + minute / 2) / minute;
        self.this
            .saturating_add(u64::try_from(share).unwrap_or(u64::MAX))
    }

    fn roll(&mut self, now: Timestamp) {
        let minute = now.as_ms() / MINUTE_MS;
        if minute != self.minute {
            self.last = if minute == self.minute + 1 {
                self.this
            } else {
                0
            };
            self.this = 0;
            self.minute = minute;
        }
    }
}

/// Returns the bytes that count towards the size of a queue: payload, result, and errors in their stored form.
pub fn stored_bytes(job: &Job) -> u64 {
    let length = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
    let errors = job.stored_errors().to_text();
    (length(&job.payload) + length(&job.result) + errors.map_or(0, |text| text.len())) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_slides() {
        let mut count = MinuteCount::default();
        let at = |minute: u64, second: u64| Timestamp::from_ms(minute * MINUTE_MS + second * 1000);

        count.add(at(10, 0), 3);
        count.add(at(10, 50), 5);

        assert_eq!(count.last_minute(at(10, 59)), 8);
        assert_eq!(count.last_minute(at(11, 0)), 8);
        assert_eq!(count.last_minute(at(11, 15)), 6);
        assert_eq!(count.last_minute(at(11, 59)), 0);
        assert_eq!(count.last_minute(at(12, 0)), 0);
        count.add(at(11, 30), 10);
        assert_eq!(count.last_minute(at(11, 30)), 14);
    }

    #[test]
    fn a_damaged_count_does_not_overflow() {
        let count = MinuteCount {
            minute: 1,
            this: u64::MAX,
            last: u64::MAX,
        };
        assert_eq!(count.last_minute(Timestamp::from_ms(MINUTE_MS)), u64::MAX);
    }
}
