//! The JSON form of an explanation.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::explain::{Eta, EtaBasis, Explanation, SlotHolder, WaitReason, WaitWord};
use windlass_core::rate::Rate;
use windlass_core::store::{Fraction, GroupName, Progress, Reason};
use windlass_core::time::as_ms;
use windlass_core::{BootId, Error, JobId, JobState, QueueName, Result, Timestamp};

use crate::job::job_state;
use crate::timestamp;
use crate::word::{self, Word};

/// Why a job waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhyReply {
    /// The job id.
    pub id: String,
    /// The queue.
    pub queue: String,
    /// The state of the job.
    #[serde(deserialize_with = "word::read")]
    pub state: Word,
    /// All reasons, the one that binds first. Empty if nothing keeps a ready job from starting.
    pub reasons: Vec<ReasonReply>,
    /// In how many milliseconds the job probably starts; null if that is unknown.
    pub eta_ms: Option<u64>,
    /// What the estimate is computed from: `until`, `throughput`, `queue_rate`, `group_rate` or `group_slots`.
    #[serde(deserialize_with = "word::read_optional")]
    pub eta_basis: Option<Word>,
}

/// One reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReasonReply {
    /// Its stable word.
    #[serde(deserialize_with = "word::read")]
    pub reason: Word,
    /// When it ends, if that is known.
    pub until: Option<String>,
    /// What is known about it. Each reason has other fields.
    pub detail: DetailReply,
}

/// The details of a reason. Fields that do not apply are missing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DetailReply {
    /// When the job finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Why the job is dead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "word::read_optional")]
    pub dead_reason: Option<Word>,
    /// The error of the last failed attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The worker that runs the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Since when the job runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// When the lease ends, unless it is renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<String>,
    /// The fraction done, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// The message with the progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_message: Option<String>,
    /// When the progress was reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_at: Option<String>,
    /// Whether the running job was asked to stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_requested: Option<bool>,
    /// The number of the next attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The job that must end first, or the head of the ordered lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The state of that job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "word::read_optional")]
    pub job_state: Option<Word>,
    /// The group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The running jobs of the queue, or the slots of the group in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<u64>,
    /// The maximum of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_running: Option<u32>,
    /// The rate that is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// Up to 10 jobs that hold a slot of the group, ordered by id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holders: Option<Vec<HolderReply>>,
    /// How often a lease on the job expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiries: Option<u32>,
    /// The number of expiries that makes it dead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poison_after: Option<u32>,
    /// When the last worker that serves the queue was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<String>,
    /// How many jobs come first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// Whether that number is an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<bool>,
}

/// A job that holds a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HolderReply {
    /// The job id.
    pub id: String,
    /// Its state.
    #[serde(deserialize_with = "word::read")]
    pub state: Word,
    /// The worker that runs it, if known.
    pub worker: Option<String>,
    /// Since when it runs.
    pub since: Option<String>,
}

impl WhyReply {
    /// Creates the reply for one job.
    pub fn new(queue: &QueueName, id: &JobId, explanation: &Explanation) -> Self {
        let eta = explanation.eta;
        Self {
            id: id.to_string(),
            queue: queue.to_string(),
            state: explanation.state.as_str(),
            reasons: explanation.reasons.iter().map(ReasonReply::new).collect(),
            eta_ms: eta.map(|eta| as_ms(eta.after)),
            eta_basis: eta.map(|eta| eta.basis.as_str()),
        }
    }

    /// Converts the reply back.
    pub fn into_explanation(self) -> Result<Explanation> {
        let basis = self.eta_basis.and_then(EtaBasis::from_text);
        let eta = self.eta_ms.zip(basis).map(|(ms, basis)| Eta {
            after: Duration::from_millis(ms),
            basis,
        });
        let reasons = self.reasons.into_iter().map(ReasonReply::into_reason);
        Ok(Explanation {
            state: job_state(self.state)?,
            reasons: reasons.collect::<Result<_>>()?,
            eta,
        })
    }
}

impl ReasonReply {
    fn new(reason: &WaitReason) -> Self {
        Self {
            reason: reason.word().as_str(),
            until: reason.until().map(timestamp::format),
            detail: DetailReply::new(reason),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm per reason")]
    fn into_reason(self) -> Result<WaitReason> {
        let (word, detail) = (self.reason, self.detail);
        let missing = || {
            let why = format!("the reason {word} lacks a field");
            Error::invalid("reply", why, "use versions of Windlass that fit together")
        };
        let until = time(self.until)?;
        let group = detail.group.map(GroupName::new).transpose()?;
        let group = || group.clone().ok_or_else(missing);
        let rate = detail.rate.map(|rate| rate.parse::<Rate>()).transpose()?;
        let job = detail.job.map(JobId::new).transpose()?;
        let job = job.zip(detail.job_state.map(job_state).transpose()?);
        let kind = WaitWord::from_text(word).ok_or_else(missing)?;
        Ok(match kind {
            WaitWord::Final => WaitReason::Final {
                finished_at: time(detail.finished_at)?,
                reason: detail.dead_reason.and_then(Reason::from_text),
                error: detail.error,
            },
            WaitWord::Running => WaitReason::Running {
                worker: detail.worker.map(BootId::new).transpose()?,
                since: time(detail.since)?,
                lease_until: time(detail.lease_until)?,
                progress: match detail.progress {
                    None => None,
                    Some(fraction) => Some(Progress {
                        fraction: Fraction::new(fraction)?,
                        message: detail.progress_message,
                        at: time(detail.progress_at)?.unwrap_or_default(),
                    }),
                },
                is_cancel_requested: detail.cancel_requested.unwrap_or(false),
            },
            WaitWord::Scheduled => WaitReason::Scheduled {
                until: until.ok_or_else(missing)?,
                attempt: detail.attempt.unwrap_or(1),
                error: detail.error,
            },
            WaitWord::Pending => WaitReason::Pending { waits_for: job },
            WaitWord::QueuePaused => WaitReason::QueuePaused,
            WaitWord::QueueFull => WaitReason::QueueFull {
                running: detail.running.ok_or_else(missing)?,
                max_running: detail.max_running.ok_or_else(missing)?,
            },
            WaitWord::QueueRate => WaitReason::QueueRate {
                until: until.ok_or_else(missing)?,
                rate: rate.ok_or_else(missing)?,
            },
            WaitWord::QueueResting => WaitReason::QueueResting {
                until: until.ok_or_else(missing)?,
            },
            WaitWord::GroupPaused => WaitReason::GroupPaused { group: group()? },
            WaitWord::GroupResting => WaitReason::GroupResting {
                group: group()?,
                until: until.ok_or_else(missing)?,
            },
            WaitWord::GroupRate => WaitReason::GroupRate {
                group: group()?,
                until: until.ok_or_else(missing)?,
                rate: rate.ok_or_else(missing)?,
            },
            WaitWord::GroupFull => WaitReason::GroupFull {
                group: group()?,
                slots: detail.running.ok_or_else(missing)?,
                max_running: detail.max_running.ok_or_else(missing)?,
                holders: {
                    let holders = detail.holders.unwrap_or_default().into_iter();
                    holders
                        .map(HolderReply::into_holder)
                        .collect::<Result<_>>()?
                },
            },
            WaitWord::LaneHead => {
                let (head, state) = job.ok_or_else(missing)?;
                let group = group()?;
                WaitReason::LaneHead { group, head, state }
            }
            WaitWord::Suspect => WaitReason::Suspect {
                expiries: detail.expiries.ok_or_else(missing)?,
                poison_after: detail.poison_after.ok_or_else(missing)?,
            },
            WaitWord::NoWorker => WaitReason::NoWorker {
                last_seen: time(detail.last_seen)?,
            },
            WaitWord::Behind => WaitReason::Behind {
                ahead: detail.ahead.ok_or_else(missing)?,
                is_estimate: detail.estimate.unwrap_or(false),
            },
        })
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the field is moved out of the reply"
)]
fn time(text: Option<String>) -> Result<Option<Timestamp>> {
    text.as_deref().map(timestamp::parse).transpose()
}

impl DetailReply {
    #[expect(clippy::too_many_lines, reason = "one arm per reason")]
    fn new(reason: &WaitReason) -> Self {
        let mut detail = Self::default();
        let format = |at: &Option<Timestamp>| at.map(timestamp::format);
        match reason {
            WaitReason::Final {
                finished_at,
                reason,
                error,
            } => {
                detail.finished_at = format(finished_at);
                detail.dead_reason = reason.map(Reason::as_str);
                detail.error.clone_from(error);
            }
            WaitReason::Running {
                worker,
                since,
                lease_until,
                progress,
                is_cancel_requested,
            } => {
                detail.worker = worker.as_ref().map(ToString::to_string);
                detail.since = format(since);
                detail.lease_until = format(lease_until);
                if let Some(progress) = progress {
                    detail.progress = Some(progress.fraction.get());
                    detail.progress_message.clone_from(&progress.message);
                    detail.progress_at = Some(timestamp::format(progress.at));
                }
                detail.cancel_requested = Some(*is_cancel_requested);
            }
            WaitReason::Scheduled { attempt, error, .. } => {
                detail.attempt = Some(*attempt);
                detail.error.clone_from(error);
            }
            WaitReason::Pending { waits_for } => {
                detail.set_job(waits_for.as_ref().map(|(id, state)| (id, *state)));
            }
            WaitReason::QueueFull {
                running,
                max_running,
            } => {
                detail.running = Some(*running);
                detail.max_running = Some(*max_running);
            }
            WaitReason::QueueRate { rate, .. } => detail.rate = Some(rate.to_string()),
            WaitReason::GroupPaused { group } | WaitReason::GroupResting { group, .. } => {
                detail.group = Some(group.to_string());
            }
            WaitReason::GroupRate { group, rate, .. } => {
                detail.group = Some(group.to_string());
                detail.rate = Some(rate.to_string());
            }
            WaitReason::GroupFull {
                group,
                slots,
                max_running,
                holders,
            } => {
                detail.group = Some(group.to_string());
                detail.running = Some(*slots);
                detail.max_running = Some(*max_running);
                detail.holders = Some(holders.iter().map(HolderReply::new).collect());
            }
            WaitReason::LaneHead { group, head, state } => {
                detail.group = Some(group.to_string());
                detail.set_job(Some((head, *state)));
            }
            WaitReason::Suspect {
                expiries,
                poison_after,
            } => {
                detail.expiries = Some(*expiries);
                detail.poison_after = Some(*poison_after);
            }
            WaitReason::NoWorker { last_seen } => detail.last_seen = format(last_seen),
            WaitReason::Behind { ahead, is_estimate } => {
                detail.ahead = Some(*ahead);
                detail.estimate = Some(*is_estimate);
            }
            WaitReason::QueuePaused | WaitReason::QueueResting { .. } => {}
        }
        detail
    }

    fn set_job(&mut self, job: Option<(&JobId, JobState)>) {
        self.job = job.map(|(id, _)| id.to_string());
        self.job_state = job.map(|(_, state)| state.as_str());
    }
}

impl HolderReply {
    fn new(holder: &SlotHolder) -> Self {
        Self {
            id: holder.id.to_string(),
            state: holder.state.as_str(),
            worker: holder.worker.as_ref().map(ToString::to_string),
            since: holder.since.map(timestamp::format),
        }
    }

    fn into_holder(self) -> Result<SlotHolder> {
        Ok(SlotHolder {
            id: JobId::new(&self.id)?,
            state: job_state(self.state)?,
            worker: self.worker.map(BootId::new).transpose()?,
            since: time(self.since)?,
        })
    }
}
