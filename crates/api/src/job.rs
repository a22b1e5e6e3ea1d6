//! The JSON form of a job.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::time::as_ms;
use windlass_core::{Headers, Job};

use crate::{content, timestamp};

/// A job. Listings omit payload and result.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the fields are those of `windlass_core::Job`")]
pub struct JobReply {
    pub id: String,
    pub queue: String,
    pub state: &'static str,
    pub kind: Option<String>,
    pub priority: u8,
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
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_base64: Option<String>,
    pub error: Option<String>,
    pub reason: Option<&'static str>,
    pub worker: Option<String>,
    pub cancel_requested: bool,
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
            headers: header_map(&job.headers),
            payload,
            payload_base64,
            result,
            result_base64,
            error: job.error.clone(),
            reason: job.reason.map(windlass_core::Reason::as_str),
            worker: job.worker.as_ref().map(ToString::to_string),
            cancel_requested: job.is_cancel_requested,
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
