//! One job: its state, why it waits, its attempts, payload and result, and what can be done with it.

use askama::Template;
use windlass_api::request::{Get, Why};
use windlass_api::{JobReply, Reply, Request, Scope, WhyReply, timestamp};
use windlass_core::Change;

use super::PageRequest;
use super::bulk::changes_of;
use super::format::{Time, span};
use super::jobs::{class, job_path};
use super::layout::View;
use crate::error::HttpError;
use crate::handlers::dispatch;
use crate::request::encode;

/// The most characters of a payload or result that the page shows; the whole is one click away.
const SHOWN_CHARS: usize = 20_000;

#[derive(Template)]
#[template(path = "job.html")]
struct JobView {
    path: String,
    queue_path: String,
    class: &'static str,
    times: Vec<(&'static str, Time)>,
    facts: Vec<(&'static str, String)>,
    reasons: Vec<Reason>,
    eta: Option<String>,
    attempts: Vec<Attempt>,
    payload: Content,
    result: Option<Content>,
    changes: Vec<Change>,
    job: JobReply,
}

struct Reason {
    word: &'static str,
    until: Option<Time>,
    detail: String,
}

struct Attempt {
    number: u32,
    how: &'static str,
    started: Time,
    ended: Time,
    duration: String,
    worker: String,
    error: String,
}

/// A payload or result as text.
struct Content {
    text: String,
    note: &'static str,
    is_cut: bool,
    /// The route that returns its bytes.
    raw: String,
}

impl Content {
    fn new(text: Option<&String>, base64: Option<&String>, raw: String) -> Self {
        let (text, note) = match (text, base64) {
            (Some(text), _) => pretty(text),
            (None, Some(base64)) => (base64.clone(), "bytes in Base64"),
            (None, None) => (String::new(), "empty"),
        };
        let is_cut = text.chars().nth(SHOWN_CHARS).is_some();
        Self {
            text: text.chars().take(SHOWN_CHARS).collect(),
            note,
            is_cut,
            raw,
        }
    }
}

/// Formats JSON objects and arrays; other text stays as it is.
fn pretty(text: &str) -> (String, &'static str) {
    let is_structured = text.trim_start().starts_with(['{', '[']);
    let parsed = is_structured.then(|| serde_json::from_str::<serde_json::Value>(text));
    match parsed {
        Some(Ok(value)) => (format!("{value:#}"), "JSON"),
        _ if text.is_empty() => (String::new(), "empty"),
        _ => (text.to_owned(), "text"),
    }
}

/// Renders the page.
pub(super) async fn view(request: &PageRequest) -> Result<View, HttpError> {
    let queue = request.queue()?;
    let id = request.parameter("id").to_owned();
    let get = Get {
        id: id.clone(),
        full: None,
    };
    let Reply::Get(job) = dispatch(&request.state, Some(&queue), Request::Get(get)).await? else {
        return Err(windlass_api::Error::missing_reply().into());
    };
    let why = Request::Why(Why { id });
    let why = match dispatch(&request.state, Some(&queue), why).await {
        Ok(Reply::Why(why)) => Some(why),
        // It may have gone between the two reads.
        _ => None,
    };
    let path = job_path(&job.queue, &job.id);
    let api = format!("/v1{path}");
    let result = job.result.is_some() || job.result_base64.is_some();
    let may_operate = request.may(Scope::Operate);
    let changes = changes_of(Some(job.state)).into_iter();
    let page = JobView {
        queue_path: format!("/queues/{}", encode(queue.as_str())),
        class: class(job.state),
        times: times(&job),
        facts: facts(&job),
        eta: why.as_ref().and_then(|why| why.eta_ms).map(span),
        reasons: why.as_ref().map(reasons).unwrap_or_default(),
        attempts: job.attempts.iter().map(Attempt::from).collect(),
        payload: Content::new(
            job.payload.as_ref(),
            job.payload_base64.as_ref(),
            format!("{api}/payload"),
        ),
        result: result.then(|| {
            let raw = format!("{api}/result");
            Content::new(job.result.as_ref(), job.result_base64.as_ref(), raw)
        }),
        changes: changes.filter(|_| may_operate).collect(),
        path,
        job,
    };
    View::new(format!("Job {}", page.job.id)).live("job", &page)
}

impl From<&windlass_api::AttemptReply> for Attempt {
    fn from(attempt: &windlass_api::AttemptReply) -> Self {
        Self {
            number: attempt.attempt,
            how: attempt.how,
            started: Time::new(&attempt.started_at),
            ended: Time::new(&attempt.ended_at),
            duration: ms_between(&attempt.started_at, &attempt.ended_at)
                .map(span)
                .unwrap_or_default(),
            worker: attempt.worker.clone().unwrap_or_default(),
            error: attempt.error.clone().unwrap_or_default(),
        }
    }
}

fn ms_between(from: &str, to: &str) -> Option<u64> {
    let (from, to) = (timestamp::parse(from).ok()?, timestamp::parse(to).ok()?);
    Some(to.as_ms().saturating_sub(from.as_ms()))
}

/// The id of the trace in the W3C header `VERSION-TRACE-SPAN-FLAGS`.
fn trace(job: &JobReply) -> Option<String> {
    let parent = job.headers.get("traceparent")?;
    parent.split('-').nth(1).map(str::to_owned)
}

fn times(job: &JobReply) -> Vec<(&'static str, Time)> {
    let times = [
        ("Enqueued", Some(&job.created_at)),
        ("Due", Some(&job.due_at)),
        ("Started", job.started_at.as_ref()),
        ("Lease until", job.lease_until.as_ref()),
        ("Finished", job.finished_at.as_ref()),
        ("Expires", job.expires_at.as_ref()),
    ];
    let times = times.into_iter();
    times
        .filter_map(|(name, at)| Some((name, Time::new(at?))))
        .collect()
}

fn facts(job: &JobReply) -> Vec<(&'static str, String)> {
    let progress = job.progress.map(|done| {
        let message = job.progress_message.as_deref().unwrap_or_default();
        format!("{:.0} % {message}", done * 100.0)
    });
    let facts = [
        ("Kind", job.kind.clone()),
        ("Priority", Some(job.priority.to_string())),
        (
            "Attempt",
            Some(format!("{} of {}", job.attempt, job.max_attempts)),
        ),
        (
            "Expired leases",
            (job.expiries > 0).then(|| job.expiries.to_string()),
        ),
        ("Group", job.group.clone()),
        ("Schedule", job.schedule.clone()),
        ("Unique key", job.unique_key.clone()),
        ("Worker", job.worker.clone()),
        ("Trace", trace(job)),
        ("Progress", progress),
        ("Reason", job.reason.map(str::to_owned)),
        (
            "Cancellation",
            job.cancel_requested.then(|| "requested".to_owned()),
        ),
    ];
    let facts = facts.into_iter();
    facts
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

fn reasons(why: &WhyReply) -> Vec<Reason> {
    let reasons = why.reasons.iter().map(|reason| Reason {
        word: reason.reason,
        until: reason.until.as_deref().map(Time::new),
        detail: details(&reason.detail),
    });
    reasons.collect()
}

/// The details of a reason as `name value` pairs.
fn details(detail: &windlass_api::DetailReply) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(detail) else {
        return String::new();
    };
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let fields = fields.iter();
    let fields = fields.map(|(name, value)| format!("{}: {}", name.replace('_', " "), text(value)));
    fields.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_structured_json_is_formatted() {
        assert_eq!(pretty(r#"{"a":[1]}"#).1, "JSON");
        assert_eq!(pretty("{broken"), ("{broken".to_owned(), "text"));
        assert_eq!(pretty("dear Ann"), ("dear Ann".to_owned(), "text"));
        assert_eq!(pretty("").1, "empty");
    }

    #[test]
    fn long_content_is_cut() {
        let text = "é".repeat(SHOWN_CHARS + 1);
        let content = Content::new(Some(&text), None, String::new());
        assert!(content.is_cut);
        assert_eq!(content.text.chars().count(), SHOWN_CHARS);
    }
}
