//! explain: what keeps a job from starting. Read-only; the rules are in the core crate.

use windlass_core::explain::{GroupFacts, HOLDERS_MAX, JobsAhead, SlotHolder, WaitFacts};
use windlass_core::store::GroupName;
use windlass_core::time::Now;
use windlass_core::{Job, JobId, JobState, Priority};

use crate::group::Group;
use crate::queue::{Queue, lanes};

impl Queue {
    /// What decides when a job starts, except the workers.
    pub(crate) fn wait_facts(&self, id: &JobId, now: Now) -> Option<WaitFacts> {
        let job = self.get(id)?;
        let is_ready = job.state == JobState::Ready;
        let is_running = |job: &&Job| job.state == JobState::Running;
        let group = job.group.as_ref().filter(|_| job.state.is_waiting());
        Some(WaitFacts {
            now,
            settings: self.settings.clone(),
            is_paused: self.is_paused,
            resting_until: self.resting_until,
            rate_next_us: self.rate_next_us,
            running: self.jobs.values().filter(is_running).count() as u64,
            finished: self.ended.last_minute(now.ms()),
            waits_for: self.waits_for(&job),
            ahead: if is_ready {
                self.ahead_of(&job)
            } else {
                JobsAhead::default()
            },
            group: group.map(|name| self.group_facts(name, &job)),
            last_worker: None,
            job,
        })
    }

    /// The current job of the schedule of a pending job.
    fn waits_for(&self, job: &Job) -> Option<(JobId, JobState)> {
        let name = job.schedule.as_ref();
        let name = name.filter(|_| job.state == JobState::Pending)?;
        let current = self.schedules.get(name)?.current.as_ref()?;
        Some((current.clone(), self.jobs.get(current)?.state))
    }

    /// Counts the ready jobs that come before a ready job.
    fn ahead_of(&self, job: &Job) -> JobsAhead {
        let position = self.positions[&job.id];
        let is_more_urgent = |id: &&JobId| self.jobs[*id].priority < job.priority;
        let more_urgent = self.positions.keys().filter(is_more_urgent).count() as u64;
        let line = match &job.group {
            None => &self.ready,
            Some(name) => &self.groups[name].line,
        };
        let is_lane = job.group.is_some() && self.settings.group_slot.is_lane();
        // In an ordered lane priorities do not count.
        let first_lane = if is_lane { 0 } else { first_lane(job.priority) };
        let in_line = line.range((first_lane, i64::MIN)..position).count() as u64;
        let in_group = line.range(..position).count() as u64;
        JobsAhead {
            more_urgent,
            in_line,
            in_group: if job.group.is_some() { in_group } else { 0 },
            is_estimate: false,
        }
    }

    fn group_facts(&self, name: &GroupName, job: &Job) -> GroupFacts {
        let none = Group::default();
        let group = self.groups.get(name).unwrap_or(&none);
        let is_ready = job.state == JobState::Ready;
        let holders = group.holders.iter().filter(|_| is_ready);
        GroupFacts {
            name: name.clone(),
            limits: group.limits,
            is_paused: group.is_paused,
            resting_until: group.resting_until,
            rate_next_us: group.rate_next_us,
            slots: group.holders.len() as u64,
            holds_slot: group.holders.contains(&job.id),
            holders: holders
                .take(HOLDERS_MAX)
                .map(|id| self.slot_holder(id))
                .collect(),
            first: group.line.values().next().filter(|_| is_ready).cloned(),
        }
    }

    fn slot_holder(&self, id: &JobId) -> SlotHolder {
        let job = &self.jobs[id];
        let is_running = job.state == JobState::Running;
        SlotHolder {
            id: id.clone(),
            state: job.state,
            worker: job.worker.clone(),
            since: job.started_at.filter(|_| is_running),
        }
    }
}

fn first_lane(priority: Priority) -> u64 {
    let [suspects, _] = lanes(priority);
    suspects
}
