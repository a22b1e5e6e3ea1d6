//! The record of a schedule, and what happens to it. Pure, with the same result in every store.

use super::{
    DueInstants, KNOWN_FOREVER, PlannedInstant, Refill, RefillRequest, Schedule, SkipReason,
    next_refill,
};
use crate::job::JobState;
use crate::limits::HISTORY_MAX;
use crate::name::JobId;
use crate::time::Timestamp;

/// A schedule and its state.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleRecord {
    /// The definition.
    pub schedule: Schedule,
    /// Changes with each change of the definition, and never repeats in a queue.
    pub revision: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Instants up to this one are settled.
    pub settled_until: Timestamp,
    /// The known instants after that, in order.
    pub instants: Vec<PlannedInstant>,
    /// `instants` has every instant up to this time: [`KNOWN_FOREVER`] if there are no others.
    pub known_until: Timestamp,
    /// How its instants were settled.
    pub total: ScheduleTotals,
    /// The latest job, until it ends.
    pub current: Option<JobId>,
    /// The job that waits for the end of the current one.
    pub waiting: Option<JobId>,
    /// How the latest job that ended did so. A purged job did not.
    pub last_end: Option<ScheduleEnd>,
    /// The latest occurrences, oldest first.
    pub history: Vec<Occurrence>,
}

impl ScheduleRecord {
    /// Creates the record of a new schedule. It has revision 0 and no instants until it is defined.
    pub fn new(schedule: Schedule, now: Timestamp) -> Self {
        Self {
            schedule,
            revision: 0,
            created_at: now,
            is_paused: false,
            settled_until: now,
            instants: Vec::new(),
            known_until: now,
            total: ScheduleTotals::default(),
            current: None,
            waiting: None,
            last_end: None,
            history: Vec::new(),
        }
    }

    /// Sets the definition. Its instants begin after now and after the last one that was settled.
    pub fn define(&mut self, schedule: Schedule, revision: u64, now: Timestamp) {
        self.schedule = schedule;
        self.revision = revision;
        self.settled_until = self.settled_until.max(now);
        self.instants.clear();
        self.known_until = self.settled_until;
        self.end_after_last_time();
    }

    /// Asks for instants, if it needs some now.
    pub fn refill_request(&self, now: Timestamp) -> Option<RefillRequest> {
        let at = next_refill(&self.instants, self.known_until)?;
        (at <= now).then(|| RefillRequest {
            name: self.schedule.name.clone(),
            revision: self.revision,
            rule: self.schedule.rule.clone(),
            after: self.settled_until,
            now,
        })
    }

    /// Replaces the known instants. Returns false if the refill is outdated.
    pub fn refill(&mut self, refill: Refill) -> bool {
        let is_outdated = refill.revision != self.revision
            || (refill.missed > 0 && refill.after != self.settled_until)
            || refill.known_until < self.settled_until
            || self.has_ended();
        if is_outdated {
            return false;
        }
        if refill.missed > 0 {
            self.total.missed += refill.missed;
            self.settled_until = refill.missed_until;
        }
        let settled_until = self.settled_until;
        self.instants = refill.instants;
        self.instants.retain(|instant| instant.at > settled_until);
        self.known_until = refill.known_until;
        true
    }

    /// Returns when the first known instant is due.
    pub fn fires_at(&self) -> Option<Timestamp> {
        self.instants.first().map(|instant| instant.fires_at())
    }

    /// Takes the due instants. If some until now may be unknown, it forgets those that it knows and waits for
    /// a refill, which has all of them: until then it has nothing to fire, and no claim looks at it again.
    pub fn take_due(&mut self, now: Timestamp) -> DueInstants {
        if self.known_until < now {
            self.instants.clear();
        }
        DueInstants::take(&self.schedule, &mut self.instants, now)
    }

    /// Counts a due instant and adds it to the history.
    pub fn settle(
        &mut self,
        instant: Timestamp,
        at: Timestamp,
        firing: std::result::Result<JobId, SkipReason>,
    ) {
        match firing {
            Ok(_) => self.total.fired += 1,
            Err(SkipReason::Missed) => self.total.missed += 1,
            Err(_) => self.total.skipped += 1,
        }
        self.remember(instant, at, firing);
        self.end_after_last_time();
    }

    /// Adds an instant, or a job enqueued by hand, to the history.
    pub fn remember(
        &mut self,
        instant: Timestamp,
        at: Timestamp,
        firing: std::result::Result<JobId, SkipReason>,
    ) {
        if self.history.len() == HISTORY_MAX {
            self.history.remove(0);
        }
        self.history.push(Occurrence {
            instant,
            at,
            firing,
        });
    }

    /// Returns whether it fired as often as it may.
    pub fn has_ended(&self) -> bool {
        let times = self.schedule.times;
        times.is_some_and(|times| self.total.fired >= times)
    }

    /// Forgets the other instants once it fired as often as it may.
    fn end_after_last_time(&mut self) {
        if self.has_ended() {
            self.instants.clear();
            self.known_until = KNOWN_FOREVER;
        }
    }

    /// Records that a job ended in a state or was purged. Returns the job that waited for it and must be
    /// released.
    pub fn end_job(
        &mut self,
        id: &JobId,
        state: Option<JobState>,
        at: Timestamp,
    ) -> Option<&JobId> {
        if self.waiting.as_ref() == Some(id) {
            self.waiting = None;
        }
        if self.current.as_ref() != Some(id) {
            return None;
        }
        if let Some(state) = state {
            let id = id.clone();
            self.last_end = Some(ScheduleEnd { id, state, at });
        }
        self.current = self.waiting.take();
        self.current.as_ref()
    }
}

/// How the instants of a schedule were settled: each counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScheduleTotals {
    /// Instants that enqueued a job.
    pub fired: u64,
    /// Instants that no process settled in time.
    pub missed: u64,
    /// Instants skipped for another reason.
    pub skipped: u64,
}

/// How a job of a schedule ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleEnd {
    /// The job.
    pub id: JobId,
    /// Its final state.
    pub state: JobState,
    /// When it ended.
    pub at: Timestamp,
}

/// An instant that was settled, or a job enqueued by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// The instant.
    pub instant: Timestamp,
    /// When it was settled.
    pub at: Timestamp,
    /// The job, or why it was not enqueued.
    pub firing: std::result::Result<JobId, SkipReason>,
}
