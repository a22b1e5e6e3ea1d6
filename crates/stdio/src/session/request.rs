//! One line as a request, and its answer as a line.

use serde_json::value::RawValue;
use windlass_api::{EnqueueRequest, Error, Fields};
use windlass_core::{Error as CoreError, NewJob, QueueName};

use crate::line_reader::Line;
use crate::reply::{Answer, written};
use crate::undelivered::Claimed;

/// What a line asks for, and who asks.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) asked: Asked,
    pub(super) asker: Asker,
    /// How much room it takes.
    pub(super) bytes: usize,
}

/// What an answer repeats.
#[derive(Debug)]
pub(super) struct Asker {
    number: u64,
    reference: Option<Box<RawValue>>,
}

#[derive(Debug)]
pub(super) enum Asked {
    /// One more job: such requests may go to the store together.
    Enqueue(QueueName, Box<NewJob>),
    /// Any other verb.
    Verb(String, Fields),
    /// Nothing that can be done.
    Refused(Error),
}

/// A request that has its answer.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) line: String,
    pub(super) is_ok: bool,
    pub(super) claimed: Option<Claimed>,
}

impl Request {
    pub(super) fn read(line: Line) -> Self {
        let bytes = line.text.as_ref().map_or(0, String::len);
        let mut reference = None;
        let asked = line.text.and_then(|text| parse(&text, &mut reference));
        Self {
            asked: asked.unwrap_or_else(Asked::Refused),
            asker: Asker {
                number: line.number,
                reference,
            },
            bytes,
        }
    }
}

impl Asker {
    /// The line with the answer to `op`.
    pub(super) fn told(self, op: &str, answer: Answer) -> Done {
        let answer = answer.map_err(|problem| problem.at_line(self.number));
        Done {
            line: written(("ref", self.reference.as_deref()), &answer, list_name(op)),
            is_ok: answer.is_ok(),
            claimed: answer.ok().and_then(|reply| Claimed::of(op, &reply)),
        }
    }
}

fn parse(text: &str, reference: &mut Option<Box<RawValue>>) -> Result<Asked, Error> {
    let mut fields = Fields::parse(text)?;
    *reference = fields.take("ref")?;
    let op: Option<String> = fields.take("op")?;
    let op = op.ok_or_else(|| {
        let ops = windlass_api::ops().join(", ");
        let help = format!("say which with \"op\": one of {ops}");
        CoreError::invalid("request", "it names no verb", help)
    })?;
    if op != "enqueue" {
        return Ok(Asked::Verb(op, fields));
    }
    let queue: Option<String> = fields.take("queue")?;
    let queue = queue.ok_or_else(|| {
        let help = "say which with \"queue\":\"NAME\"";
        CoreError::invalid("request", "it names no queue", help)
    })?;
    let queue = QueueName::new(queue)?;
    let job = fields.read::<EnqueueRequest>()?.into_job()?;
    Ok(Asked::Enqueue(queue, Box::new(job)))
}

/// The field that a list stands under.
fn list_name(op: &str) -> &'static str {
    match op {
        "queues" => "queues",
        "workers" => "workers",
        _ => "jobs",
    }
}
