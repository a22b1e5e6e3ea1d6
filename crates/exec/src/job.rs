//! A job as programs read it: one JSON object on one line.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use windlass_api::content::Content;
use windlass_api::timestamp;
use windlass_worker::{AttemptContext, TRACE_HEADERS};

use crate::environment;

/// The fields of a job; `type` is set only on streams with several types of lines.
#[derive(Debug, Serialize)]
pub(crate) struct JobLine<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) line_type: Option<&'static str>,
    id: &'a str,
    queue: &'a str,
    token: String,
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a str>,
    attempt: u32,
    max_attempts: u32,
    created_at: String,
    due_at: String,
    /// When this attempt was claimed, by the clock of the store.
    started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Payload>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<&'a str, &'a str>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Payload {
    Json(Box<RawValue>),
    Text(String),
}

impl<'a> JobLine<'a> {
    pub(crate) fn new(line_type: Option<&'static str>, context: &'a AttemptContext) -> Self {
        let job = context.job();
        let (payload, payload_base64) = if let Some(json) = json_payload(context) {
            (Some(Payload::Json(json)), None)
        } else {
            let (text, base64) = Content::of(&job.payload).split();
            (text.map(Payload::Text), base64)
        };
        let mut headers: BTreeMap<_, _> = job.headers.iter().collect();
        // A span of the attempt, if it has one, is the parent of what the program records.
        headers.extend(
            TRACE_HEADERS
                .map(|name| Some((name, context.trace_header(name)?)))
                .into_iter()
                .flatten(),
        );
        Self {
            line_type,
            id: job.id.as_str(),
            queue: context.queue().as_str(),
            token: context.token().to_string(),
            kind: job.kind.as_ref().map(|kind| kind.as_str()),
            group: job.group.as_ref().map(|group| group.as_str()),
            attempt: job.attempt,
            max_attempts: job.retry.max_attempts,
            created_at: timestamp::format(job.created_at),
            due_at: timestamp::format(job.due_at),
            started_at: timestamp::format(context.token().issued_at()),
            deadline: environment::deadline(context),
            payload,
            payload_base64,
            headers,
        }
    }
}

/// Serializes a value as one line, including the newline.
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("lines are structs of plain values");
    line.push(b'\n');
    line
}

/// Returns the payload as JSON if its content type says so and it is valid. Newlines in it are only
/// whitespace (JSON strings cannot contain them), so they are replaced with spaces.
fn json_payload(context: &AttemptContext) -> Option<Box<RawValue>> {
    let job = context.job();
    let content_type = job.headers.get("content-type")?;
    let content_type = content_type.split(';').next()?.trim().to_ascii_lowercase();
    if content_type != "application/json" && !content_type.ends_with("+json") {
        return None;
    }
    let text = std::str::from_utf8(&job.payload).ok()?;
    serde_json::from_str::<&RawValue>(text).ok()?;
    RawValue::from_string(text.replace(['\n', '\r'], " ")).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::sample;

    fn read(payload: &[u8], content_type: Option<&str>) -> (String, Value) {
        let mut job = sample::job(payload);
        if let Some(content_type) = content_type {
            job.headers.set("content-type", content_type).unwrap();
        }
        let context = sample::context_of(job);
        let line = line(&JobLine::new(Some("job"), &context));
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        let value = serde_json::from_str(&line).unwrap();
        (line, value)
    }

    #[test]
    fn a_payload_with_a_json_content_type_is_passed_as_written() {
        let payload = b"{\r\n \"n\": 12345678901234567890.10,\n \"s\": \"a\\nb\"}\n";
        for content_type in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/x+json",
        ] {
            let (line, value) = read(payload, Some(content_type));
            assert!(line.contains("12345678901234567890.10"), "{line}");
            assert_eq!(value["payload"]["s"], "a\nb");
        }
    }

    #[test]
    fn other_payloads_are_text_or_base64() {
        assert_eq!(read(b"{\"a\":1}", None).1["payload"], "{\"a\":1}");
        assert_eq!(
            read(b"{broken", Some("application/json")).1["payload"],
            "{broken"
        );
        assert_eq!(read(b"a\nb\0", None).1["payload"], "a\nb\0");
        let (_, value) = read(b"\xff\xfe", Some("application/json"));
        assert_eq!(
            (&value["payload"], &value["payload_base64"]),
            (&Value::Null, &"//4=".into())
        );
    }

    #[test]
    fn a_job_line_has_its_token_and_attempt() {
        let (_, value) = read(b"x", None);
        for (field, expected) in [
            ("type", Value::from("job")),
            ("id", "job-1".into()),
            ("queue", "mail".into()),
            ("token", "7-0000beef".into()),
            ("kind", "letter".into()),
            ("attempt", 1.into()),
            ("max_attempts", 20.into()),
        ] {
            assert_eq!(value[field], expected, "{field}");
        }
    }
}
