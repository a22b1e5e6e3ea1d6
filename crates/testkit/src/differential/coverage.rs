//! Counts the outcomes that a run reached, and checks that none is missing.

mod groups;
mod state;

use std::collections::BTreeMap;
use std::fmt;

use windlass_core::limits::CLAIM_BYTES_MAX;
use windlass_core::store::{Changed, LeaseStatus, Ran};
use windlass_core::{Enqueued, Mode, OutcomeStatus};

use super::generate::LARGE_BYTES;
use super::operation::Operation;
use super::reply::Reply;

/// The number of times each outcome was reached.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    counts: BTreeMap<String, u64>,
    steps: u64,
}

/// A shorter run may miss a rare outcome.
const STEPS_ENOUGH: u64 = 15_000;

/// The outcomes that a long run must reach.
const EXPECTED: &[&str] = &[
    "enqueue accepted ready",
    "enqueue accepted scheduled",
    "enqueue duplicate scheduled",
    "enqueue duplicate ready",
    "enqueue duplicate running",
    "enqueue duplicate succeeded",
    "enqueue duplicate dead",
    "enqueue duplicate cancelled",
    "enqueue duplicate by key",
    "enqueue replaced ready",
    "enqueue replaced scheduled",
    "enqueue replaced pending",
    "enqueue postponed scheduled",
    "enqueue postponed pending",
    "claim nothing",
    "claim jobs",
    "claim repeated",
    "claim suspect",
    "why final",
    "why running",
    "why scheduled",
    "why pending",
    "why queue_paused",
    "why queue_full",
    "why queue_rate",
    "why queue_resting",
    "why group_paused",
    "why group_resting",
    "why group_rate",
    "why group_full",
    "why lane_head",
    "why suspect",
    "why no_worker",
    "why behind",
    "claim full of bytes",
    "claim at most once",
    "claim dispatch",
    "accept yes",
    "accept lost",
    "progress yes",
    "progress lost",
    "renew kept",
    "renew nothing held",
    "renew lost",
    "renew cancel",
    "complete completed",
    "complete lease_lost",
    "complete gone",
    "complete and claim",
    "fail scheduled",
    "fail dead",
    "fail cancelled",
    "fail lease_lost",
    "fail gone",
    "release released",
    "release cancelled",
    "release lease_lost",
    "release gone",
    "snooze snoozed",
    "snooze cancelled",
    "snooze lease_lost",
    "snooze gone",
    "cancel done",
    "cancel will stop",
    "cancel wrong state",
    "cancel not found",
    "retry done",
    "retry conflict",
    "retry wrong state",
    "retry not found",
    "delete done",
    "delete wrong state",
    "delete not found",
    "promote done",
    "promote wrong state",
    "promote not found",
    "maintain promoted",
    "maintain reaped",
    "maintain expired",
    "maintain pruned",
    "maintain instants",
    "put created",
    "put changed",
    "put same",
    "run accepted",
    "run duplicate",
    "run overlap",
    "purge some",
    "leave some",
    "fail worker unknown",
    "fail worker some",
    "heartbeat continue",
    "heartbeat pause",
    "heartbeat stop",
    "heartbeat reregister",
    "dead exhausted",
    "dead permanent",
    "dead deadline",
    "dead poison",
    "dead expired",
    "state several waits in a minute",
    "state suspect waits",
    "state id remembered",
    "state key held",
    "state amendment remembered",
    "state claim remembered",
    "state lease half reaped",
    "state paused",
    "state pending",
    "state queue full",
    "state rate closed",
    "state queue rests",
    "state group full",
    "state group closed",
    "state group rests",
    "state group paused",
    "state group waits for a suspect",
    "state slot of a waiting job",
    "state slot of a dead job",
    "state limits of a group",
    "state skipped missed",
    "state skipped overlap",
    "state skipped paused",
    "state skipped duplicate",
    "state fired",
    "state schedule ended",
];

impl Coverage {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: Self) {
        for (what, count) in other.counts {
            *self.counts.entry(what).or_default() += count;
        }
        self.steps += other.steps;
    }

    /// Panics if the runs were long enough but missed an expected outcome.
    pub fn assert_reached(&self) {
        let is_missing = |what: &&&str| !self.counts.contains_key(**what);
        let missing: Vec<_> = EXPECTED.iter().filter(is_missing).collect();
        assert!(
            missing.is_empty() || self.steps < STEPS_ENOUGH,
            "{} steps never reached {missing:?}; they reached\n{self}",
            self.steps
        );
    }

    fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    /// Counts the outcomes of an operation. `is_repeat` means that its claim was seen before.
    pub(super) fn note(&mut self, operation: &Operation, reply: &Reply, is_repeat: bool) {
        self.steps += 1;
        match (operation, reply) {
            (Operation::Enqueue(_, jobs), Reply::Enqueued(replies)) => {
                for (job, enqueued) in jobs.iter().zip(replies) {
                    let state = enqueued.state();
                    match enqueued {
                        Enqueued::Duplicate { id, .. } if *id != job.id => {
                            self.count("enqueue duplicate by key");
                        }
                        Enqueued::Duplicate { .. } => {
                            self.count(format!("enqueue duplicate {state}"));
                        }
                        Enqueued::Replaced { .. } => {
                            self.count(format!("enqueue replaced {state}"));
                        }
                        Enqueued::Postponed { .. } => {
                            self.count(format!("enqueue postponed {state}"));
                        }
                        _ => self.count(format!("enqueue accepted {state}")),
                    }
                }
            }
            (Operation::Claim(_, request), Reply::Claim(_)) => {
                self.note_claim(request.mode, reply, is_repeat);
            }
            (Operation::Accept(..), Reply::LeaseStatus(status)) => {
                self.note_lease("accept", *status);
            }
            (Operation::Progress(..), Reply::LeaseStatus(status)) => {
                self.note_lease("progress", *status);
            }
            (Operation::Complete(..), Reply::Completed(completed)) => {
                self.note_statuses("complete", &completed.statuses);
                if completed.next.is_some() {
                    self.count("complete and claim");
                }
            }
            (Operation::Fail(..), Reply::OutcomeStatus(statuses)) => {
                self.note_statuses("fail", statuses);
            }
            (Operation::Release(..), Reply::OutcomeStatus(statuses)) => {
                self.note_statuses("release", statuses);
            }
            (Operation::Snooze(..), Reply::OutcomeStatus(statuses)) => {
                self.note_statuses("snooze", statuses);
            }
            _ => self.note_rest(operation, reply),
        }
    }

    fn note_claim(&mut self, mode: Mode, reply: &Reply, is_repeat: bool) {
        let Some(claim) = reply.claim() else {
            return self.count("claim nothing");
        };
        self.count(if is_repeat {
            "claim repeated"
        } else {
            "claim jobs"
        });
        if claim.jobs.len() == 1 && claim.jobs[0].expiries >= 2 {
            self.count("claim suspect");
        }
        let bytes: usize = claim.jobs.iter().map(|job| job.payload.len()).sum();
        if bytes > CLAIM_BYTES_MAX - LARGE_BYTES {
            self.count("claim full of bytes");
        }
        match mode {
            Mode::AtLeastOnce => {}
            Mode::AtMostOnce => self.count("claim at most once"),
            Mode::Dispatch => self.count("claim dispatch"),
        }
    }

    fn note_lease(&mut self, verb: &str, status: LeaseStatus) {
        self.count(format!(
            "{verb} {}",
            if status == LeaseStatus::Valid {
                "yes"
            } else {
                "lost"
            }
        ));
    }

    fn note_statuses(&mut self, verb: &str, statuses: &[OutcomeStatus]) {
        for status in statuses {
            self.count(format!("{verb} {status}"));
        }
    }

    fn note_rest(&mut self, operation: &Operation, reply: &Reply) {
        match (operation, reply) {
            (Operation::Renew(..), Reply::Renewed(renewed)) => {
                let has_lease = renewed.until.is_some();
                self.count(if has_lease {
                    "renew kept"
                } else {
                    "renew nothing held"
                });
                if !renewed.lost.is_empty() {
                    self.count("renew lost");
                }
                if !renewed.cancel.is_empty() {
                    self.count("renew cancel");
                }
            }
            (Operation::Change(_, change, _), Reply::Changes(changes)) => {
                for item in changes {
                    self.count(format!("{change} {}", outcome(&item.changed)));
                }
            }
            (Operation::Maintain(..), Reply::Maintained(done)) => {
                for (what, count) in [
                    ("maintain instants", done.instants),
                    ("maintain promoted", done.promoted),
                    ("maintain reaped", done.reaped),
                    ("maintain expired", done.expired),
                    ("maintain pruned", done.pruned),
                ] {
                    if count > 0 {
                        self.count(what);
                    }
                }
            }
            (Operation::PutSchedule(..), Reply::Put(put)) => self.count(match put.changed {
                None => "put created",
                Some(true) => "put changed",
                Some(false) => "put same",
            }),
            (Operation::RunSchedule(..), Reply::Ran(Some(replies))) => {
                for reply in replies {
                    self.count(match reply {
                        Ran::Enqueued(reply) if reply.is_duplicate() => "run duplicate",
                        Ran::Enqueued(_) => "run accepted",
                        Ran::Overlap(_) => "run overlap",
                    });
                }
            }
            (Operation::Purge(_), Reply::Count(1..)) => self.count("purge some"),
            (Operation::Leave(..), Reply::Count(1..)) => self.count("leave some"),
            (Operation::FailWorker(_), Reply::Failed(None)) => self.count("fail worker unknown"),
            (Operation::FailWorker(_), Reply::Failed(Some(1..))) => self.count("fail worker some"),
            (Operation::Heartbeat(_), Reply::Command(command)) => {
                self.count(format!("heartbeat {command}"));
            }
            _ => {}
        }
    }

    /// Counts the reasons of a job.
    pub(super) fn note_explanation(&mut self, reply: &Reply) {
        if let Reply::Explained(Some(explanation)) = reply {
            for reason in &explanation.reasons {
                self.count(format!("why {}", reason.word()));
            }
        }
    }
}

fn outcome(changed: &Changed) -> &'static str {
    match changed {
        Changed::Done => "done",
        Changed::WillStop => "will stop",
        Changed::WrongState(_) => "wrong state",
        Changed::Conflict(_) => "conflict",
        Changed::NotFound => "not found",
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.counts {
            writeln!(f, "{count:>8}  {what}")?;
        }
        write!(f, "{:>8}  steps", self.steps)
    }
}
