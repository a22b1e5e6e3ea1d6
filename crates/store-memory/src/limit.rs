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
        if self.resting_until > self.now.ms() {
            return 0;
        }
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

    /// When the rate or the end of a rest allows the next claim, if ready jobs wait for that.
    pub(crate) fn opens_at(&self, now: Now) -> Option<Timestamp> {
        let limit = self.settings.rate_limit();
        let opens_us = limit.map_or(0, |limit| limit.opens_at(self.rate_next_us));
        let opens_us = opens_us.max(self.resting_until.as_ms() * 1000);
        let is_awaited = !self.positions.is_empty() && !self.is_paused && opens_us > now.us;
        is_awaited.then(|| Timestamp::from_ms(opens_us.div_ceil(1000)))
    }

    /// Changes the settings. A new rate begins now, and waiting claims try other limits.
    pub(crate) fn change_settings(&mut self, new: Settings) {
        let old = std::mem::replace(&mut self.settings, new);
        let limits = |settings: &Settings| (settings.max_running, settings.rate, settings.burst);
        let group_limits = |settings: &Settings| {
            let Settings {
                group_max_running,
                group_rate,
                group_burst,
                ..
            } = settings;
            (*group_max_running, *group_rate, *group_burst)
        };
        let limit = self.settings.rate_limit();
        if limit != old.rate_limit() {
            let next = self.rate_next_us;
            self.rate_next_us = limit.map_or(0, |limit| limit.cut(next, self.now.us));
        }
        if group_limits(&self.settings) != group_limits(&old) {
            self.cut_group_rates();
            self.announce_work();
        } else if limits(&self.settings) != limits(&old) {
            self.announce_work();
        }
    }
}
