//! Groups: their ready jobs, slots and turns.
//!
//! A row per group counts its ready jobs and slots. It also says where the group waits, so that a claim finds the
//! next group by an index: for its turn (`may_start`), for the end of a rest or the opening of its rate (`opens_us`), or
//! for neither. A verb works on rows in memory, and writes them at its end.

mod audit;
#[cfg(feature = "dump")]
mod dump;
mod pick;
mod row;

use rusqlite::{Connection, params};
use windlass_core::limits::PAGE;
use windlass_core::store::{
    Cursor, GroupChange, GroupName, GroupRecord, GroupSlot, Page, Requeue, Settings,
};
use windlass_core::time::Now;
use windlass_core::{JobState, QueueName, Result, Timestamp};

pub(crate) use self::audit::wrong_groups;
#[cfg(feature = "dump")]
pub(crate) use self::dump::{dump, turns};
use self::row::FirstJob;
pub(crate) use self::row::GroupRow;
use crate::error::TxResult;
use crate::lane::HOLDER;
use crate::row::JobMeta;
use crate::sql::Sql;
use crate::transaction::{QueueRow, QueueTx};

impl QueueTx<'_> {
    /// Whether a job holds a slot of its group.
    pub(crate) fn holds_slot(&self, job: &JobMeta) -> bool {
        holds_slot(&self.queue.settings, job)
    }

    /// Counts a job that leaves its state for another one, or is deleted, in its group.
    pub(crate) fn leave_group(&mut self, job: &JobMeta, to: Option<JobState>) -> TxResult<()> {
        let Some(name) = &job.group else {
            return Ok(());
        };
        let slot = self.queue.settings.group_slot;
        let is_kept = to.is_some_and(|to| match slot {
            GroupSlot::Run => false,
            GroupSlot::Job => !to.is_final(),
            GroupSlot::Success => !to.is_final() || to == JobState::Dead,
        });
        let leaves_slot = self.holds_slot(job) && !is_kept;
        if !leaves_slot && !matches!(job.state, JobState::Ready | JobState::Running) {
            return Ok(());
        }
        let counters = &mut self.queue.counters;
        match job.state {
            JobState::Ready => {
                counters.grouped_ready = counters.grouped_ready.saturating_sub(1);
                self.group_mut(name)?.remove();
            }
            JobState::Running => {
                counters.grouped_running = counters.grouped_running.saturating_sub(1);
            }
            _ => {}
        }
        if leaves_slot {
            self.free_slot(name)?;
        }
        Ok(())
    }

    /// Counts a running job of a group that succeeded.
    pub(crate) fn leave_group_at_success(&mut self, name: &GroupName) -> TxResult<()> {
        let counters = &mut self.queue.counters;
        counters.grouped_running = counters.grouped_running.saturating_sub(1);
        self.free_slot(name)
    }

    fn free_slot(&mut self, name: &GroupName) -> TxResult<()> {
        let group = self.group_mut(name)?;
        group.slots = group.slots.saturating_sub(1);
        self.freed.insert(name.clone());
        Ok(())
    }

    /// Counts a job that entered the line of its group. A group that gets its first ready job takes its turn after
    /// those that already wait.
    pub(crate) fn enter_line(
        &mut self,
        name: &GroupName,
        priority: u8,
        holds_slot: bool,
        end: Requeue,
    ) -> TxResult<()> {
        let (now, turn) = (self.now, self.queue.counters.turn + 1);
        self.group_mut(name)?;
        let (settings, groups) = (&self.queue.settings, &mut self.groups);
        let Some(group) = groups.get_mut(name) else {
            return Ok(());
        };
        group.add(settings, priority, holds_slot, end);
        if group.ready == 1 {
            group.turn = turn;
            group.cut_rate(settings, now);
            self.queue.counters.turn = turn;
        }
        self.queue.counters.grouped_ready += 1;
        Ok(())
    }

    /// Finds the place of a group again, because its first job may be another one.
    pub(crate) fn refresh_first_job(&mut self, name: &GroupName) -> TxResult<()> {
        let group = self.group_mut(name)?;
        if group.ready > 0 {
            group.first = FirstJob::Unknown;
        }
        Ok(())
    }

    /// Lets a group rest.
    pub(crate) fn rest_group(&mut self, name: &GroupName, until: Timestamp) -> TxResult<()> {
        let group = self.group_mut(name)?;
        group.resting_until = group.resting_until.max(until);
        Ok(())
    }

    /// A group to change. It is written at the end of the verb.
    fn group_mut(&mut self, name: &GroupName) -> TxResult<&mut GroupRow> {
        if !self.groups.contains_key(name) {
            let found = GroupRow::find(self.db, self.queue.key, name)?;
            let group = found.unwrap_or_else(|| GroupRow::new(name.clone()));
            self.groups.insert(name.clone(), group);
        }
        let new = || GroupRow::new(name.clone());
        let group = self.groups.entry(name.clone()).or_insert_with(new);
        group.is_changed = true;
        Ok(group)
    }

    /// Writes the groups that this verb changed, each in its place.
    pub(crate) fn save_groups(&mut self) -> TxResult<()> {
        for group in self.groups.values_mut().filter(|group| group.is_changed) {
            let (settings, key) = (&self.queue.settings, self.queue.key);
            if group.ready > 0 && group.first == FirstJob::Unknown {
                group.first = first_job(self.db, key, settings, &group.name)?;
            }
            group.place = group.find_place(settings, self.now);
            let is_removable = group.is_removable(settings, self.now);
            group.save(self.db, key, is_removable)?;
            group.is_changed = false;
        }
        Ok(())
    }

    /// Writes the groups that this verb changed before it reads others by their places.
    fn write_groups(&mut self) -> TxResult<()> {
        self.save_groups()?;
        self.groups.clear();
        Ok(())
    }

    /// Wakes waiting claims if a group in which a slot was freed may start a job. Not before the end of a verb: a
    /// claim of the same call may take the slot.
    pub(crate) fn announce_free_groups(&mut self) -> TxResult<()> {
        for name in std::mem::take(&mut self.freed) {
            let group = match self.groups.get(&name) {
                Some(group) => Some(group.clone()),
                None => GroupRow::find(self.db, self.queue.key, &name)?,
            };
            if group.is_some_and(|group| group.place.may_start) {
                self.announce_work();
                break;
            }
        }
        Ok(())
    }

    /// Deletes groups that have had nothing left since a time in microseconds.
    pub(crate) fn forget_groups(&mut self, until_us: u64) -> TxResult<()> {
        self.write_groups()?;
        let sql = "DELETE FROM job_group WHERE queue = ?1 AND forget_us <= ?2";
        self.db.run(sql, params![self.queue.key, until_us])?;
        Ok(())
    }

    /// Finds the places of all groups, after the limits of the queue changed or the clock was set back.
    pub(crate) fn follow_group_limits(&mut self) -> TxResult<()> {
        let all = "queue = ?1 ORDER BY name";
        let all = GroupRow::select(self.db, all, [self.queue.key])?;
        for mut group in all {
            if group.ready > 0 {
                group.cut_rate(&self.queue.settings, self.now);
            }
            group.is_changed = true;
            self.groups.insert(group.name.clone(), group);
        }
        self.write_groups()
    }

    /// Whether the queue has any group.
    pub(crate) fn has_groups(&self) -> TxResult<bool> {
        let all = "queue = ?1 ORDER BY name";
        let all = GroupRow::select(self.db, all, [self.queue.key])?;
        let settings = &self.queue.settings;
        let mut all = all.iter();
        Ok(all.any(|group| !group.is_removable(settings, self.now)))
    }

    /// Changes the limits of a group, pauses or resumes it.
    pub(crate) fn set_group(
        &mut self,
        name: &GroupName,
        change: GroupChange,
    ) -> TxResult<Result<GroupRecord>> {
        let (settings, now) = (self.queue.settings.clone(), self.now);
        let stored = GroupRow::find(self.db, self.queue.key, name)?;
        let limits = stored.map(|group| group.limits).unwrap_or_default();
        if let Err(refused) = change.check(limits, &settings) {
            return Ok(Err(refused));
        }
        let group = self.group_mut(name)?;
        group.limits = change.apply(limits);
        if let Some(is_paused) = change.is_paused {
            group.is_paused = is_paused;
            if !is_paused {
                group.resting_until = Timestamp::default();
            }
        }
        if group.ready > 0 {
            group.cut_rate(&settings, now);
        }
        let record = group.record(&settings, now);
        self.announce_work();
        self.changed();
        Ok(Ok(record))
    }
}

/// Whether a job holds a slot of its group.
pub(crate) fn holds_slot(settings: &Settings, job: &JobMeta) -> bool {
    let is_held = match settings.group_slot {
        GroupSlot::Run => job.state == JobState::Running,
        GroupSlot::Job => job.lane == HOLDER && !job.state.is_final(),
        GroupSlot::Success => {
            let is_open = !job.state.is_final() || job.state == JobState::Dead;
            job.lane == HOLDER && is_open
        }
    };
    job.group.is_some() && is_held
}

/// Reads the first ready job of a group.
fn first_job(
    db: &Connection,
    queue: i64,
    settings: &Settings,
    name: &GroupName,
) -> TxResult<FirstJob> {
    let first = "SELECT priority, lane FROM job WHERE queue = ?1 AND state = 1 AND group_name = ?2
                 ORDER BY lane, position LIMIT 1";
    let is_lane = settings.group_slot.is_lane();
    let first = db.first(first, params![queue, name.as_str()], |row| {
        Ok(FirstJob::Known {
            priority: row.get(0)?,
            holds_slot: is_lane && row.get::<_, i64>(1)? == HOLDER,
        })
    })?;
    Ok(first.unwrap_or(FirstJob::Missing))
}

/// When time allows the next group with ready jobs to start, in milliseconds.
pub(crate) fn next_opening(db: &Connection, queue: &QueueRow, now: Now) -> TxResult<Option<u64>> {
    if queue.is_paused || queue.counters.grouped_ready == 0 {
        return Ok(None);
    }
    if now.stepped_back {
        // The next transaction finds the places of all groups again.
        let all = GroupRow::select(db, "queue = ?1 ORDER BY name", [queue.key])?;
        let waiting = all
            .iter()
            .filter(|group| group.ready > 0 && !group.is_paused);
        let opening = waiting.map(|group| group.opens_us(&queue.settings));
        let next = opening.filter(|opens_us| *opens_us > now.us).min();
        return Ok(next.map(|opens_us| opens_us.div_ceil(1000)));
    }
    let next = "SELECT opens_us FROM job_group WHERE queue = ?1 AND opens_us > ?2
                ORDER BY opens_us LIMIT 1";
    let next: Option<u64> = db.value(next, params![queue.key, now.us])?;
    Ok(next.map(|opens_us| opens_us.div_ceil(1000)))
}

pub(crate) fn get(
    db: &Connection,
    queue: &QueueName,
    name: &GroupName,
    clock_us: u64,
) -> TxResult<Option<GroupRecord>> {
    let Some(queue) = QueueRow::find(db, queue)? else {
        return Ok(None);
    };
    let now = Now::guard(queue.mark_us, clock_us);
    let group = GroupRow::find(db, queue.key, name)?;
    let record = group.map(|group| group.record(&queue.settings, now));
    Ok(record.filter(GroupRecord::exists))
}

/// One page of the groups, by name. Groups that have nothing left may not be deleted yet.
pub(crate) fn list(
    db: &Connection,
    queue: &QueueName,
    from: Option<&GroupName>,
    limit: usize,
    clock_us: u64,
) -> TxResult<Page<GroupRecord>> {
    let (mut items, mut next) = (Vec::new(), None);
    let limit = limit.clamp(1, PAGE);
    let mut after = from.map_or_else(String::new, ToString::to_string);
    if let Some(queue) = QueueRow::find(db, queue)? {
        let now = Now::guard(queue.mark_us, clock_us);
        while items.len() <= limit {
            let page = "queue = ?1 AND name > ?2 ORDER BY name LIMIT ?3";
            let page = GroupRow::select(db, page, params![queue.key, after, PAGE])?;
            let Some(last) = page.last() else {
                break;
            };
            after = last.name.to_string();
            let records = page.iter().map(|group| group.record(&queue.settings, now));
            items.extend(records.filter(GroupRecord::exists));
        }
    }
    if items.len() > limit {
        items.truncate(limit);
        let last: Option<&GroupRecord> = items.last();
        next = last.map(|record| Cursor(record.name.to_string()));
    }
    Ok(Page { items, next })
}
