//! Submits, takes and ends jobs from shell scripts.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Subcommand};
use windlass::duration;
use windlass::{Bytes, Due, Error, ErrorKind};
use windlass_api::timestamp;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::input::bytes_or_stdin;
use windlass_terminal::session::Session;

use super::Target;
use crate::commands::print::{self, Object, content, shown};
use crate::delayed_queue::{AckStatus, DelayedJob, DelayedQueue, ReturnTo};

/// Arguments of `submit`.
#[derive(Debug, Args)]
#[command(
    after_help = "The due time is rounded up to whole seconds. One in the past is due immediately.\n\n\
    Example:\n  windlass interop delayed-queue submit 'dear Ann' --delay 10m"
)]
#[command(group(clap::ArgGroup::new("when").required(true)))]
pub(crate) struct Submit {
    /// Payload; `-` reads stdin
    #[arg(allow_hyphen_values = true)]
    payload: OsString,

    /// Due time: RFC 3339, or seconds since 1970
    #[arg(long, value_name = "T", group = "when", allow_hyphen_values = true)]
    at: Option<String>,

    /// Delay from now
    #[arg(long, value_name = "D", group = "when")]
    #[arg(allow_hyphen_values = true, value_parser = duration::parse)]
    delay: Option<Duration>,

    #[command(flatten)]
    target: Target,
}

/// Commands of a worker.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Take the next due job
    #[command(
        after_help = "If no job is due, prints null and exits with 0. `ack`, `nack` and `renew` need the ticket. A monitor \
        returns the job after 10s unless it is renewed.\n\n\
        Example:\n  windlass interop delayed-queue take --wait 5s --json"
    )]
    Take {
        /// How long to wait if no job is due [default: do not wait]
        #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
        wait: Option<Duration>,

        #[command(flatten)]
        target: Target,
    },
    /// Remove a finished job
    Ack(HeldJob),
    /// Return a job that was not finished
    Nack {
        #[command(flatten)]
        job: HeldJob,

        /// Delay before it is due again [default: none, it goes to the back of the line]
        #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
        delay: Option<Duration>,

        /// Return it to the front of the line, because it was not tried
        #[arg(long, conflicts_with = "delay")]
        front: bool,
    },
    /// Extend the time for a job
    Renew(HeldJob),
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

/// Submits a job.
pub(super) async fn submit(arguments: Submit, session: &mut Session) -> Result<Exit> {
    let due = match (&arguments.at, arguments.delay) {
        (Some(at), _) => Due::At(timestamp::parse(at)?),
        (None, delay) => delay.map_or(Due::Now, Due::After),
    };
    let payload = bytes_or_stdin(arguments.payload)?;
    let queue = arguments.target.open(session).await?;
    let id = queue.submit(payload, due).await?;
    print::reply(session, [("id", id.as_str().into())], &id)
}

impl Command {
    pub(super) async fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Self::Take { wait, target } => {
                let wait = wait.unwrap_or(Duration::ZERO);
                take(&target.open(session).await?, wait, session).await
            }
            Self::Ack(job) => {
                let (queue, job) = job.open(session).await?;
                print_end(
                    session,
                    job.id.clone(),
                    queue.ack(&job).await?,
                    "acknowledged",
                )
            }
            Self::Nack { job, delay, front } => {
                let to = match delay {
                    Some(delay) => ReturnTo::Backlog(delay),
                    None if front => ReturnTo::Front,
                    None => ReturnTo::Back,
                };
                let (queue, job) = job.open(session).await?;
                print_end(
                    session,
                    job.id.clone(),
                    queue.nack(&job, to).await?,
                    "returned",
                )
            }
            Self::Renew(job) => {
                let (queue, job) = job.open(session).await?;
                print_end(session, job.id.clone(), queue.renew(&job).await?, "renewed")
            }
        }
    }
}

/// Takes a job and prints it, or null. A payload that is not UTF-8 is in a separate base64 field.
async fn take(queue: &DelayedQueue, wait: Duration, session: &mut Session) -> Result<Exit> {
    let Some(job) = queue.take(wait).await? else {
        session.output.result(&(), |_| {});
        session.output.note("no job is due");
        return Ok(Exit::Ok);
    };
    let payload = content("payload", "payload_base64", &job.payload);
    let shown = shown(&payload);
    let reply = Object(vec![
        ("id", job.id.as_str().into()),
        payload,
        (
            "due_time",
            job.due_time.map(|due| due.as_ms() / 1000).into(),
        ),
        ("pickup_time", job.pickup_time.into()),
        ("ticket", job.ticket.as_str().into()),
    ]);
    session.output.result(&reply, |output| {
        output.fields(vec![
            ("id", Some(job.id.clone())),
            ("ticket", Some(job.ticket.clone())),
            ("payload", Some(shown)),
        ]);
    });
    let Some(why) = session.output.undelivered() else {
        return Ok(Exit::Ok);
    };
    queue.nack(&job, ReturnTo::Front).await?;
    Err(CliError::unwritable(&why))
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

fn print_end(session: &mut Session, id: String, end: AckStatus, status: &str) -> Result<Exit> {
    if end == AckStatus::Gone {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!("job {id} is not held under this ticket any more; nothing changed"),
            "discard the result and take again: another worker may have the job",
        )
        .into());
    }
    let line = format!("{id} {status}");
    print::reply(
        session,
        [("id", id.into()), ("status", status.into())],
        line,
    )
}
