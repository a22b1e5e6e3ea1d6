//! Groups: their ready jobs, slots and turns. Claims check limits, and nothing else: a job that may not start
//! stays ready.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::limits::SUSPECT_AFTER;
use windlass_core::store::{
    Cursor, GroupChange, GroupLimits, GroupName, GroupRecord, GroupSlot, Page, Settings,
};
use windlass_core::time::Now;
use windlass_core::{Job, JobId, JobState, Mode, Priority, Result, Timestamp};

use crate::queue::{Queue, lane_of, lanes};

/// A group. One that has nothing left is removed at the end of the transaction.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) limits: GroupLimits,
    pub(crate) is_paused: bool,
    /// Until when a snooze lets it rest.
    pub(crate) resting_until: Timestamp,
    /// The number of its rate limit.
    pub(crate) rate_next_us: u64,
    /// Its ready jobs by lane and position.
    pub(crate) line: BTreeMap<(u64, i64), JobId>,
    /// The jobs that hold a slot.
    pub(crate) holders: BTreeSet<JobId>,
    /// The number of its last turn, or of its arrival: when it got its first ready job.
    pub(crate) turn: u64,
}

impl Group {
    /// From when it may start jobs, in microseconds, as far as time decides.
    fn opens_us(&self, settings: &Settings) -> u64 {
        let limit = self.limits.rate_limit(settings);
        let by_rate = limit.map_or(0, |limit| limit.opens_at(self.rate_next_us));
        by_rate.max(self.resting_until.as_ms() * 1000)
    }

    /// Follows a clock that was set back, or other limits.
    fn cut_rate(&mut self, settings: &Settings, now: Now) {
        let limit = self.limits.rate_limit(settings);
        self.rate_next_us = limit.map_or(0, |limit| limit.cut(self.rate_next_us, now.us));
    }

    pub(crate) fn record(&self, name: &GroupName, settings: &Settings, now: Now) -> GroupRecord {
        let limit = self.limits.rate_limit(settings);
        let opens_us = limit.map_or(0, |limit| limit.opens_at(self.rate_next_us));
        GroupRecord {
            name: name.clone(),
            ready: self.line.len() as u64,
            slots: self.holders.len() as u64,
            is_paused: self.is_paused,
            resting_until: Some(self.resting_until).filter(|until| *until > now.ms()),
            opens_at: (opens_us > now.us).then(|| Timestamp::from_ms(opens_us.div_ceil(1000))),
            limits: self.limits,
        }
    }

    /// The number of its rate limit, if it is in the future.
    pub(crate) fn rate_next(&self, settings: &Settings, now: Now) -> Option<u64> {
        self.limits.rate_limit(settings)?;
        Some(self.rate_next_us).filter(|next| *next > now.us)
    }

    fn is_removable(&self, settings: &Settings, now: Now) -> bool {
        let is_idle = self.line.is_empty() && self.holders.is_empty() && !self.is_paused;
        is_idle
            && self.limits == GroupLimits::default()
            && self.resting_until <= now.ms()
            && self.rate_next(settings, now).is_none()
    }
}

impl Queue {
    /// The lane of a ready job in its line. In an ordered lane priorities do not count: a job that holds a slot
    /// comes before those that do not.
    pub(crate) fn lane_in_line(&self, job: &Job) -> u64 {
        if job.group.is_some() && self.settings.group_slot.is_lane() {
            u64::from(!self.holds_slot(job))
        } else {
            lane_of(job)
        }
    }

    pub(crate) fn holds_slot(&self, job: &Job) -> bool {
        let group = job.group.as_ref().and_then(|name| self.groups.get(name));
        group.is_some_and(|group| group.holders.contains(&job.id))
    }

    /// The ready jobs among which a job of this group is ordered: those of the group, or those without one.
    pub(crate) fn line_of(
        &mut self,
        group: Option<&GroupName>,
    ) -> &mut BTreeMap<(u64, i64), JobId> {
        match group {
            None => &mut self.ready,
            Some(name) => &mut self.groups.entry(name.clone()).or_default().line,
        }
    }

    /// A group that gets its first ready job takes its turn after those that already wait.
    pub(crate) fn arrive(&mut self, name: &GroupName) {
        self.turn += 1;
        let group = self.groups.entry(name.clone()).or_default();
        group.turn = self.turn;
        group.cut_rate(&self.settings, self.now);
    }

    /// The job that a claim takes next: of the group whose first job has the most urgent priority, then of the one
    /// with the fewest slots in use, then of the one whose last turn was longest ago.
    pub(crate) fn next_job(&self, mode: Mode, may_take_suspect: bool) -> Option<JobId> {
        let ungrouped = self.first_ungrouped(may_take_suspect).map(|id| {
            let is_running = |job: &&Job| job.state == JobState::Running && job.group.is_none();
            let slots = self.jobs.values().filter(is_running).count();
            (self.jobs[id].priority, slots, self.ungrouped_turn, id)
        });
        let groups = self.groups.values().filter_map(|group| {
            let id = group.line.values().next()?;
            let job = &self.jobs[id];
            let is_allowed = may_take_suspect || job.expiries < SUSPECT_AFTER;
            let slots = group.holders.len();
            (is_allowed && self.may_start(group, job, mode)).then_some((
                job.priority,
                slots,
                group.turn,
                id,
            ))
        });
        let (_, _, _, id) = groups.chain(ungrouped).min()?;
        Some(id.clone())
    }

    fn first_ungrouped(&self, may_take_suspect: bool) -> Option<&JobId> {
        let mut lanes = Priority::all().flat_map(|priority| {
            let [suspects, others] = lanes(priority);
            [may_take_suspect.then_some(suspects), Some(others)]
        });
        lanes.find_map(|lane| self.lane(lane?).next())
    }

    /// Whether the limits of a group allow its first job to start. A job that holds a slot needs no further one.
    fn may_start(&self, group: &Group, first: &Job, mode: Mode) -> bool {
        let max = group.limits.max_running(&self.settings);
        // A job that is final when claimed does not count as running.
        let is_countable = mode != Mode::AtMostOnce || max.is_none();
        let has_slot = group.holders.contains(&first.id)
            || max.is_none_or(|max| (group.holders.len() as u64) < u64::from(max));
        let is_open = group.opens_us(&self.settings) <= self.now.us;
        is_countable && has_slot && is_open && !group.is_paused
    }

    /// Counts the claim of a job as a turn of its group.
    pub(crate) fn take_turn(&mut self, id: &JobId) {
        self.turn += 1;
        let job = self.job(id);
        job.state = JobState::Running;
        let Some(name) = job.group.clone() else {
            self.ungrouped_turn = self.turn;
            return;
        };
        let (turn, now, settings) = (self.turn, self.now, &self.settings);
        let group = self.groups.entry(name).or_default();
        group.turn = turn;
        group.holders.insert(id.clone());
        if let Some(limit) = group.limits.rate_limit(settings) {
            group.rate_next_us = limit.hand_out(group.rate_next_us, now.us, 1);
        }
    }

    /// Takes the slot of a job that left it to others.
    pub(crate) fn leave_slot(&mut self, id: &JobId) {
        let Some(name) = self.jobs.get(id).and_then(|job| job.group.clone()) else {
            return;
        };
        if let Some(group) = self.groups.get_mut(&name)
            && group.holders.remove(id)
            && !group.line.is_empty()
        {
            self.announce_work();
        }
    }

    /// Leaves the slot of a job that ended.
    pub(crate) fn leave_slot_at_end(&mut self, id: &JobId, state: JobState) {
        let stops = self.settings.group_slot == GroupSlot::Success && state == JobState::Dead;
        if !stops {
            self.leave_slot(id);
        }
    }

    /// Lets the group of a job rest.
    pub(crate) fn rest_group(&mut self, name: &GroupName, until: Timestamp) {
        let group = self.groups.entry(name.clone()).or_default();
        group.resting_until = group.resting_until.max(until);
    }

    /// Follows a clock that was set back, or other limits of all groups.
    pub(crate) fn cut_group_rates(&mut self) {
        let waiting = self
            .groups
            .values_mut()
            .filter(|group| !group.line.is_empty());
        waiting.for_each(|group| group.cut_rate(&self.settings, self.now));
    }

    /// When time allows the next group with ready jobs to start.
    pub(crate) fn next_group_opening(&self, now: Now) -> Option<Timestamp> {
        let waiting = self.groups.values();
        let waiting = waiting.filter(|group| !group.line.is_empty() && !group.is_paused);
        let opening = waiting.map(|group| group.opens_us(&self.settings));
        let next = opening.filter(|opens_us| *opens_us > now.us).min()?;
        Some(Timestamp::from_ms(next.div_ceil(1000))).filter(|_| !self.is_paused)
    }

    /// The groups with ready jobs by turn, `None` for the jobs without a group. Empty if no group has ready jobs.
    #[cfg(feature = "dump")]
    pub(crate) fn turns(&self) -> Vec<Option<GroupName>> {
        let waiting = self
            .groups
            .iter()
            .filter(|(_, group)| !group.line.is_empty());
        let mut turns: Vec<_> = waiting
            .map(|(name, group)| (group.turn, Some(name.clone())))
            .collect();
        if !turns.is_empty() {
            turns.push((self.ungrouped_turn, None));
        }
        turns.sort();
        turns.into_iter().map(|(_, name)| name).collect()
    }

    /// Removes groups that have nothing left.
    pub(crate) fn remove_groups(&mut self) {
        let (settings, now) = (&self.settings, self.now);
        self.groups
            .retain(|_, group| !group.is_removable(settings, now));
    }

    pub(crate) fn set_group(
        &mut self,
        name: &GroupName,
        change: GroupChange,
    ) -> Result<GroupRecord> {
        let limits = self
            .groups
            .get(name)
            .map_or_else(GroupLimits::default, |group| group.limits);
        change.check(limits, &self.settings)?;
        let group = self.groups.entry(name.clone()).or_default();
        group.limits = change.apply(limits);
        if let Some(is_paused) = change.is_paused {
            group.is_paused = is_paused;
            if !is_paused {
                group.resting_until = Timestamp::default();
            }
        }
        if !group.line.is_empty() {
            group.cut_rate(&self.settings, self.now);
        }
        let record = group.record(name, &self.settings, self.now);
        self.announce_work();
        self.mark_changed();
        Ok(record)
    }

    pub(crate) fn group(&self, name: &GroupName, now: Now) -> Option<GroupRecord> {
        let record = self.groups.get(name)?.record(name, &self.settings, now);
        record.exists().then_some(record)
    }

    /// One page of the groups, by name.
    pub(crate) fn list_groups(
        &self,
        from: Option<&GroupName>,
        limit: usize,
        now: Now,
    ) -> Page<GroupRecord> {
        let names = self.groups.keys();
        let names = names.filter(|name| from.is_none_or(|from| *name > from));
        let mut items: Vec<_> = names
            .filter_map(|name| self.group(name, now))
            .take(limit + 1)
            .collect();
        let has_more = items.len() > limit;
        items.truncate(limit);
        let last = items.last().filter(|_| has_more);
        let next = last.map(|record| Cursor(record.name.to_string()));
        Page { items, next }
    }
}
