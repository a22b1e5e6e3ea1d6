//! Schedules: put, refill, run and change them, and fire their due instants.

use windlass_core::limits::SCHEDULES_MAX;
use windlass_core::schedule::next_refill;
use windlass_core::store::{
    DurabilityLevel, Overlap, Ran, Refill, RefillRequest, Requeue, Run, ScheduleChange,
    SchedulePut, ScheduleRecord, SkipReason,
};
use windlass_core::{
    Enqueued, Error, ErrorKind, JobId, JobState, Result, Schedule, ScheduleName, Timestamp,
};

use crate::queue::Queue;

impl Queue {
    pub(crate) fn put_schedule(
        &mut self,
        schedule: Schedule,
        is_paused: Option<bool>,
    ) -> Result<SchedulePut> {
        let name = schedule.name.clone();
        let found = self.schedules.get(&name);
        let is_same = found.is_some_and(|record| {
            record.schedule == schedule && is_paused.is_none_or(|paused| record.is_paused == paused)
        });
        let changed = found.map(|_| !is_same);
        if changed.is_none() && self.schedules.len() >= SCHEDULES_MAX {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("the queue has {SCHEDULES_MAX} schedules, which is the maximum"),
                "delete schedules, or use another queue",
            ));
        }
        if !is_same {
            self.replace_schedule(schedule, is_paused);
        }
        let refill = self.schedules[&name].refill_request(self.now.ms());
        Ok(SchedulePut { changed, refill })
    }

    fn replace_schedule(&mut self, schedule: Schedule, is_paused: Option<bool>) {
        let now = self.now.ms();
        let new = || ScheduleRecord::new(schedule.clone(), now);
        let record = self.schedules.entry(schedule.name.clone());
        let record = record.or_insert_with(new);
        record.is_paused = is_paused.unwrap_or(record.is_paused);
        if record.revision == 0 || record.schedule != schedule {
            // Tokens and revisions share a counter: neither repeats in a queue.
            self.last_token = self.now.us.max(self.last_token + 1);
            record.define(schedule, self.last_token, now);
        }
        self.mark_changed();
    }

    /// Asks for the instants of up to `limit` schedules, those that know least first.
    pub(crate) fn refill_requests(&self, limit: usize) -> Vec<RefillRequest> {
        let mut names: Vec<_> = self
            .schedules
            .values()
            .filter_map(|record| Some((next_refill(&record.instants, record.known_until)?, record)))
            .map(|(at, record)| (at, &record.schedule.name))
            .collect();
        names.sort();
        let requests = names
            .iter()
            .filter_map(|(_, name)| self.schedules[*name].refill_request(self.now.ms()));
        requests.take(limit).collect()
    }

    pub(crate) fn refill_schedules(&mut self, refills: Vec<Refill>) {
        let earliest = self.next_firing();
        for refill in refills {
            let Some(record) = self.schedules.get_mut(&refill.name) else {
                continue;
            };
            if record.refill(refill) {
                self.mark_changed();
            }
        }
        let is_earlier = |next| earliest.is_none_or(|earliest| next < earliest);
        if self.next_firing().is_some_and(is_earlier) {
            self.announce_work();
        }
    }

    /// The earliest time at which an instant is due.
    pub(crate) fn next_firing(&self) -> Option<Timestamp> {
        let records = self.schedules.values();
        records.filter_map(ScheduleRecord::fires_at).min()
    }

    /// Settles the due instants of schedules, ordered by time, then name, until `limit` are settled.
    pub(crate) fn fire_due(&mut self, limit: usize) -> u64 {
        let mut settled = 0;
        while settled < limit
            && let Some(name) = self.first_due()
        {
            settled += self.fire(&name);
        }
        settled as u64
    }

    /// The schedule with the earliest due instant.
    fn first_due(&self) -> Option<ScheduleName> {
        let now = self.now.ms();
        let due = self.schedules.values().filter_map(|record| {
            let fires_at = record.fires_at()?;
            (fires_at <= now).then_some((fires_at, &record.schedule.name))
        });
        due.min().map(|(_, name)| name.clone())
    }

    /// Settles all due instants of a schedule. Returns how many; waiting for a refill counts as one.
    fn fire(&mut self, name: &ScheduleName) -> usize {
        let now = self.now.ms();
        let due = self.schedule_mut(name).take_due(now);
        let mut settled = 0;
        for (instant, fires) in due.iter() {
            let record = self.schedule_mut(name);
            record.settled_until = instant.at;
            let firing = if record.is_paused {
                Err(SkipReason::Paused)
            } else if record.has_ended() {
                break;
            } else if fires {
                let id = JobId::at_instant(name, instant.at);
                let overlap = record.schedule.overlap;
                self.enqueue_scheduled(name, instant.at, id, Some(overlap))
            } else {
                Err(SkipReason::Missed)
            };
            self.schedule_mut(name).settle(instant.at, now, firing);
            settled += 1;
        }
        self.mark_changed();
        settled.max(1)
    }

    /// Enqueues a job of a schedule. Without `overlap` it does not count as its current job.
    fn enqueue_scheduled(
        &mut self,
        name: &ScheduleName,
        instant: Timestamp,
        id: JobId,
        overlap: Option<Overlap>,
    ) -> Result<JobId, SkipReason> {
        let new = self.schedules[name].schedule.job_at(instant, id.clone());
        let new = new.expect("a stored schedule was checked");
        if self.existing(&new).is_some() {
            return Err(SkipReason::Duplicate);
        }
        if let Some(overlap) = overlap {
            self.make_room(name, overlap)?;
        }
        let must_wait = overlap.is_some_and(|overlap| overlap != Overlap::Allow)
            && self.schedules[name].current.is_some();
        let due_at = self.store_new(new);
        self.job(&id).schedule = Some(name.clone());
        if must_wait {
            self.insert_pending(&id);
            self.schedule_mut(name).waiting = Some(id.clone());
        } else {
            self.insert_due(&id, due_at);
            let record = self.schedule_mut(name);
            // A job that waits since the policy was changed still waits for the current one.
            if overlap.is_some() && record.waiting.is_none() {
                record.current = Some(id.clone());
            }
        }
        Ok(id)
    }

    /// Applies the overlap policy to the jobs of a schedule that have not ended.
    fn make_room(&mut self, name: &ScheduleName, overlap: Overlap) -> Result<(), SkipReason> {
        let record = &self.schedules[name];
        let (current, waiting) = (record.current.clone(), record.waiting.clone());
        match (overlap, current, waiting) {
            (Overlap::Skip, Some(_), _) | (Overlap::Buffer, Some(_), Some(_)) => {
                Err(SkipReason::Overlap)
            }
            (Overlap::Cancel, Some(current), waiting) => {
                if let Some(waiting) = waiting {
                    self.mark_cancelled(&waiting);
                }
                self.cancel(&current);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Records that a job ended in a state or was purged, and releases the job that waits for it.
    pub(crate) fn end_in_schedule(
        &mut self,
        id: &JobId,
        name: &ScheduleName,
        state: Option<JobState>,
    ) {
        let at = self.now.ms();
        let record = self.schedules.get_mut(name);
        let next = record.and_then(|record| record.end_job(id, state, at).cloned());
        if let Some(next) = next {
            self.release_pending(&next);
        }
    }

    /// Makes a pending job ready, or scheduled if it is due later.
    fn release_pending(&mut self, id: &JobId) {
        self.remove_waiting(id);
        let due_at = self.jobs[id].due_at;
        self.insert_due(id, due_at);
    }

    /// Promotes a pending job by hand: it becomes the current one.
    pub(crate) fn promote_pending(&mut self, id: &JobId) {
        let name = self.jobs[id].schedule.clone();
        if let Some(record) = name.and_then(|name| self.schedules.get_mut(&name)) {
            record.waiting = None;
            record.current = Some(id.clone());
        }
        self.remove_waiting(id);
        self.job(id).due_at = self.now.ms();
        self.insert_ready(id, Requeue::Back);
    }

    pub(crate) fn run_schedule(&mut self, name: &ScheduleName, run: Run) -> Option<Vec<Ran>> {
        let overlap = self.schedules.get(name)?.schedule.overlap;
        let now = self.now.ms();
        Some(match run {
            Run::Now { nonce, is_forced } => {
                let id = JobId::of_run(name, &nonce);
                let second = Timestamp::from_ms(now.as_ms() - now.as_ms() % 1000);
                vec![self.run_one(name, second, id, (!is_forced).then_some(overlap))]
            }
            Run::Instants(instants) => {
                let run = |at| self.run_one(name, at, JobId::at_instant(name, at), None);
                instants.into_iter().map(run).collect()
            }
        })
    }

    fn run_one(
        &mut self,
        name: &ScheduleName,
        instant: Timestamp,
        id: JobId,
        overlap: Option<Overlap>,
    ) -> Ran {
        let new = self.schedules[name].schedule.job_at(instant, id.clone());
        let new = new.expect("a stored schedule was checked");
        let level = DurabilityLevel::Memory;
        if let Some(reply) = self.existing(&new) {
            return Ran::Enqueued(reply);
        }
        let firing = self.enqueue_scheduled(name, instant, id.clone(), overlap);
        let at = self.now.ms();
        let record = self.schedule_mut(name);
        record.remember(instant, at, firing.clone());
        let current = record.current.clone();
        self.mark_changed();
        if let (Err(_), Some(current)) = (firing, current) {
            return Ran::Overlap(current);
        }
        let state = self.jobs[&id].state;
        Ran::Enqueued(Enqueued::Accepted { id, state, level })
    }

    pub(crate) fn change_schedule(&mut self, name: &ScheduleName, change: ScheduleChange) -> bool {
        let Some(record) = self.schedules.get_mut(name) else {
            return false;
        };
        match change {
            ScheduleChange::Pause | ScheduleChange::Resume => {
                record.is_paused = change == ScheduleChange::Pause;
            }
            ScheduleChange::Delete => {
                let waiting = record.waiting.clone();
                self.schedules.remove(name);
                if let Some(id) = waiting {
                    self.release_pending(&id);
                }
            }
        }
        self.mark_changed();
        true
    }

    fn schedule_mut(&mut self, name: &ScheduleName) -> &mut ScheduleRecord {
        let record = self.schedules.get_mut(name);
        record.expect("the schedule was found in this transaction")
    }
}
