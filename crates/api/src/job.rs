//! The JSON form of a job.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{
    Fraction, GroupName, Headers, Kind, Progress, Reason, UniqueKey, UniqueUntil,
};
use windlass_core::time::as_ms;
use windlass_core::{
    BootId, Error, Job, JobId, JobState, Priority, QueueName, Result, RetryPolicy, ScheduleName,
};

use crate::enqueue::unique_until;
use crate::error_group::AttemptReply;
use crate::retry::RetryDelays;
use crate::word::{self, Word};
use crate::{content, timestamp};

/// A job. Listings omit payload, result, attempts and `lease_until`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the fields are those of `windlass_core::Job`")]
pub struct JobReply {
    pub id: String,
    pub queue: String,
    #[serde(deserialize_with = "word::read")]
    pub state: Word,
    pub kind: Option<String>,
    pub priority: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub attempt: u32,
    pub max_attempts: u32,
    pub expiries: u32,
    /// The fraction done, from 0 to 1.
    pub progress: Option<f64>,
    pub progress_message: Option<String>,
    pub created_at: String,
    pub due_at: String,
    pub expires_at: Option<String>,
    pub started_at: Option<String>,
    pub finished_at: Option<String>,
    pub timeout_ms: Option<u64>,
    pub unique_key: Option<String>,
    /// `start` if the first claim frees the unique key. If it is missing, the end of the job does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "word::read_optional")]
    pub unique_until: Option<Word>,
    /// The unique key stays held at least this long after `created_at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_for_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_base64: Option<String>,
    pub error: Option<String>,
    /// The last attempts that failed or lost their lease, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptReply>,
    #[serde(deserialize_with = "word::read_optional")]
    pub reason: Option<Word>,
    pub worker: Option<String>,
    /// When the lease of a running job ends, unless it is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<String>,
    pub cancel_requested: bool,
    /// What few callers need, if the request has `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<FullJob>,
}

/// What few callers need of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FullJob {
    /// Whether the caller chose the id.
    pub named: bool,
    /// Whether to keep the job after it succeeded without a result.
    pub keep_outcome: bool,
    /// The delays between attempts.
    pub retry: RetryDelays,
    /// When a worker accepted the job.
    pub accepted_at: Option<String>,
    /// When the progress was reported.
    pub progress_at: Option<String>,
}

impl From<&Job> for FullJob {
    fn from(job: &Job) -> Self {
        let progress = job.progress.as_ref();
        Self {
            named: job.is_named,
            keep_outcome: job.keep_outcome,
            retry: RetryDelays::from(&job.retry),
            accepted_at: job.accepted_at.map(timestamp::format),
            progress_at: progress.map(|progress| timestamp::format(progress.at)),
        }
    }
}

impl JobReply {
    /// Creates the reply, with the field `full` if `is_full`.
    pub fn new(job: &Job, is_full: bool) -> Self {
        let full = is_full.then(|| FullJob::from(job));
        Self {
            full,
            ..Self::from(job)
        }
    }

    /// Converts the reply back. A reply has no token, which is a secret of the lease holder.
    pub fn into_job(self) -> Result<Job> {
        let time = |text: Option<String>| text.as_deref().map(timestamp::parse).transpose();
        let full = self.full.as_ref();
        let mut retry = RetryPolicy::default().max_attempts(self.max_attempts);
        if let Some(full) = full {
            full.retry.apply(&mut retry)?;
        }
        let progress_at = time(full.and_then(|full| full.progress_at.clone()))?;
        let fraction = self.progress.map(Fraction::new).transpose()?;
        let progress = fraction.map(|fraction| Progress {
            fraction,
            message: self.progress_message,
            at: progress_at.unwrap_or_default(),
        });
        Ok(Job {
            id: JobId::new(&self.id)?,
            queue: QueueName::new(&self.queue)?,
            state: job_state(self.state)?,
            is_named: full.is_none_or(|full| full.named),
            kind: self.kind.map(Kind::new).transpose()?,
            priority: Priority::new(self.priority)?,
            group: self.group.map(GroupName::new).transpose()?,
            payload: content::join(self.payload, self.payload_base64.as_deref())?,
            headers: headers(&self.headers)?,
            retry,
            timeout: self.timeout_ms.map(std::time::Duration::from_millis),
            unique_key: self.unique_key.map(UniqueKey::new).transpose()?,
            unique_until: match self.unique_until {
                None => UniqueUntil::End,
                Some(text) => unique_until(text)?,
            },
            unique_for: self.unique_for_ms.map(std::time::Duration::from_millis),
            schedule: self.schedule.map(ScheduleName::new).transpose()?,
            keep_outcome: full.is_some_and(|full| full.keep_outcome),
            attempt: self.attempt,
            expiries: self.expiries,
            created_at: timestamp::parse(&self.created_at)?,
            due_at: timestamp::parse(&self.due_at)?,
            expires_at: time(self.expires_at)?,
            started_at: time(self.started_at)?,
            accepted_at: time(full.and_then(|full| full.accepted_at.clone()))?,
            finished_at: time(self.finished_at)?,
            progress,
            result: content::join(self.result, self.result_base64.as_deref())?,
            error: self.error,
            attempts: self
                .attempts
                .into_iter()
                .map(AttemptReply::into_record)
                .collect::<Result<_>>()?,
            reason: self.reason.and_then(Reason::from_text),
            worker: self.worker.map(BootId::new).transpose()?,
            token: None,
            lease_until: time(self.lease_until)?,
            is_cancel_requested: self.cancel_requested,
        })
    }
}

/// Parses the state of a job in a reply.
pub(crate) fn job_state(text: &str) -> Result<JobState> {
    let names: Vec<_> = JobState::ALL.iter().map(|state| state.as_str()).collect();
    JobState::from_text(text).ok_or_else(|| {
        let error = Error::unknown("state", text, &names);
        let known = OTHER_STATES.iter().find(|(words, _)| words.contains(&text));
        let Some((_, state)) = known else {
            return error;
        };
        let help = format!("did you mean {}? {}", state.as_str(), error.help());
        error.with_help(help)
    })
}

/// Words of other queues for a state.
const OTHER_STATES: [(&[&str], JobState); 5] = [
    (&["available", "queued", "waiting"], JobState::Ready),
    (&["delayed", "retry", "retrying"], JobState::Scheduled),
    (&["active", "busy", "claimed", "leased"], JobState::Running),
    (
        &["complete", "completed", "done", "success"],
        JobState::Succeeded,
    ),
    (&["archived", "error", "failed", "failure"], JobState::Dead),
];

/// Parses the headers in a reply.
pub(crate) fn headers(map: &BTreeMap<String, String>) -> Result<Headers> {
    let mut headers = Headers::default();
    for (name, value) in map {
        headers.set(name, value)?;
    }
    Ok(headers)
}

impl From<&Job> for JobReply {
    fn from(job: &Job) -> Self {
        let (payload, payload_base64) = content::split(job.payload.as_ref());
        let (result, result_base64) = content::split(job.result.as_ref());
        let progress = job.progress.as_ref();
        Self {
            id: job.id.to_string(),
            queue: job.queue.to_string(),
            state: job.state.as_str(),
            kind: job.kind.as_ref().map(ToString::to_string),
            priority: job.priority.level(),
            group: job.group.as_ref().map(ToString::to_string),
            attempt: job.attempt,
            max_attempts: job.retry.max_attempts,
            expiries: job.expiries,
            progress: progress.map(|progress| progress.fraction.get()),
            progress_message: progress.and_then(|progress| progress.message.clone()),
            created_at: timestamp::format(job.created_at),
            due_at: timestamp::format(job.due_at),
            expires_at: job.expires_at.map(timestamp::format),
            started_at: job.started_at.map(timestamp::format),
            finished_at: job.finished_at.map(timestamp::format),
            timeout_ms: job.timeout.map(as_ms),
            unique_key: job.unique_key.as_ref().map(ToString::to_string),
            unique_until: Some(job.unique_until)
                .filter(|until| *until != UniqueUntil::End)
                .map(UniqueUntil::as_str),
            unique_for_ms: job.unique_for.map(as_ms),
            schedule: job.schedule.as_ref().map(ToString::to_string),
            headers: header_map(&job.headers),
            payload,
            payload_base64,
            result,
            result_base64,
            error: job.error.clone(),
            attempts: job.attempts.iter().map(AttemptReply::from).collect(),
            reason: job.reason.map(windlass_core::store::Reason::as_str),
            worker: job.worker.as_ref().map(ToString::to_string),
            lease_until: job.lease_until.map(timestamp::format),
            cancel_requested: job.is_cancel_requested,
            full: None,
        }
    }
}

/// Headers as a JSON object.
pub(crate) fn header_map(headers: &Headers) -> BTreeMap<String, String> {
    headers
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
