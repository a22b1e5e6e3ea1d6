//! Limits of a queue: how many jobs run at the same time, and how many are claimed per period.
//!
//! Claims check them, and nothing else: a job that may not start stays ready.

use windlass_core::store::Settings;
use windlass_core::time::Now;
use windlass_core::{Job, JobState, Timestamp};

use crate::queue::Queue;

impl Queue {
    /// How many jobs may be claimed now.
    pub(crate) fn allowed(&self) -> usize {
        let is_running = |job: &&Job| job.state == JobState::Running;
        let running = self.jobs.values().filter(is_running).count();
        let slots = self.settings.max_running.map_or(usize::MAX, |max| {
            usize::try_from(max)
                .unwrap_or(usize::MAX)
                .saturating_sub(running)
        });
        let by_rate = self.settings.rate_limit().map_or(u64::MAX, |limit| {
            limit.allowed(self.rate_next_us, self.now.us)
        });
        slots.min(usize::try_from(by_rate).unwrap_or(usize::MAX))
    }

    /// Counts claimed jobs.
    pub(crate) fn count_claimed(&mut self, count: usize) {
        if let Some(limit) = self.settings.rate_limit() {
            self.rate_next_us = limit.hand_out(self.rate_next_us, self.now.us, count as u64);
        }
    }

    /// When the rate allows the next claim, if ready jobs wait for that.
    pub(crate) fn opens_at(&self, now: Now) -> Option<Timestamp> {
        let limit = self.settings.rate_limit()?;
        let opens_us = limit.opens_at(self.rate_next_us);
        let is_awaited = !self.ready.is_empty() && !self.is_paused && opens_us > now.us;
        is_awaited.then(|| Timestamp::from_ms(opens_us.div_ceil(1000)))
    }

    /// Follows changed limits: a new rate begins now, and waiting claims try again.
    pub(crate) fn limit(&mut self, new: &Settings) {
        let limits = |settings: &Settings| (settings.max_running, settings.rate, settings.burst);
        if limits(new) == limits(&self.settings) {
            return;
        }
        if new.rate_limit() != self.settings.rate_limit() {
            self.rate_next_us = new.rate_limit().map_or(0, |limit| {
                limit.after_step_back(self.rate_next_us, self.now.us)
            });
        }
        self.announce_work();
    }
}
