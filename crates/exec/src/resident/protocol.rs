//! The messages between a worker and its resident processes: one JSON object per line.
//!
//! To the process: `hello`, `job`, `cancel`, `drain`, `enqueued`. From it: `ready`, `progress`,
//! `log`, `done`, `fail`, `snooze`, `enqueue`. Unknown fields are ignored.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use windlass_api::content::from_base64;
use windlass_api::error::Error;
use windlass_core::limits::FUTURE_MAX;
use windlass_core::store::SnoozeScope;
use windlass_core::{Due, QueueName};
use windlass_worker::{Outcome, RetryWhen};

use super::ResidentOptions;
use crate::progress;

/// The protocol version in `hello`.
const VERSION: u32 = 1;

/// The longest line of a process: a result of 1 MiB with every byte escaped, plus its fields.
pub(crate) const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The first message to a process.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "hello")]
pub(super) struct Hello<'a> {
    v: u32,
    concurrency: usize,
    queues: Vec<&'a str>,
    max_line: usize,
}

impl<'a> Hello<'a> {
    pub(super) fn new(options: &'a ResidentOptions) -> Self {
        Self {
            v: VERSION,
            concurrency: options.concurrency,
            queues: options.queues.iter().map(QueueName::as_str).collect(),
            max_line: LINE_BYTES_MAX,
        }
    }
}

/// A job should stop.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "cancel")]
pub(super) struct Cancel<'a> {
    pub(super) id: &'a str,
    pub(super) token: String,
    pub(super) reason: &'a str,
}

/// No more jobs follow; the running ones must end by the deadline.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "drain")]
pub(super) struct Drain {
    pub(super) deadline: String,
}

/// The reply to `enqueue`.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "enqueued")]
pub(super) struct Enqueued {
    #[serde(rename = "ref")]
    pub(super) reference: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Error>,
}

/// A message from a process.
#[derive(Debug)]
pub(super) enum Message {
    Ready {
        concurrency: Option<usize>,
    },
    Progress {
        attempt: AttemptRef,
        report: progress::ProgressReport,
    },
    Log {
        id: Option<String>,
        text: String,
    },
    /// The outcome of an attempt.
    Outcome {
        attempt: AttemptRef,
        outcome: Outcome,
    },
    Enqueue(EnqueueLine),
}

/// Identifies an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct AttemptRef {
    pub(super) id: String,
    #[serde(alias = "lease")]
    pub(super) token: Option<String>,
}

/// Follow-up jobs to enqueue.
#[derive(Debug, Deserialize)]
pub(super) struct EnqueueLine {
    #[serde(rename = "ref", default)]
    pub(super) reference: Value,
    /// The queue (default: the queue of the job).
    pub(super) queue: Option<String>,
    /// The job that enqueues, whose trace headers the new jobs inherit.
    pub(super) id: Option<String>,
    pub(super) jobs: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "type")]
    line_type: String,
}

#[derive(Deserialize)]
struct Ready {
    concurrency: Option<usize>,
}

#[derive(Deserialize)]
struct Log {
    id: Option<String>,
    level: Option<String>,
    #[serde(alias = "message")]
    msg: String,
}

#[derive(Deserialize)]
struct Done {
    result: Option<Box<RawValue>>,
    result_base64: Option<String>,
}

#[derive(Deserialize)]
struct Fail {
    error: Option<Value>,
    retry: Option<bool>,
    after_ms: Option<u64>,
}

#[derive(Deserialize)]
struct Snooze {
    after_ms: u64,
    scope: Option<String>,
}

impl Message {
    /// Parses a line; `None` if it is not a message.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        // The parser would accept an array as well.
        if line.trim_ascii_start().first() != Some(&b'{') {
            return None;
        }
        let tag: Tag = serde_json::from_slice(line).ok()?;
        match tag.line_type.as_str() {
            "ready" => {
                let Ready { concurrency } = serde_json::from_slice(line).ok()?;
                Some(Self::Ready { concurrency })
            }
            "progress" => {
                let report: progress::ProgressReport = serde_json::from_slice(line).ok()?;
                let attempt = serde_json::from_slice(line).ok()?;
                report
                    .is_valid()
                    .then_some(Self::Progress { attempt, report })
            }
            "log" => {
                let Log { id, level, msg } = serde_json::from_slice(line).ok()?;
                let text = level.map_or(msg.clone(), |level| format!("{level}: {msg}"));
                Some(Self::Log { id, text })
            }
            "enqueue" => serde_json::from_slice(line).ok().map(Self::Enqueue),
            "done" | "fail" | "snooze" => {
                let attempt = serde_json::from_slice(line).ok()?;
                // An invalid reply fails the attempt, which would otherwise wait for another one.
                let outcome = outcome(&tag.line_type, line).unwrap_or_else(|why| {
                    Outcome::failed(format!("invalid reply from the worker process: {why}"))
                });
                Some(Self::Outcome { attempt, outcome })
            }
            _ => None,
        }
    }
}

fn outcome(line_type: &str, line: &[u8]) -> Result<Outcome, String> {
    let why = |error: serde_json::Error| error.to_string();
    match line_type {
        "done" => result(serde_json::from_slice(line).map_err(why)?).map(Outcome::Done),
        "fail" => Ok(failed(serde_json::from_slice(line).map_err(why)?)),
        _ => {
            let Snooze { after_ms, scope } = serde_json::from_slice(line).map_err(why)?;
            Ok(Outcome::Snooze {
                due: Due::After(delay(after_ms)),
                scope: snooze_scope(scope.as_deref())?,
            })
        }
    }
}

/// A string becomes its bytes, any other JSON its exact text.
fn result(done: Done) -> Result<Option<Bytes>, String> {
    match (done.result, done.result_base64) {
        (None, None) => Ok(None),
        (None, Some(base64)) => from_base64("result_base64", &base64)
            .map(Some)
            .map_err(|error| error.to_string()),
        (Some(raw), None) if raw.get().starts_with('"') => {
            let text: String =
                serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
            Ok(Some(Bytes::from(text)))
        }
        (Some(raw), None) => Ok(Some(Bytes::from(raw.get().to_owned()))),
        (Some(_), Some(_)) => Err("both result and result_base64 are set".to_owned()),
    }
}

fn failed(fail: Fail) -> Outcome {
    let retry = match (fail.retry, fail.after_ms) {
        (Some(false), _) => RetryWhen::Never,
        (_, Some(after_ms)) => RetryWhen::At(Due::After(delay(after_ms))),
        (_, None) => RetryWhen::ByPolicy,
    };
    Outcome::Failed {
        error: error_text(fail.error),
        retry,
    }
}

/// What a snooze postpones.
fn snooze_scope(text: Option<&str>) -> Result<SnoozeScope, String> {
    let Some(text) = text else {
        return Ok(SnoozeScope::Job);
    };
    SnoozeScope::from_text(text)
        .ok_or_else(|| format!("unknown scope {text:?}; expected job, group or queue"))
}

fn delay(after_ms: u64) -> Duration {
    Duration::from_millis(after_ms).min(FUTURE_MAX)
}

/// Formats an error: a string, or an object with `kind`, `message` and `stack`.
fn error_text(error: Option<Value>) -> String {
    let Some(error) = error else {
        return "the worker process reported no error message".to_owned();
    };
    if let Value::String(text) = error {
        return text;
    }
    let field = |name: &str| error.get(name).and_then(Value::as_str);
    let head: Vec<&str> = [field("kind"), field("message")]
        .into_iter()
        .flatten()
        .collect();
    if head.is_empty() {
        return error.to_string();
    }
    let stack = field("stack").map_or(String::new(), |stack| format!("\n{stack}"));
    format!("{}{stack}", head.join(": "))
}

#[cfg(test)]
mod tests;
