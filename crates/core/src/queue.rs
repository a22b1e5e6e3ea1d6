//! The figures of a queue, kept by counting and never by scanning.

use crate::priority::Priority;
use crate::time::Timestamp;

/// How many jobs a queue holds, and has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Waiting for a worker.
    pub ready: u64,
    /// The same, by priority.
    pub ready_by_priority: [u64; Priority::COUNT],
    /// Waiting for their due time.
    pub scheduled: u64,
    /// Held by a worker.
    pub running: u64,
    /// Ended well and still kept.
    pub succeeded: u64,
    /// Ended badly and still kept.
    pub dead: u64,
    /// Ended on request and still kept.
    pub cancelled: u64,
    /// Bytes of payloads, results and errors stored.
    pub bytes: u64,
    /// How long the job at the head of its priority that fell due first has been waiting.
    pub oldest_ms: Option<u64>,
    /// How long until the earliest scheduled job falls due: an idle worker sleeps no longer.
    pub next_due_ms: Option<u64>,
    /// No claims are answered.
    pub is_paused: bool,
    /// Counts over the whole life of the queue.
    pub total: Totals,
    /// Counts over the last whole minute.
    pub last_minute: Rates,
}

impl Stats {
    /// Takes in the figures of another part of the same whole.
    ///
    /// ```
    /// # use windlass_core::Stats;
    /// let mut all = Stats { ready: 2, next_due_ms: Some(900), ..Stats::default() };
    /// all.add(&Stats { ready: 1, next_due_ms: Some(300), ..Stats::default() });
    /// assert_eq!((all.ready, all.next_due_ms), (3, Some(300)));
    /// ```
    pub fn add(&mut self, part: &Self) {
        self.ready += part.ready;
        for (sum, more) in self
            .ready_by_priority
            .iter_mut()
            .zip(part.ready_by_priority)
        {
            *sum += more;
        }
        self.scheduled += part.scheduled;
        self.running += part.running;
        self.succeeded += part.succeeded;
        self.dead += part.dead;
        self.cancelled += part.cancelled;
        self.bytes += part.bytes;
        self.oldest_ms = self.oldest_ms.max(part.oldest_ms);
        let due = [self.next_due_ms, part.next_due_ms];
        self.next_due_ms = due.into_iter().flatten().min();
        self.is_paused |= part.is_paused;
        self.total.add(&part.total);
        self.last_minute.enqueued += part.last_minute.enqueued;
        self.last_minute.finished += part.last_minute.finished;
    }
}

/// Counts over the whole life of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Accepted.
    pub enqueued: u64,
    /// Ended well.
    pub succeeded: u64,
    /// Ended badly.
    pub dead: u64,
    /// Ended on request.
    pub cancelled: u64,
    /// Put back because their worker was lost.
    pub rescued: u64,
}

impl Totals {
    fn add(&mut self, part: &Self) {
        self.enqueued += part.enqueued;
        self.succeeded += part.succeeded;
        self.dead += part.dead;
        self.cancelled += part.cancelled;
        self.rescued += part.rescued;
    }
}

/// Counts over the last whole minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rates {
    /// Accepted.
    pub enqueued: u64,
    /// Ended, in whatever way.
    pub finished: u64,
}

/// Counts per minute with two numbers: this minute and the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MinuteCount {
    /// The minute `this` counts, since 1970.
    pub minute: u64,
    /// Counted in that minute.
    pub this: u64,
    /// Counted in the minute before.
    pub last: u64,
}

impl MinuteCount {
    /// Counts `n` more.
    pub fn add(&mut self, now: Timestamp, n: u64) {
        self.roll(now);
        self.this += n;
    }

    /// What the last whole minute counted.
    pub fn last_minute(mut self, now: Timestamp) -> u64 {
        self.roll(now);
        self.last
    }

    fn roll(&mut self, now: Timestamp) {
        let minute = now.as_ms() / 60_000;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_counted_when_it_is_over() {
        let mut count = MinuteCount::default();
        let at = |minute: u64| Timestamp::from_ms(minute * 60_000 + 5);

        count.add(at(10), 3);
        count.add(at(10), 4);

        assert_eq!(count.last_minute(at(10)), 0);
        assert_eq!(count.last_minute(at(11)), 7);
        assert_eq!(count.last_minute(at(12)), 0);
    }
}
