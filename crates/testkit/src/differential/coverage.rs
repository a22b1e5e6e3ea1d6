//! What the steps of a run reached, so that a test which stopped testing something is noticed.

use std::collections::BTreeMap;
use std::fmt;

use windlass_core::dump::QueueDump;
use windlass_core::{Changed, Enqueued, JobState, LeaseStatus, Mode, OutcomeStatus, Timestamp};

use super::reply::Reply;
use super::step::Step;

/// How often each outcome was met.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    counts: BTreeMap<String, u64>,
    steps: u64,
}

/// A shorter run than this may miss a rare outcome without that meaning anything.
const STEPS_ENOUGH: u64 = 15_000;

/// What a long enough run must reach.
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
    "claim nothing",
    "claim jobs",
    "claim repeated",
    "claim suspect",
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
    "state suspect waits",
    "state id remembered",
    "state claim remembered",
    "state lease half reaped",
    "state paused",
];

impl Coverage {
    /// Adds what another run reached.
    pub fn add(&mut self, other: Self) {
        for (what, count) in other.counts {
            *self.counts.entry(what).or_default() += count;
        }
        self.steps += other.steps;
    }

    /// Panics when the runs were long enough and yet missed an outcome they should reach.
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

    /// Counts what a step reached; `is_repeat` says that its claim was handed out before.
    pub(super) fn note(&mut self, step: &Step, reply: &Reply, is_repeat: bool) {
        self.steps += 1;
        match (step, reply) {
            (Step::Enqueue(_, jobs), Reply::Enqueued(answers)) => {
                for (job, answer) in jobs.iter().zip(answers) {
                    let state = answer.state();
                    match answer {
                        Enqueued::Duplicate { id, .. } if *id != job.id => {
                            self.count("enqueue duplicate by key");
                        }
                        Enqueued::Duplicate { .. } => {
                            self.count(format!("enqueue duplicate {state}"));
                        }
                        _ => self.count(format!("enqueue accepted {state}")),
                    }
                }
            }
            (Step::Claim(_, request), Reply::Claim(_)) => {
                self.note_claim(request.mode, reply, is_repeat);
            }
            (Step::Accept(..), Reply::LeaseStatus(held)) => self.note_held("accept", *held),
            (Step::Progress(..), Reply::LeaseStatus(held)) => self.note_held("progress", *held),
            (Step::Complete(..), Reply::Completed(completed)) => {
                self.note_settled("complete", &completed.statuses);
                if completed.next.is_some() {
                    self.count("complete and claim");
                }
            }
            (Step::Fail(..), Reply::OutcomeStatus(settled)) => self.note_settled("fail", settled),
            (Step::Release(..), Reply::OutcomeStatus(settled)) => {
                self.note_settled("release", settled)
            }
            (Step::Snooze(..), Reply::OutcomeStatus(settled)) => {
                self.note_settled("snooze", settled)
            }
            _ => self.note_rest(step, reply),
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
        match mode {
            Mode::AtLeastOnce => {}
            Mode::AtMostOnce => self.count("claim at most once"),
            Mode::Dispatch => self.count("claim dispatch"),
        }
    }

    fn note_held(&mut self, verb: &str, held: LeaseStatus) {
        self.count(format!(
            "{verb} {}",
            if held == LeaseStatus::Valid {
                "yes"
            } else {
                "lost"
            }
        ));
    }

    fn note_settled(&mut self, verb: &str, settled: &[OutcomeStatus]) {
        for settled in settled {
            self.count(format!("{verb} {settled}"));
        }
    }

    fn note_rest(&mut self, step: &Step, reply: &Reply) {
        match (step, reply) {
            (Step::Renew(..), Reply::Renewed(renewed)) => {
                let is_held = renewed.until.is_some();
                self.count(if is_held {
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
            (Step::Change(_, change, _), Reply::Changes(changes)) => {
                let verb = format!("{change:?}").to_lowercase();
                for item in changes {
                    self.count(format!("{verb} {}", word(&item.changed)));
                }
            }
            (Step::Maintain(..), Reply::Maintained(done)) => {
                for (what, count) in [
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
            (Step::Purge(_), Reply::Count(1..)) => self.count("purge some"),
            (Step::Leave(..), Reply::Count(1..)) => self.count("leave some"),
            (Step::FailWorker(_), Reply::Failed(None)) => self.count("fail worker unknown"),
            (Step::FailWorker(_), Reply::Failed(Some(1..))) => self.count("fail worker some"),
            (Step::Heartbeat(_), Reply::Told(told)) => self.count(format!("heartbeat {told}")),
            _ => {}
        }
    }

    /// Counts what a state shows.
    pub(super) fn note_dump(&mut self, dump: &QueueDump) {
        for job in dump.jobs.iter().filter(|job| job.state == JobState::Dead) {
            if let Some(reason) = job.reason {
                self.count(format!("dead {reason}"));
            }
        }
        let marks = [
            (
                "state suspect waits",
                dump.ready.iter().any(|lanes| !lanes.0.is_empty()),
            ),
            ("state id remembered", !dump.tombstones.is_empty()),
            (
                "state claim remembered",
                dump.claims.iter().any(|c| c.finished_at.is_some()),
            ),
            ("state paused", dump.stats.is_paused),
            (
                "state lease half reaped",
                dump.leases
                    .iter()
                    .any(|lease| lease.until == Timestamp::default()),
            ),
        ];
        for (what, is_so) in marks {
            if is_so {
                self.count(what);
            }
        }
    }
}

fn word(changed: &Changed) -> &'static str {
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
