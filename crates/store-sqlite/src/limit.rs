//! Limits of a queue: how many jobs run at the same time, and how many are claimed per period.
//!
//! Claims check them, and nothing else: a job that may not start stays ready. The running jobs need not be
//! counted, because the stats change in the same transactions as the jobs.

use windlass_core::rate::RateLimit;
use windlass_core::store::{Repair, Settings};
use windlass_core::time::Now;

use crate::error::TxResult;
use crate::sql::Sql;
use crate::transaction::{QueueRow, QueueTx};

impl QueueRow {
    /// How many more jobs may run, if their number is limited.
    fn free_slots(&self) -> Option<u64> {
        let max = self.settings.max_running?;
        Some(u64::from(max).saturating_sub(self.counters.running))
    }

    /// How many jobs may be claimed now.
    pub(crate) fn allowed(&self, now: Now) -> usize {
        if self.counters.resting_until > now.ms().as_ms() {
            return 0;
        }
        let rate = self.settings.rate_limit();
        let by_rate = rate.map_or(u64::MAX, |limit| limit.allowed(self.rate_next_us, now.us));
        let allowed = by_rate.min(self.free_slots().unwrap_or(u64::MAX));
        usize::try_from(allowed).unwrap_or(usize::MAX)
    }

    /// When the rate or the end of a rest allows the next claim, in milliseconds, if ready jobs wait for that.
    pub(crate) fn opens_at(&self, now: Now) -> Option<u64> {
        let limit = self.settings.rate_limit();
        let opens_us = limit.map_or(0, |limit| limit.opens_at(self.rate_next_us));
        let opens_us = opens_us.max(self.counters.resting_until.saturating_mul(1000));
        let is_awaited = self.has_ready() && !self.is_paused && opens_us > now.us;
        is_awaited.then(|| opens_us.div_ceil(1000))
    }

    fn has_ready(&self) -> bool {
        self.counters.ready.iter().any(|count| *count > 0)
    }
}

impl QueueTx<'_> {
    /// Counts claimed jobs.
    pub(crate) fn count_claimed(&mut self, count: usize) {
        if let Some(limit) = self.queue.settings.rate_limit() {
            let next = limit.hand_out(self.queue.rate_next_us, self.now.us, count as u64);
            self.queue.rate_next_us = next;
        }
    }

    /// Changes the settings. A new rate begins now, and waiting claims try other limits.
    pub(crate) fn change_settings(&mut self, new: Settings) -> TxResult<()> {
        let old = std::mem::replace(&mut self.queue.settings, new);
        let new = &self.queue.settings;
        let limits = |settings: &Settings| (settings.max_running, settings.rate, settings.burst);
        let group_limits = |settings: &Settings| {
            let Settings {
                group_rate,
                group_burst,
                ..
            } = settings;
            (settings.group_max_running(), *group_rate, *group_burst)
        };
        let has_new_limits = limits(new) != limits(&old);
        let has_new_group_limits = group_limits(new) != group_limits(&old);
        if new.rate_limit() != old.rate_limit() {
            self.cut_rate(self.queue.settings.rate_limit());
        }
        if has_new_group_limits {
            self.follow_group_limits()?;
        }
        if has_new_limits || has_new_group_limits {
            self.announce_work();
        }
        Ok(())
    }

    /// Refuses settings that cannot follow the current ones while there are jobs or groups.
    pub(crate) fn check_change(&self, new: &Settings) -> TxResult<()> {
        let (old, key) = (&self.queue.settings, self.queue.key);
        let job = "SELECT key FROM job WHERE queue = ?1 AND id > '' ORDER BY id LIMIT 1";
        let has_jobs = new.group_slot != old.group_slot && self.db.has(job, [key])?;
        let has_groups = new.partitions != old.partitions && self.has_groups()?;
        Ok(new.check_change(old, has_jobs, has_groups)?)
    }

    /// Closes a rate for one period at most, after the rate changed or the clock was set back.
    pub(crate) fn cut_rate(&mut self, limit: Option<RateLimit>) {
        let next = self.queue.rate_next_us;
        self.queue.rate_next_us = limit.map_or(0, |limit| limit.cut(next, self.now.us));
    }

    /// Wakes waiting claims after jobs left their claims, if a slot is free. A closed rate wakes them too: they
    /// read when it opens.
    pub(crate) fn announce_free_slots(&mut self) {
        if self.queue.free_slots().is_some_and(|free| free > 0) && self.queue.has_ready() {
            self.announce_work();
        }
    }

    /// Repairs the number of a rate that is further ahead than any claim sets it. It would keep the queue closed.
    pub(crate) fn audit_rate(&mut self) -> Option<Repair> {
        let limit = self.queue.settings.rate_limit();
        let most = limit.map_or(0, |limit| {
            let ahead = limit.period_us.saturating_add(limit.tolerance_us);
            self.now.us.saturating_add(ahead)
        });
        if self.queue.rate_next_us <= most {
            return None;
        }
        self.cut_rate(limit);
        self.announce_work();
        Some(Repair {
            code: "rate_wrong",
            id: None,
            message: "the rate was closed for too long; it opens after one period at most"
                .to_owned(),
        })
    }
}
