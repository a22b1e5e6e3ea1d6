//! Parses a line as a request, and formats its reply as a line.

use serde_json::value::RawValue;
use windlass::{Error as CoreError, NewJob, QueueName};
use windlass_api::lines::{TextLine, format_reply};
use windlass_api::{Error, Fields, Reply, Request, Undelivered};

/// A parsed line.
#[derive(Debug)]
pub(super) struct LineRequest {
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
    /// Any other request.
    Other(Option<QueueName>, Box<Request>),
    /// A line that is not a valid request.
    Invalid(Error),
}

/// The reply to a request, as a line.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) line: String,
    pub(super) is_ok: bool,
    pub(super) claimed: Option<Undelivered>,
}

impl LineRequest {
    pub(super) fn parse(line: TextLine) -> Self {
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
    /// Formats the reply to a request on `queue`.
    pub(super) fn reply(self, queue: Option<&QueueName>, reply: Result<Reply, Error>) -> Response {
        let reply = reply.map_err(|error| error.at_line(self.number));
        let body = match &reply {
            Ok(reply) => Ok(reply.to_json()),
            Err(error) => Err(error),
        };
        let body = body.as_deref().map_err(|error| *error);
        let list = reply.as_ref().map_or("", list_name);
        let leases = reply.as_ref().map_or(Vec::new(), Reply::leases);
        Response {
            line: format_reply(("ref", self.reference.as_deref()), body, list),
            is_ok: body.is_ok(),
            claimed: queue.and_then(|queue| Undelivered::new(queue, leases)),
        }
    }
}

fn parse(text: &str, reference: &mut Option<Box<RawValue>>) -> Result<RequestKind, Error> {
    let mut fields = Fields::parse(text)?;
    *reference = fields.take("ref")?;
    let op: Option<String> = fields.take("op")?;
    let op = op.ok_or_else(|| {
        let help = format!("set \"op\" to one of: {}", Request::OPS.join(", "));
        CoreError::invalid("request", "missing field op", help)
    })?;
    Ok(match Request::parse(&op, fields)? {
        (Some(queue), Request::Enqueue(job)) => {
            RequestKind::Enqueue(queue, Box::new(job.into_job()?))
        }
        (queue, request) => RequestKind::Other(queue, Box::new(request)),
    })
}

/// Returns the field name of a reply that is a list.
const fn list_name(reply: &Reply) -> &'static str {
    match reply {
        Reply::Queues(_) => "queues",
        Reply::Workers(_) => "workers",
        _ => "jobs",
    }
}
