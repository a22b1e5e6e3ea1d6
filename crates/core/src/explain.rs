//! Why a job waits: every reason that a claim has not to hand it out, and when it probably starts.
//!
//! A store reads [`WaitFacts`] in one read-only transaction, without a scan. [`WaitFacts::explain`] decides what they
//! mean, so that the rules are the same for every store.

mod eta;
mod facts;

use std::fmt;

use crate::group::GroupSlot;
use crate::job::{Job, JobState, Progress, Reason};
use crate::limits::{SUSPECT_AFTER, WORKER_SILENCE_MAX};
use crate::name::{BootId, GroupName, JobId};
use crate::rate::Rate;
use crate::text_enum::text_enum;
use crate::time::Timestamp;

pub use self::eta::{Eta, EtaBasis};
pub use self::facts::{GroupFacts, JobsAhead, LastWorker, SlotHolder, WaitFacts};

/// The maximum number of slot holders that an explanation names.
pub const HOLDERS_MAX: usize = 10;

/// Why a job does not run, or what it is doing.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The state of the job.
    pub state: JobState,
    /// All reasons: first the one that binds, then the others in the order in which a claim meets them. Empty if
    /// nothing keeps a ready job from starting: the next claim whose turn it is takes it.
    pub reasons: Vec<WaitReason>,
    /// When the job probably starts. Nothing acts upon it.
    pub eta: Option<Eta>,
}

text_enum! {
    /// The stable word of a reason, in the order in which a claim meets them.
    WaitWord {
        /// The job has finished.
        Final = "final",
        /// A worker runs it.
        Running = "running",
        /// It is not due yet.
        Scheduled = "scheduled",
        /// Another job must end first.
        Pending = "pending",
        /// The queue is paused.
        QueuePaused = "queue_paused",
        /// As many jobs run as the queue allows.
        QueueFull = "queue_full",
        /// The rate of the queue is closed.
        QueueRate = "queue_rate",
        /// A snooze lets the queue rest.
        QueueResting = "queue_resting",
        /// The group is paused.
        GroupPaused = "group_paused",
        /// A snooze lets the group rest.
        GroupResting = "group_resting",
        /// The rate of the group is closed.
        GroupRate = "group_rate",
        /// All slots of the group are in use.
        GroupFull = "group_full",
        /// Another job is at the head of the ordered lane.
        LaneHead = "lane_head",
        /// The job is suspected to crash workers, and is claimed alone.
        Suspect = "suspect",
        /// No worker that serves the queue was seen for a minute.
        NoWorker = "no_worker",
        /// Other jobs come first.
        Behind = "behind",
    }
}

/// One reason with its details.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "the fields are named after what they hold; see `WaitWord`"
)]
pub enum WaitReason {
    Final {
        finished_at: Option<Timestamp>,
        reason: Option<Reason>,
        error: Option<String>,
    },
    Running {
        worker: Option<BootId>,
        since: Option<Timestamp>,
        lease_until: Option<Timestamp>,
        progress: Option<Progress>,
        is_cancel_requested: bool,
    },
    /// A delayed, snoozed or postponed job; one that failed has an `attempt` above 1 and the `error` before it.
    Scheduled {
        until: Timestamp,
        attempt: u32,
        error: Option<String>,
    },
    /// `waits_for` is the job that must end, with its state.
    Pending {
        waits_for: Option<(JobId, JobState)>,
    },
    QueuePaused,
    QueueFull {
        running: u64,
        max_running: u32,
    },
    QueueRate {
        until: Timestamp,
        rate: Rate,
    },
    QueueResting {
        until: Timestamp,
    },
    GroupPaused {
        group: GroupName,
    },
    GroupResting {
        group: GroupName,
        until: Timestamp,
    },
    GroupRate {
        group: GroupName,
        until: Timestamp,
        rate: Rate,
    },
    /// `holders` are up to [`HOLDERS_MAX`] jobs that hold a slot, ordered by id.
    GroupFull {
        group: GroupName,
        slots: u64,
        max_running: u32,
        holders: Vec<SlotHolder>,
    },
    LaneHead {
        group: GroupName,
        head: JobId,
        state: JobState,
    },
    Suspect {
        expiries: u32,
        poison_after: u32,
    },
    /// `last_seen` is when the last worker that serves the queue sent a heartbeat, within 24 hours.
    NoWorker {
        last_seen: Option<Timestamp>,
    },
    Behind {
        ahead: u64,
        is_estimate: bool,
    },
}

impl WaitReason {
    /// Returns the stable word.
    pub const fn word(&self) -> WaitWord {
        match self {
            Self::Final { .. } => WaitWord::Final,
            Self::Running { .. } => WaitWord::Running,
            Self::Scheduled { .. } => WaitWord::Scheduled,
            Self::Pending { .. } => WaitWord::Pending,
            Self::QueuePaused => WaitWord::QueuePaused,
            Self::QueueFull { .. } => WaitWord::QueueFull,
            Self::QueueRate { .. } => WaitWord::QueueRate,
            Self::QueueResting { .. } => WaitWord::QueueResting,
            Self::GroupPaused { .. } => WaitWord::GroupPaused,
            Self::GroupResting { .. } => WaitWord::GroupResting,
            Self::GroupRate { .. } => WaitWord::GroupRate,
            Self::GroupFull { .. } => WaitWord::GroupFull,
            Self::LaneHead { .. } => WaitWord::LaneHead,
            Self::Suspect { .. } => WaitWord::Suspect,
            Self::NoWorker { .. } => WaitWord::NoWorker,
            Self::Behind { .. } => WaitWord::Behind,
        }
    }

    /// Returns when the reason ends, if that is known.
    pub const fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Scheduled { until, .. }
            | Self::QueueRate { until, .. }
            | Self::QueueResting { until }
            | Self::GroupResting { until, .. }
            | Self::GroupRate { until, .. } => Some(*until),
            _ => None,
        }
    }

    /// Returns whether it keeps the job back for an unknown time, whatever else happens.
    fn is_open_ended(&self) -> bool {
        match self {
            Self::QueuePaused
            | Self::QueueFull { .. }
            | Self::GroupPaused { .. }
            | Self::GroupFull { .. }
            | Self::NoWorker { .. } => true,
            Self::LaneHead { state, .. } => *state != JobState::Ready,
            _ => false,
        }
    }
}

impl WaitFacts {
    /// Explains why the job waits.
    pub fn explain(&self) -> Explanation {
        let mut reasons = match self.job.state {
            JobState::Succeeded | JobState::Dead | JobState::Cancelled => vec![self.end()],
            JobState::Running => vec![self.run()],
            JobState::Scheduled | JobState::Pending => self.not_ready(),
            JobState::Ready => self.ready(),
        };
        if self.job.state == JobState::Ready
            && let Some(index) = binding(&reasons)
        {
            reasons[..=index].rotate_right(1);
        }
        Explanation {
            state: self.job.state,
            eta: self.eta(&reasons),
            reasons,
        }
    }

    fn end(&self) -> WaitReason {
        let job = &self.job;
        WaitReason::Final {
            finished_at: job.finished_at,
            reason: job.reason,
            error: job.error.clone().filter(|_| job.state == JobState::Dead),
        }
    }

    fn run(&self) -> WaitReason {
        let job = &self.job;
        WaitReason::Running {
            worker: job.worker.clone(),
            since: job.started_at,
            lease_until: job.lease_until,
            progress: job.progress.clone(),
            is_cancel_requested: job.is_cancel_requested,
        }
    }

    /// The reasons of a job that is not ready: its own, and what would keep it back when it is.
    fn not_ready(&self) -> Vec<WaitReason> {
        let Job { due_at, .. } = self.job;
        let is_scheduled = self.job.state == JobState::Scheduled;
        let own = if is_scheduled {
            let attempt = self.job.attempt;
            WaitReason::Scheduled {
                until: due_at,
                attempt,
                error: self.job.error.clone().filter(|_| attempt > 1),
            }
        } else {
            let waits_for = self.waits_for.clone();
            WaitReason::Pending { waits_for }
        };
        let is_later = |reason: &WaitReason| {
            let until = reason.until();
            !is_scheduled || until.is_none_or(|until| until > due_at)
        };
        let gates = [self.queue_rest(), self.group_pause(), self.group_rest()];
        let gates = [self.queue_pause()].into_iter().chain(gates);
        let gates = gates.chain([self.missing_worker()]).flatten();
        [own].into_iter().chain(gates.filter(is_later)).collect()
    }

    /// The reasons of a ready job, in the order in which a claim meets them.
    fn ready(&self) -> Vec<WaitReason> {
        let reasons = [
            self.queue_pause(),
            self.queue_full(),
            self.queue_rate(),
            self.queue_rest(),
            self.group_pause(),
            self.group_rest(),
            self.group_rate(),
            self.group_full(),
            self.lane_head(),
            self.suspect(),
            self.missing_worker(),
            self.behind(),
        ];
        reasons.into_iter().flatten().collect()
    }

    fn queue_pause(&self) -> Option<WaitReason> {
        self.is_paused.then_some(WaitReason::QueuePaused)
    }

    fn queue_full(&self) -> Option<WaitReason> {
        let max_running = self.settings.max_running?;
        let running = self.running;
        (running >= u64::from(max_running)).then_some(WaitReason::QueueFull {
            running,
            max_running,
        })
    }

    fn queue_rate(&self) -> Option<WaitReason> {
        let (rate, limit) = (self.settings.rate?, self.settings.rate_limit()?);
        let until = limit.closed_until(self.rate_next_us, self.now)?;
        Some(WaitReason::QueueRate { until, rate })
    }

    fn queue_rest(&self) -> Option<WaitReason> {
        let until = self.resting_until;
        (until > self.now.ms()).then_some(WaitReason::QueueResting { until })
    }

    fn group_pause(&self) -> Option<WaitReason> {
        let group = self.group.as_ref()?.name.clone();
        let is_paused = self.group.as_ref()?.is_paused;
        is_paused.then_some(WaitReason::GroupPaused { group })
    }

    fn group_rest(&self) -> Option<WaitReason> {
        let facts = self.group.as_ref()?;
        let (group, until) = (facts.name.clone(), facts.resting_until);
        (until > self.now.ms()).then_some(WaitReason::GroupResting { group, until })
    }

    fn group_rate(&self) -> Option<WaitReason> {
        let facts = self.group.as_ref()?;
        let limit = facts.limits.rate_limit(&self.settings)?;
        Some(WaitReason::GroupRate {
            group: facts.name.clone(),
            until: limit.closed_until(facts.rate_next_us, self.now)?,
            rate: facts.limits.rate.or(self.settings.group_rate)?,
        })
    }

    fn group_full(&self) -> Option<WaitReason> {
        let facts = self.group.as_ref()?;
        let max_running = facts.limits.max_running(&self.settings)?;
        let is_full = facts.slots >= u64::from(max_running) && !facts.holds_slot;
        is_full.then(|| WaitReason::GroupFull {
            group: facts.name.clone(),
            slots: facts.slots,
            max_running,
            holders: facts.holders.clone(),
        })
    }

    fn lane_head(&self) -> Option<WaitReason> {
        let facts = self.group.as_ref()?;
        let is_lane = self.settings.group_slot != GroupSlot::Run && !facts.holds_slot;
        let holder = facts.holders.first();
        let first = holder.map(|holder| (holder.id.clone(), holder.state));
        let first = first.or_else(|| Some((facts.first.clone()?, JobState::Ready)));
        let (head, state) = first.filter(|(head, _)| is_lane && *head != self.job.id)?;
        let group = facts.name.clone();
        Some(WaitReason::LaneHead { group, head, state })
    }

    fn suspect(&self) -> Option<WaitReason> {
        let expiries = self.job.expiries;
        (expiries >= SUSPECT_AFTER).then_some(WaitReason::Suspect {
            expiries,
            poison_after: self.settings.poison_after,
        })
    }

    fn missing_worker(&self) -> Option<WaitReason> {
        let worker = self.last_worker;
        let is_seen = worker.is_some_and(|worker| worker.silent_for < WORKER_SILENCE_MAX);
        let last_seen = worker.map(|worker| worker.last_seen);
        (!is_seen).then_some(WaitReason::NoWorker { last_seen })
    }

    fn behind(&self) -> Option<WaitReason> {
        let ahead = self.ahead.total();
        // The priority of a job does not count in its ordered lane, so those ahead elsewhere are not known exactly.
        let is_mixed = self.group.is_some()
            && self.settings.group_slot.is_lane()
            && self.ahead.more_urgent > 0;
        (ahead > 0).then_some(WaitReason::Behind {
            ahead,
            is_estimate: self.ahead.is_estimate || is_mixed,
        })
    }
}

/// The index of the reason that binds: the first one without a known end, else the one that ends last.
fn binding(reasons: &[WaitReason]) -> Option<usize> {
    let open_ended = reasons.iter().position(WaitReason::is_open_ended);
    let timed = (0..reasons.len()).filter(|index| reasons[*index].until().is_some());
    open_ended.or_else(|| timed.rev().max_by_key(|index| reasons[*index].until()))
}

#[cfg(test)]
mod tests;
