//! The JSON form of a new job, and the reply to enqueue.

mod deduplication;
mod exported;

use std::collections::BTreeMap;

use bytes::Bytes;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{DurabilityLevel, GroupName, Headers, Kind, OnDuplicate, UniqueUntil};
use windlass_core::{
    Due, Enqueued, Error, JobId, JobState, NewJob, Priority, QueueName, Result, duration,
};

use crate::content::{self, Text};
use crate::fields;
use crate::job::{header_map, job_state};
use crate::request::number;
use crate::retry::RetryDelays;
use crate::timestamp;
use crate::word::{self, Word};

pub(crate) use deduplication::unique_until;

/// A job to enqueue.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[group(multiple = true)]
#[serde(default, deny_unknown_fields)]
#[serde(expecting = "an object with the fields of a job, such as payload")]
pub struct EnqueueRequest {
    /// The payload. A string is stored as its bytes, any other JSON as its exact text.
    #[serde(
        deserialize_with = "content::present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    #[arg(skip)]
    pub payload: Option<Text>,
    /// The payload as base64, for binary data. Excludes `payload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(skip)]
    pub payload_base64: Option<String>,
    /// The payload as bytes, set by interfaces that receive bytes. Excludes the other two.
    #[serde(skip)]
    #[arg(skip)]
    pub payload_bytes: Option<Bytes>,
    /// Job id; enqueueing the same id again is a duplicate [default: generated]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, allow_hyphen_values = true)]
    pub id: Option<String>,
    /// Kind of job, for workers that handle several
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, allow_hyphen_values = true)]
    pub kind: Option<String>,
    /// Priority from 0 (first) to 9 (last) [default: 5]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9))]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = number::<i64>("priority", "use 0 (first) to 9 (last)"))]
    pub priority: Option<i64>,
    /// Group of the job: jobs of a group share its limits, and groups take turns
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub group: Option<String>,
    /// Run the job after this delay at the earliest
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub delay: Option<String>,
    /// Do not run before this time
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    #[arg(conflicts_with = "delay")]
    pub at: Option<TimeValue>,
    /// Key that only one live job of the queue may have
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub unique_key: Option<String>,
    /// When the job frees its unique key: end or start [default: end]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    pub unique_until: Option<String>,
    /// Hold the unique key at least this long after the enqueue, even if the job ends earlier
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub unique_for: Option<String>,
    /// What to do if a waiting job has the id or unique key: keep it, replace its content, postpone it, or
    /// replace,postpone [default: keep]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "ACTION", allow_hyphen_values = true)]
    pub on_duplicate: Option<String>,
    /// Never postpone a job to later than this after it was enqueued
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub postpone_max: Option<String>,
    /// Maximum number of attempts [default: 20]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = number::<u32>("number of attempts", "allow at least 1 attempt"))]
    pub max_attempts: Option<u32>,
    /// Time limit per attempt
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub timeout: Option<String>,
    /// Discard the job if it has not started by then: a duration or a time
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "D|T", allow_hyphen_values = true)]
    pub expires: Option<TimeValue>,
    /// Header names and values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(skip)]
    pub headers: Option<BTreeMap<String, String>>,
    /// The delays between attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(skip)]
    pub retry: Option<RetryDelays>,
    /// Whether `id` was generated for this request: it is not remembered after the job has finished, and
    /// a job that has it is never replaced or postponed by it (default: false).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(skip)]
    pub generated: Option<bool>,
    /// Whether to keep the job after it succeeded without a result, for a caller that waits
    /// (default: false).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(skip)]
    pub keep_outcome: Option<bool>,
}

/// A time: RFC 3339, or unix seconds as a number or string.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected RFC 3339 or unix seconds, as a string or a number"
)]
pub enum TimeValue {
    /// RFC 3339, or unix seconds in quotes.
    Text(String),
    /// Unix seconds.
    Seconds(#[schemars(with = "f64")] serde_json::Number),
}

impl From<String> for TimeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl TimeValue {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Seconds(number) => number.to_string(),
        }
    }
}

impl EnqueueRequest {
    /// Parses one JSON object. Unknown and duplicate fields are errors. Also accepts a job from an
    /// export, unless it is finished.
    pub fn from_json(text: &str) -> Result<Self> {
        fields::read(text).or_else(|error| exported::read(text).unwrap_or(Err(error)))
    }

    /// Validates the request and creates the job.
    pub fn into_job(self) -> Result<NewJob> {
        let mut headers = Headers::default();
        let payload = self.payload(&mut headers)?;
        for (name, value) in self.headers.iter().flatten() {
            headers.set(name, value)?;
        }
        let mut job = NewJob::new(payload).headers(headers);
        if let Some(id) = &self.id {
            job = job.id(JobId::new(id)?);
            job.is_named = !self.generated.unwrap_or(false);
        }
        job.keep_outcome = self.keep_outcome.unwrap_or(false);
        self.deduplicate(&mut job)?;
        if let Some(priority) = self.priority {
            job.priority = Priority::try_from(priority)?;
        }
        if let Some(attempts) = self.max_attempts {
            job.retry = job.retry.max_attempts(attempts);
        }
        if let Some(delays) = &self.retry {
            delays.apply(&mut job.retry)?;
        }
        job.kind = self.kind.map(Kind::new).transpose()?;
        job.group = self.group.map(GroupName::new).transpose()?;
        job.due = due(
            self.delay.as_deref(),
            self.at.map(|at| at.text()).as_deref(),
        )?;
        job.timeout = self
            .timeout
            .map(|timeout| duration::parse_named("timeout", &timeout))
            .transpose()?;
        job.expires = self
            .expires
            .map(|at| timestamp::parse_due(&at.text()))
            .transpose()?;
        Ok(job)
    }

    fn payload(&self, headers: &mut Headers) -> Result<Bytes> {
        if self.payload.as_ref().is_some_and(Text::is_json) {
            headers.set("content-type", "application/json")?;
        }
        let payload = content::of(
            self.payload.as_ref(),
            self.payload_base64.as_deref(),
            "payload",
        )?;
        match (payload, &self.payload_bytes) {
            (Some(_), Some(_)) => {
                let help = "set either the field or the body";
                Err(Error::invalid("payload", "set twice", help))
            }
            (payload, bytes) => Ok(payload.or_else(|| bytes.clone()).unwrap_or_default()),
        }
    }
}

impl From<NewJob> for EnqueueRequest {
    fn from(job: NewJob) -> Self {
        let (payload, payload_base64) = content::encode(&job.payload);
        let (delay, at) = due_fields(job.due);
        Self {
            payload,
            payload_base64,
            payload_bytes: None,
            id: Some(job.id.to_string()),
            kind: job.kind.map(|kind| kind.to_string()),
            priority: Some(job.priority.level().into()),
            group: job.group.map(|group| group.to_string()),
            delay,
            at,
            unique_key: job.unique_key.map(|key| key.to_string()),
            unique_until: Some(job.unique_until)
                .filter(|until| *until != UniqueUntil::End)
                .map(|until| until.to_string()),
            unique_for: job.unique_for.map(duration::format),
            on_duplicate: Some(job.on_duplicate)
                .filter(|action| *action != OnDuplicate::Keep)
                .map(|action| action.to_string()),
            postpone_max: job.postpone_max.map(duration::format),
            max_attempts: Some(job.retry.max_attempts),
            timeout: job.timeout.map(duration::format),
            expires: job.expires.map(TimeValue::from),
            headers: Some(header_map(&job.headers)),
            retry: Some(RetryDelays::from(&job.retry)),
            generated: Some(!job.is_named),
            keep_outcome: Some(job.keep_outcome),
        }
    }
}

/// Returns the fields `delay` and `at` of a due time; at most one is set.
pub(crate) fn due_fields(due: Due) -> (Option<String>, Option<TimeValue>) {
    match due {
        Due::Now => (None, None),
        Due::After(delay) => (Some(duration::format(delay)), None),
        Due::At(_) => (None, Some(TimeValue::from(due))),
    }
}

/// Parses a due time from `delay` or `at`. Fails if both are set.
pub fn due(delay: Option<&str>, at: Option<&str>) -> Result<Due> {
    match (delay, at) {
        (None, None) => Ok(Due::Now),
        (Some(delay), None) => duration::parse_named("delay", delay).map(Due::After),
        (None, Some(at)) => timestamp::parse(at).map(Due::At),
        (Some(_), Some(_)) => Err(Error::invalid(
            "due time",
            "both delay and at are set",
            "set one of the two",
        )),
    }
}

/// The reply for one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnqueueReply {
    /// The job id. For a duplicate, a replaced or a postponed job, that of the existing job.
    pub id: String,
    /// The queue.
    pub queue: String,
    /// The state of that job.
    #[serde(deserialize_with = "word::read")]
    pub state: Word,
    /// Whether the job is a duplicate: its id or unique key is already in use, and nothing was changed.
    pub duplicate: bool,
    /// True if the content of the existing job was replaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaced: bool,
    /// True if the due time of the existing job was moved, and nothing else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub postponed: bool,
    /// The durability of the job: `memory`, `replicated:N` or `synced`.
    pub durability: String,
}

impl EnqueueReply {
    /// Creates the reply for one job.
    pub fn new(queue: &QueueName, enqueued: &Enqueued) -> Self {
        Self {
            id: enqueued.id().to_string(),
            queue: queue.to_string(),
            state: enqueued.state().as_str(),
            duplicate: enqueued.is_duplicate(),
            replaced: enqueued.is_replaced(),
            postponed: enqueued.is_postponed(),
            durability: enqueued.level().to_string(),
        }
    }

    /// Returns whether the job was stored as a new one.
    pub const fn is_accepted(&self) -> bool {
        !self.duplicate && !self.replaced && !self.postponed
    }

    /// Converts the reply back.
    pub fn into_enqueued(self) -> Result<Enqueued> {
        let (id, state) = (JobId::new(&self.id)?, job_state(self.state)?);
        let level = match self.durability.as_str() {
            "memory" => Some(DurabilityLevel::Memory),
            "synced" => Some(DurabilityLevel::Synced),
            other => other
                .strip_prefix("replicated:")
                .and_then(|count| count.parse().ok())
                .map(DurabilityLevel::Replicated),
        };
        let unknown = || Error::invalid("durability", "unknown level", "update this client");
        let level = level.ok_or_else(unknown)?;
        Ok(match self {
            Self { replaced: true, .. } => Enqueued::Replaced { id, state, level },
            Self {
                postponed: true, ..
            } => Enqueued::Postponed { id, state, level },
            Self {
                duplicate: true, ..
            } => Enqueued::Duplicate { id, state, level },
            _ => Enqueued::Accepted { id, state, level },
        })
    }

    /// Sets the final state, for a job that was waited for.
    #[must_use]
    pub fn ended(mut self, state: JobState) -> Self {
        self.state = state.as_str();
        self
    }
}

#[cfg(test)]
mod tests;
