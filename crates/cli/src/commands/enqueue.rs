//! `windlass enqueue`: adds a job to a queue, or one job per line of NDJSON.

mod durability;
mod ndjson;

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass::store::{Enqueued, Limits};
use windlass::{Error, JobId, Kind, NewJob, Priority, QueueName, Store, UniqueKey};
use windlass_api::enqueue::due;
use windlass_api::{EnqueueReply, JobEnd, JobReply, timestamp, wait_for_end};

use self::durability::DurabilityCheck;
use super::job::wait;
use crate::exit::{CliError, Exit, Result};
use crate::input::{UnreadInput, bytes_or_stdin, peek};
use crate::parse;
use crate::session::Session;

/// Retries of an enqueue with an unknown outcome.
const RETRIES_MAX: u32 = 3;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "D is a duration: 500ms, 10s, 1h30m. T is a time: RFC 3339 (2030-01-31T12:00:00Z) or Unix seconds.\n\n\
    NDJSON: one JSON object per line. All fields are optional: payload (a string is stored as its bytes, any \
    other JSON as its text), payload_base64 (for binary data), id, kind, priority, delay, at, unique_key, \
    max_attempts, timeout, expires, headers (an object of strings). They mean the same as the options. Jobs printed \
    by `job get --json` or exported over HTTP are also accepted, unless they have ended. An invalid line is \
    reported with its number and skipped; the exit code is then 1.\n\n\
    Examples:\n  \
    windlass enqueue mail 'dear Ann' --delay 10m\n  \
    windlass enqueue mail - < letter.txt\n  \
    windlass enqueue mail 'dear Ann' --wait=1m\n  \
    echo '{\"payload\":\"dear Ann\",\"priority\":1}' | windlass enqueue mail --ndjson -"
)]
pub(crate) struct Arguments {
    /// Queue name; the first job creates the queue
    queue: String,

    /// Payload of the job; `-` reads stdin. If omitted, the payload is empty
    payload: Option<OsString>,

    #[command(flatten)]
    options: Options,

    /// Enqueue one job per line of this file, each a JSON object; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["payload", "Options"])]
    ndjson: Option<OsString>,

    /// Wait until the job ends, at most D if given, and print it; exits with 1 if the job failed, 124
    /// on timeout
    #[arg(long, value_name = "D", num_args = 0..=1, require_equals = true)]
    #[arg(conflicts_with = "ndjson")]
    #[expect(
        clippy::option_option,
        reason = "absent, without a value, with a value"
    )]
    wait: Option<Option<String>>,
}

/// Options of one job.
#[derive(Debug, Args)]
#[group(id = "Options", multiple = true)]
struct Options {
    /// Job id; enqueueing the same id again has no effect [default: generated]
    #[arg(long, allow_hyphen_values = true)]
    id: Option<String>,

    /// Kind of job, for workers that handle several
    #[arg(long, allow_hyphen_values = true)]
    kind: Option<String>,

    /// Priority from 0 (first) to 9 (last) [default: 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<String>,

    /// Run the job after this delay at the earliest
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delay: Option<String>,

    /// Do not run before this time
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    #[arg(conflicts_with = "delay")]
    at: Option<String>,

    /// Key that only one live job of the queue may have
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    unique_key: Option<String>,

    /// Maximum number of attempts [default: 20]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_attempts: Option<String>,

    /// Time limit per attempt
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    timeout: Option<String>,

    /// Discard the job if it has not started by then: a duration or a time
    #[arg(long, value_name = "D|T", allow_hyphen_values = true)]
    expires: Option<String>,

    /// Header to store with the job; repeatable
    #[arg(long = "header", value_name = "NAME=VALUE")]
    headers: Vec<String>,
}

/// The reply with `--wait`.
#[derive(Debug, Serialize)]
struct WaitReply {
    #[serde(flatten)]
    job: JobReply,
    duplicate: bool,
}

/// Enqueues, and prints the status of each job.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    if let Some(file) = arguments.ndjson {
        return ndjson::run(&queue, &file, session).await;
    }
    let mut job = new_job(&arguments.options)?;
    job.keep_outcome = arguments.wait.is_some();
    let limit = arguments.wait.as_ref().and_then(Option::as_deref);
    let limit = parse::duration(limit)?;
    // Last, so that a usage error is reported before stdin is read.
    job.payload = payload(arguments.payload, session)?;
    // Before a store is created.
    Limits::default().check_job(&job)?;
    let store = session.store_or_create().await?;

    let enqueued = enqueue(store.as_ref(), &queue, vec![job]).await?;
    let required = session.persistent_store_url()?.durability();
    DurabilityCheck::new(required)
        .record(&enqueued)
        .report(&mut session.output);
    let [enqueued] = enqueued.as_slice() else {
        return Err(CliError::internal(
            "the store returned no status for the job",
        ));
    };

    if arguments.wait.is_some() {
        return wait(store.as_ref(), &queue, enqueued, limit, session).await;
    }
    print(&EnqueueReply::new(&queue, enqueued), session);
    Ok(Exit::Ok)
}

/// Enqueues jobs. Retries if the outcome is unknown, which the ids make safe.
async fn enqueue(
    store: &dyn Store,
    queue: &QueueName,
    jobs: Vec<NewJob>,
) -> windlass::Result<Vec<Enqueued>> {
    let mut retries = 0;
    loop {
        match store.enqueue(queue, jobs.clone()).await {
            Err(error) if error.is_unknown() && retries < RETRIES_MAX => retries += 1,
            result => return result,
        }
    }
}

fn new_job(options: &Options) -> Result<NewJob> {
    let mut job = NewJob::new(windlass::Bytes::new());
    if let Some(id) = &options.id {
        job = job.id(JobId::new(id)?);
    }
    if let Some(priority) = &options.priority {
        let level: i64 = number("priority", priority, "use 0 (first) to 9 (last)")?;
        job.priority = Priority::try_from(level)?;
    }
    if let Some(attempts) = &options.max_attempts {
        let attempts = number("number of attempts", attempts, "allow at least 1 attempt")?;
        job.retry = job.retry.max_attempts(attempts);
    }
    for header in &options.headers {
        let (name, value) = header.split_once('=').ok_or_else(|| {
            Error::invalid("header", format!("{header:?} has no ="), "use NAME=VALUE")
        })?;
        job.headers.set(name, value)?;
    }
    job.kind = options.kind.as_ref().map(Kind::new).transpose()?;
    job.unique_key = options
        .unique_key
        .as_ref()
        .map(UniqueKey::new)
        .transpose()?;
    job.due = due(options.delay.as_deref(), options.at.as_deref())?;
    job.timeout = parse::duration(options.timeout.as_deref())?;
    job.expires = options
        .expires
        .as_deref()
        .map(timestamp::parse_due)
        .transpose()?;
    Ok(job)
}

/// Returns the payload. If it is omitted but stdin has data, returns an error: `-` was probably
/// forgotten.
fn payload(argument: Option<OsString>, session: &mut Session) -> Result<windlass::Bytes> {
    if let Some(argument) = argument {
        return bytes_or_stdin(argument);
    }
    match peek(std::io::stdin()) {
        UnreadInput::Bytes => {
            return Err(CliError::usage(
                "stdin has data but PAYLOAD is missing, so the data would be ignored",
                "use - as PAYLOAD to read stdin, or '' for an empty payload",
            ));
        }
        UnreadInput::Pending => session
            .output
            .note("PAYLOAD is missing, so the payload is empty; use - to read stdin"),
        UnreadInput::Empty => {}
    }
    Ok(windlass::Bytes::new())
}

fn number<N: std::str::FromStr>(name: &str, text: &str, help: &'static str) -> Result<N> {
    let why = format!("{text:?} is not a valid number");
    text.parse()
        .map_err(|_| Error::invalid(name, why, help).into())
}

fn print(reply: &EnqueueReply, session: &mut Session) {
    session
        .output
        .result(reply, |output| output.line(&reply.id));
    if reply.duplicate {
        session.output.note(&format!(
            "duplicate: job {} already exists ({}); nothing was added",
            reply.id, reply.state
        ));
    }
}

async fn wait(
    store: &dyn Store,
    queue: &QueueName,
    enqueued: &Enqueued,
    limit: Option<Duration>,
    session: &mut Session,
) -> Result<Exit> {
    match wait_for_end(store, queue, enqueued.id(), limit).await? {
        JobEnd::Ended(job) => {
            let duplicate = enqueued.is_duplicate();
            let reply = WaitReply {
                job: JobReply::from(job.as_ref()),
                duplicate,
            };
            session
                .output
                .result(&reply, |output| wait::print_job(output, &reply.job));
            Ok(wait::exit_of(job.state))
        }
        // A duplicate of an ended job of which only the id is retained.
        _ if enqueued.state().is_final() => {
            print(&EnqueueReply::new(queue, enqueued), session);
            Ok(wait::exit_of(enqueued.state()))
        }
        JobEnd::EndedNotKept(state) => {
            session.output.note(state.as_str());
            print(&EnqueueReply::new(queue, enqueued).ended(state), session);
            Ok(wait::exit_of(state))
        }
        JobEnd::Gone | JobEnd::NotFound => Err(wait::gone(queue, enqueued.id())),
        JobEnd::TimedOut(job) => Err(wait::timed_out(enqueued.id(), job.state)),
    }
}
