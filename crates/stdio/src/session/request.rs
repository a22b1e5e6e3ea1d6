//! Parses a line as a request, and formats its reply as a line.

use serde_json::value::RawValue;
use windlass_api::{EnqueueRequest, Error, Fields};
use windlass_core::{Error as CoreError, NewJob, QueueName};

use crate::line_reader::Line;
use crate::reply::{ReplyResult, format_reply};
use crate::undelivered::UndeliveredClaim;

/// A parsed request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) kind: RequestKind,
    pub(super) reply_to: ReplyTo,
    /// The length of the line.
    pub(super) bytes: usize,
}

/// What the reply repeats of the request.
#[derive(Debug)]
pub(super) struct ReplyTo {
    number: u64,
    reference: Option<Box<RawValue>>,
}

#[derive(Debug)]
pub(super) enum RequestKind {
    /// Enqueues a job. Such requests can be batched.
    Enqueue(QueueName, Box<NewJob>),
    /// Any other operation.
    Operation(String, Fields),
    /// A line that is not a valid request.
    Invalid(Error),
}

/// The reply to a request, as a line.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) line: String,
    pub(super) is_ok: bool,
    pub(super) claimed: Option<UndeliveredClaim>,
}

impl Request {
    pub(super) fn parse(line: Line) -> Self {
        let bytes = line.text.as_ref().map_or(0, String::len);
        let mut reference = None;
        let kind = line.text.and_then(|text| parse(&text, &mut reference));
        Self {
            kind: kind.unwrap_or_else(RequestKind::Invalid),
            reply_to: ReplyTo {
                number: line.number,
                reference,
            },
            bytes,
        }
    }
}

impl ReplyTo {
    /// Formats the reply to `op`.
    pub(super) fn reply(self, op: &str, reply: ReplyResult) -> Response {
        let reply = reply.map_err(|error| error.at_line(self.number));
        Response {
            line: format_reply(("ref", self.reference.as_deref()), &reply, list_name(op)),
            is_ok: reply.is_ok(),
            claimed: reply
                .ok()
                .and_then(|reply| UndeliveredClaim::from_reply(op, &reply)),
        }
    }
}

fn parse(text: &str, reference: &mut Option<Box<RawValue>>) -> Result<RequestKind, Error> {
    let mut fields = Fields::parse(text)?;
    *reference = fields.take("ref")?;
    let op: Option<String> = fields.take("op")?;
    let op = op.ok_or_else(|| {
        let ops = windlass_api::ops().join(", ");
        let help = format!("set \"op\" to one of: {ops}");
        CoreError::invalid("request", "missing field op", help)
    })?;
    if op != "enqueue" {
        return Ok(RequestKind::Operation(op, fields));
    }
    let queue: Option<String> = fields.take("queue")?;
    let queue = queue.ok_or_else(|| {
        let help = "add \"queue\":\"NAME\"";
        CoreError::invalid("request", "missing field queue", help)
    })?;
    let queue = QueueName::new(queue)?;
    let job = fields.read::<EnqueueRequest>()?.into_job()?;
    Ok(RequestKind::Enqueue(queue, Box::new(job)))
}

/// Returns the field name of a reply that is a list.
fn list_name(op: &str) -> &'static str {
    match op {
        "queues" => "queues",
        "workers" => "workers",
        _ => "jobs",
    }
}
