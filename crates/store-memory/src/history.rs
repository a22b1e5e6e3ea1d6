//! history: claims and maintenance take samples, a row per minute.

use windlass_core::history::{HISTORY_MINUTES, OpenMinute, first_minute, minute_of};
use windlass_core::store::{ClaimedJob, HistoryCounts, HistoryLevels, HistoryRow};
use windlass_core::time::Now;

use crate::queue::Queue;

impl Queue {
    /// Takes a sample if one is due. `first` is the first job that a claim handed out.
    pub(crate) fn sample(&mut self, first: Option<&ClaimedJob>) {
        let now = self.now.ms();
        if !OpenMinute::is_due(self.open_minute.sampled_s, now, first.is_some()) {
            return;
        }
        let wait = first.map(|job| job.waited_until(now));
        let (counts, levels) = self.sampled(self.now);
        let closed = self.open_minute.sample(now, counts, levels, wait);
        // A clock that was set back leaves rows that are not before this minute.
        let kept = first_minute(now, HISTORY_MINUTES)..minute_of(now);
        self.history
            .retain(|row| kept.contains(&minute_of(row.minute)));
        self.history.extend(closed);
        self.mark_changed();
    }

    pub(crate) fn history(&self, minutes: u32, now: Now) -> Vec<HistoryRow> {
        let (counts, levels) = self.sampled(now);
        let open = self.open_minute.row(counts, levels);
        let first = first_minute(now.ms(), minutes);
        let rows = self.history.iter().cloned().chain([open]);
        rows.filter(|row| minute_of(row.minute) >= first).collect()
    }

    fn sampled(&self, now: Now) -> (HistoryCounts, HistoryLevels) {
        let counts = HistoryCounts::new(&self.total, self.failed);
        (counts, HistoryLevels::from(&self.stats(now)))
    }
}
