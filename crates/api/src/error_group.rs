//! The JSON forms of a group of errors, and of an attempt on record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{AttemptEnd, AttemptRecord, BootId, ErrorGroup, JobId, Kind};
use windlass_core::{Error, Result};

use crate::timestamp;
use crate::word::{self, Word};

/// Equal errors of a queue: of one kind of job, with the same message except for numbers, ids and quoted texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorGroupReply {
    /// Identifies the group within its queue: 16 hexadecimal digits.
    pub fingerprint: String,
    /// The kind of the jobs.
    pub kind: Option<String>,
    /// The first line of the message, with `#` instead of numbers, ids and quoted texts.
    pub message: String,
    /// The last error, truncated to 1 KiB.
    pub example: String,
    /// The last job that failed with it.
    pub last_job: String,
    /// How often it was seen.
    pub count: u64,
    /// When it was first seen.
    pub first_seen: String,
    /// When it was last seen.
    pub last_seen: String,
    /// How often it was seen in each of the last 24 hours, oldest first; the last is the current hour.
    pub hours: Vec<u64>,
}

impl From<&ErrorGroup> for ErrorGroupReply {
    fn from(group: &ErrorGroup) -> Self {
        Self {
            fingerprint: group.fingerprint().to_string(),
            kind: group.kind.as_ref().map(ToString::to_string),
            message: group.message.clone(),
            example: group.example.clone(),
            last_job: group.last_job.to_string(),
            count: group.count,
            first_seen: timestamp::format(group.first_seen),
            last_seen: timestamp::format(group.last_seen),
            hours: group.hours.to_vec(),
        }
    }
}

impl ErrorGroupReply {
    /// Converts the reply back.
    pub fn into_group(self) -> Result<ErrorGroup> {
        let hours = self.hours.try_into();
        let help = "use the same version of Windlass on both sides";
        let bad = |_| Error::invalid("error group", "expected 24 hours", help);
        Ok(ErrorGroup {
            kind: self.kind.map(Kind::new).transpose()?,
            message: self.message,
            example: self.example,
            last_job: JobId::new(&self.last_job)?,
            count: self.count,
            first_seen: timestamp::parse(&self.first_seen)?,
            last_seen: timestamp::parse(&self.last_seen)?,
            hours: hours.map_err(bad)?,
        })
    }
}

/// An attempt that failed or lost its lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptReply {
    /// Its number. An attempt that expired is not counted: the next one has the same number.
    pub attempt: u32,
    /// When the job was claimed.
    pub started_at: String,
    /// When the attempt failed, or the store took the job back.
    pub ended_at: String,
    /// The worker, if known.
    pub worker: Option<String>,
    /// `failed`, or `expired` if the lease expired or the worker was declared dead.
    #[serde(deserialize_with = "word::read")]
    pub how: Word,
    /// The error of a failed attempt, truncated to 1 KiB.
    pub error: Option<String>,
}

impl From<&AttemptRecord> for AttemptReply {
    fn from(attempt: &AttemptRecord) -> Self {
        Self {
            attempt: attempt.attempt,
            started_at: timestamp::format(attempt.started_at),
            ended_at: timestamp::format(attempt.ended_at),
            worker: attempt.worker.as_ref().map(ToString::to_string),
            how: attempt.how.as_str(),
            error: attempt.error.clone(),
        }
    }
}

impl AttemptReply {
    /// Converts the reply back.
    pub fn into_record(self) -> Result<AttemptRecord> {
        let names: Vec<_> = AttemptEnd::ALL.iter().map(|how| how.as_str()).collect();
        let how = AttemptEnd::from_text(self.how);
        Ok(AttemptRecord {
            attempt: self.attempt,
            started_at: timestamp::parse(&self.started_at)?,
            ended_at: timestamp::parse(&self.ended_at)?,
            worker: self.worker.map(BootId::new).transpose()?,
            how: how.ok_or_else(|| Error::unknown("end of an attempt", self.how, &names))?,
            error: self.error,
        })
    }
}
