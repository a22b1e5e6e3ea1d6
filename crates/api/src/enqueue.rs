//! One job to enqueue as JSON, and the answer to it.

mod shown;

use std::collections::BTreeMap;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::{
    Due, Enqueued, Error, Headers, JobId, JobState, Kind, NewJob, Priority, QueueName, Result,
    UniqueKey, duration,
};

use crate::content::{self, Text};
use crate::fields;
use crate::timestamp;

/// A job as a line of NDJSON or a body of HTTP says it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::NewJob`"
)]
pub struct EnqueueRequest {
    /// A string stands for its bytes; any other JSON keeps its exact text.
    #[serde(deserialize_with = "content::present")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub payload: Option<Text>,
    /// Bytes that are not UTF-8.
    pub payload_base64: Option<String>,
    pub id: Option<String>,
    pub kind: Option<String>,
    pub priority: Option<u8>,
    /// A duration.
    pub delay: Option<String>,
    /// A moment; excludes `delay`.
    pub at: Option<Moment>,
    pub unique_key: Option<String>,
    pub max_attempts: Option<u32>,
    /// A duration.
    pub timeout: Option<String>,
    /// A duration or a moment.
    pub expires: Option<Moment>,
    pub headers: Option<BTreeMap<String, String>>,
}

/// A moment in JSON: text, or a number of seconds since 1970.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Moment {
    /// RFC 3339, or a number in quotes.
    Text(String),
    /// Seconds since 1970.
    Seconds(#[schemars(with = "f64")] serde_json::Number),
}

impl Moment {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Seconds(number) => number.to_string(),
        }
    }
}

impl EnqueueRequest {
    /// Reads one JSON object; unknown and repeated fields are errors. A job as an export shows it is
    /// taken as well, unless it has ended.
    pub fn from_json(text: &str) -> Result<Self> {
        fields::read(text).or_else(|error| shown::read(text).unwrap_or(Err(error)))
    }

    /// The job that is meant, checked.
    pub fn into_job(self) -> Result<NewJob> {
        let mut headers = Headers::default();
        let payload = self.payload(&mut headers)?;
        for (name, value) in self.headers.iter().flatten() {
            headers.set(name, value)?;
        }
        let mut job = NewJob::new(payload).headers(headers);
        if let Some(id) = &self.id {
            job = job.id(JobId::new(id)?);
        }
        if let Some(priority) = self.priority {
            job.priority = Priority::new(priority)?;
        }
        if let Some(attempts) = self.max_attempts {
            job.retry = job.retry.max_attempts(attempts);
        }
        job.kind = self.kind.map(Kind::new).transpose()?;
        job.unique_key = self.unique_key.map(UniqueKey::new).transpose()?;
        job.due = due(
            self.delay.as_deref(),
            self.at.map(|at| at.text()).as_deref(),
        )?;
        job.timeout = self
            .timeout
            .map(|timeout| duration::parse(&timeout))
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
        Ok(payload.unwrap_or_default())
    }
}

/// When a job falls due: after a delay, at a moment, or now; both are one too many.
pub fn due(delay: Option<&str>, at: Option<&str>) -> Result<Due> {
    match (delay, at) {
        (None, None) => Ok(Due::Now),
        (Some(delay), None) => duration::parse(delay).map(Due::After),
        (None, Some(at)) => timestamp::parse(at).map(Due::At),
        (Some(_), Some(_)) => Err(Error::invalid(
            "due time",
            "both delay and at are set",
            "set one of the two",
        )),
    }
}

/// What became of one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EnqueueReply {
    /// Its id; for a duplicate that of the first job.
    pub id: String,
    /// Its queue.
    pub queue: String,
    /// Its state; for a duplicate that of the first job.
    pub state: &'static str,
    /// Another job was there first.
    pub duplicate: bool,
    /// How safe the job is by now: `memory`, `replicated:N` or `synced`.
    pub durability: String,
}

impl EnqueueReply {
    /// The answer for one job.
    pub fn new(queue: &QueueName, enqueued: &Enqueued) -> Self {
        Self {
            id: enqueued.id().to_string(),
            queue: queue.to_string(),
            state: enqueued.state().as_str(),
            duplicate: enqueued.is_duplicate(),
            durability: enqueued.level().to_string(),
        }
    }

    /// The answer for a job that was waited for: with the state it ended in.
    #[must_use]
    pub fn ended(mut self, state: JobState) -> Self {
        self.state = state.as_str();
        self
    }
}

#[cfg(test)]
mod tests;
