//! Takes and ends jobs from shell scripts.

use std::time::Duration;

use crate::delayed_queue::{AckStatus, DelayedJob, DelayedQueue, ReturnTo};
use clap::Args;
use serde::Serialize;
use windlass::{Bytes, Error, ErrorKind};
use windlass_api::content::Content;

use super::target::Target;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::parse;
use windlass_terminal::session::Session;

/// Arguments of `take`.
#[derive(Debug, Args)]
#[command(
    after_help = "If no job is due, prints null and exits with 0. `ack`, `nack` and `renew` need the ticket. A monitor \
    returns the job after 10s unless it is renewed.\n\n\
    Example:\n  windlass interop delayed-queue take --wait 5s --json"
)]
pub(crate) struct Take {
    /// How long to wait if no job is due [default: do not wait]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    wait: Option<String>,

    #[command(flatten)]
    target: Target,
}

/// A job that was taken.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 4: the job was returned or removed meanwhile.")]
pub(crate) struct HeldJob {
    /// Job id
    id: String,

    /// The ticket of the call that took it
    #[arg(long, value_name = "TICKET")]
    ticket: String,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `nack`.
#[derive(Debug, Args)]
pub(crate) struct Nack {
    #[command(flatten)]
    job: HeldJob,

    /// Delay before it is due again [default: none, it goes to the back of the line]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delay: Option<String>,

    /// Return it to the front of the line, because it was not tried
    #[arg(long, conflicts_with = "delay")]
    front: bool,
}

/// Arguments of `counts`.
#[derive(Debug, Args)]
pub(crate) struct Counts {
    #[command(flatten)]
    target: Target,
}

/// A job. A payload that is not UTF-8 is in a separate base64 field.
#[derive(Debug, Serialize)]
struct JobReply<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
    due_time: Option<u64>,
    pickup_time: u64,
    ticket: &'a str,
}

#[derive(Debug, Serialize)]
struct EndReply<'a> {
    id: &'a str,
    status: &'static str,
}

#[derive(Debug, Serialize)]
struct CountsReply {
    delayed: u64,
    due: u64,
    unacked: u64,
}

/// Takes a job and prints it, or null.
pub(crate) async fn take(arguments: Take, session: &mut Session) -> Result<Exit> {
    let wait = parse::duration_or(arguments.wait.as_deref(), Duration::ZERO)?;
    let queue = arguments.target.open(session).await?;
    let job = queue.take(wait).await?;
    let reply = job.as_ref().map(|job| {
        let (payload, payload_base64) = Content::of(&job.payload).split();
        JobReply {
            id: &job.id,
            payload,
            payload_base64,
            due_time: job.due_time.map(|due| due.as_ms() / 1000),
            pickup_time: job.pickup_time,
            ticket: &job.ticket,
        }
    });
    session.output.result(&reply, |output| {
        if let Some(reply) = &reply {
            output.fields(vec![
                ("id", Some(reply.id.to_owned())),
                ("ticket", Some(reply.ticket.to_owned())),
                (
                    "payload",
                    reply.payload.clone().or(reply.payload_base64.clone()),
                ),
            ]);
        }
    });
    match (&job, session.output.undelivered()) {
        (None, _) => session.output.note("no job is due"),
        (Some(job), Some(why)) => {
            queue.nack(job, ReturnTo::Front).await?;
            return Err(CliError::unwritable(&why));
        }
        (Some(_), None) => {}
    }
    Ok(Exit::Ok)
}

/// Removes a finished job.
pub(crate) async fn ack(arguments: HeldJob, session: &mut Session) -> Result<Exit> {
    let (queue, job) = arguments.open(session).await?;
    let status = queue.ack(&job).await?;
    print_end(session, &job.id, status, "acknowledged")
}

/// Returns a job that was not finished.
pub(crate) async fn nack(arguments: Nack, session: &mut Session) -> Result<Exit> {
    let delay = parse::duration(arguments.delay.as_deref())?;
    let to = match delay {
        Some(delay) => ReturnTo::Backlog(delay),
        None if arguments.front => ReturnTo::Front,
        None => ReturnTo::Back,
    };
    let (queue, job) = arguments.job.open(session).await?;
    let status = queue.nack(&job, to).await?;
    print_end(session, &job.id, status, "returned")
}

/// Extends the time for a job.
pub(crate) async fn renew(arguments: HeldJob, session: &mut Session) -> Result<Exit> {
    let (queue, job) = arguments.open(session).await?;
    let status = queue.renew(&job).await?;
    print_end(session, &job.id, status, "renewed")
}

/// Prints the number of jobs by state.
pub(crate) async fn counts(arguments: Counts, session: &mut Session) -> Result<Exit> {
    let counts = arguments.target.open(session).await?.counts().await?;
    let reply = CountsReply {
        delayed: counts.delayed,
        due: counts.due,
        unacked: counts.unacked,
    };
    session.output.result(&reply, |output| {
        output.fields(vec![
            ("delayed", Some(reply.delayed.to_string())),
            ("due", Some(reply.due.to_string())),
            ("unacked", Some(reply.unacked.to_string())),
        ]);
    });
    Ok(Exit::Ok)
}

impl HeldJob {
    async fn open(self, session: &Session) -> Result<(DelayedQueue, DelayedJob)> {
        let queue = self.target.open(session).await?;
        let job = DelayedJob {
            id: self.id,
            payload: Bytes::new(),
            due_time: None,
            pickup_time: 0,
            ticket: self.ticket,
        };
        Ok((queue, job))
    }
}

fn print_end(
    session: &mut Session,
    id: &str,
    status: AckStatus,
    word: &'static str,
) -> Result<Exit> {
    if status == AckStatus::Gone {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!("job {id} is not held under this ticket any more; nothing changed"),
            "discard the result and take again: another worker may have the job",
        )
        .into());
    }
    let reply = EndReply { id, status: word };
    session.output.result(&reply, |output| {
        output.line(&format!("{id} {word}"));
    });
    Ok(Exit::Ok)
}
