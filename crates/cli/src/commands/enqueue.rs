//! `windlass enqueue`: adds a job to a queue, or one job per line of NDJSON.

mod ndjson;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass::store::{
    DurabilityLevel, {Enqueued, Limits},
};
use windlass::{Error, NewJob, QueueName, Store, duration};
use windlass_api::request::Enqueue;
use windlass_api::{
    EnqueueReply, Error as ApiError, JobEnd, JobReply, TraceHeaders, until_known, wait_for_end,
};

use super::job::wait;
use super::verb::{OnQueue, Print};
use crate::exit::{CliError, Exit, Result};
use crate::input::{UnreadInput, bytes_or_stdin, peek};
use crate::output::Output;
use crate::session::Session;
use crate::telemetry::Telemetry;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "The first job creates the queue.\n\nD is a duration: 500ms, 10s, 1h30m. T is a time: RFC 3339 (2030-01-31T12:00:00Z) or Unix seconds.\n\n\
    NDJSON: one JSON object per line. All fields are optional: payload (a string is stored as its bytes, any \
    other JSON as its text), payload_base64 (for binary data), id, kind, priority, group, delay, at, unique_key, \
    unique_until, unique_for, on_duplicate, postpone_max, max_attempts, timeout, expires, headers (an object of strings). They mean the same as the options. Jobs printed \
    by `job get --json` or exported over HTTP are also accepted, unless they have ended, and so are exported \
    schedules. An invalid line is \
    reported with its number and skipped; the exit code is then 1.\n\n\
    Examples:\n  \
    windlass enqueue mail 'dear Ann' --delay 10m\n  \
    windlass enqueue mail - < letter.txt\n  \
    windlass enqueue mail 'dear Ann' --wait=1m\n  \
    windlass enqueue index page-7 --unique-key page-7 --on-duplicate replace,postpone --delay 10s\n  \
    echo '{\"payload\":\"dear Ann\",\"priority\":1}' | windlass enqueue mail --ndjson -"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    enqueue: OnQueue<Enqueue>,

    /// Payload of the job; `-` reads stdin. If omitted, the payload is empty
    payload: Option<OsString>,

    /// Header to store with the job; repeatable
    #[arg(long = "header", value_name = "NAME=VALUE")]
    headers: Vec<String>,

    /// Enqueue one job per line of this file, each a JSON object; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["payload", "EnqueueRequest", "headers"])]
    ndjson: Option<OsString>,

    /// Wait until the job ends, at most D if given, and print it; exits with 1 if the job failed, 124
    /// on timeout
    #[arg(long, value_name = "D", num_args = 0..=1, require_equals = true)]
    #[arg(value_parser = duration::parse)]
    #[arg(conflicts_with = "ndjson")]
    #[expect(
        clippy::option_option,
        reason = "absent, without a value, with a value"
    )]
    wait: Option<Option<Duration>>,
}

/// The reply with `--wait`.
#[derive(Debug, Serialize)]
struct WaitReply {
    #[serde(flatten)]
    job: JobReply,
    duplicate: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replaced: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    postponed: bool,
}

impl Print for WaitReply {
    fn print(&self, output: &mut Output) {
        self.job.print(output);
    }
}

/// Enqueues, and prints the status of each job.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let telemetry = Telemetry::from_env();
    let (span, trace) = telemetry.start_enqueue(&arguments.enqueue.queue);
    let enqueued = run_traced(arguments, trace, session).await;
    if let Some(span) = span {
        let error = enqueued.as_ref().err();
        span.end(error.map(|error| error.details.message.as_str()));
    }
    telemetry.finish().await;
    enqueued
}

/// Enqueues jobs that belong to a trace.
async fn run_traced(
    arguments: Arguments,
    trace: Option<TraceHeaders>,
    session: &mut Session,
) -> Result<Exit> {
    let OnQueue { queue, mut request } = arguments.enqueue;
    if let Some(file) = arguments.ndjson {
        return ndjson::run(&queue, &file, trace, session).await;
    }
    request.headers = Some(headers(&arguments.headers)?);
    if let Some(trace) = trace {
        trace.add_to(&mut request.headers);
    }
    let mut job = request.into_job()?;
    job.keep_outcome = arguments.wait.is_some();
    // Last, so that a usage error is reported before stdin is read.
    job.payload = payload(arguments.payload, session)?;
    // Before a store is created.
    Limits::default().check_job(&job)?;
    let store = session.store_or_create().await?;

    let enqueued = enqueue(store.as_ref(), &queue, vec![job]).await?;
    let enqueued = enqueued.first().ok_or_else(ApiError::missing_reply)?;
    note_durability(enqueued.level(), session)?;
    if let Some(limit) = arguments.wait {
        return wait(store.as_ref(), &queue, enqueued, limit, session).await;
    }
    print(&EnqueueReply::new(&queue, enqueued), session);
    Ok(Exit::Ok)
}

/// Enqueues jobs. Repeats the call if the outcome is unknown, which the ids make safe.
async fn enqueue(
    store: &dyn Store,
    queue: &QueueName,
    jobs: Vec<NewJob>,
) -> windlass::Result<Vec<Enqueued>> {
    until_known(|| store.enqueue(queue, jobs.clone())).await
}

pub(super) fn headers(pairs: &[String]) -> Result<BTreeMap<String, String>> {
    let pairs = pairs.iter().map(|pair| {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            Error::invalid("header", format!("{pair:?} has no ="), "use NAME=VALUE")
        })?;
        Ok((name.to_owned(), value.to_owned()))
    });
    pairs.collect()
}

/// Returns the payload. If it is omitted but stdin has data, returns an error: `-` was probably
/// forgotten.
pub(super) fn payload(
    argument: Option<OsString>,
    session: &mut Session,
) -> Result<windlass::Bytes> {
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

/// Notes on stderr that jobs were stored with a lower durability than the store URL requires. With
/// `--json` each reply has the level that was reached.
fn note_durability(lowest: DurabilityLevel, session: &mut Session) -> Result<()> {
    let required = session.persistent_store_url()?.durability();
    if lowest < required {
        session.output.note(&format!(
            "stored with durability {lowest}, but the store URL requires {required}; run `windlass doctor` to find out why"
        ));
    }
    Ok(())
}

fn print(reply: &EnqueueReply, session: &mut Session) {
    session
        .output
        .result(reply, |output| output.line(&reply.id));
    let EnqueueReply { id, state, .. } = reply;
    if reply.duplicate {
        session.output.note(&format!(
            "duplicate: job {id} already exists ({state}); nothing was added"
        ));
    } else if reply.replaced {
        session.output.note(&format!(
            "replaced: job {id} already exists ({state}) and has the new content"
        ));
    } else if reply.postponed {
        session.output.note(&format!(
            "postponed: job {id} already exists ({state}) and is due later; its content is the same"
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
    let id = enqueued.id();
    let state = match wait_for_end(store, queue, id, limit).await? {
        JobEnd::Ended(job) => {
            let reply = WaitReply {
                job: JobReply::from(job.as_ref()),
                duplicate: enqueued.is_duplicate(),
                replaced: enqueued.is_replaced(),
                postponed: enqueued.is_postponed(),
            };
            reply.show(session);
            return Ok(wait::exit_of(reply.job.state));
        }
        // A duplicate of an ended job of which only the id is retained.
        _ if enqueued.state().is_final() => enqueued.state(),
        JobEnd::EndedNotKept(state) => {
            session.output.note(state.as_str());
            state
        }
        JobEnd::Gone | JobEnd::NotFound => return Err(ApiError::not_kept(queue, id).into()),
        JobEnd::TimedOut(job) => return Err(ApiError::wait_timed_out(id, job.state).into()),
    };
    print(&EnqueueReply::new(queue, enqueued).ended(state), session);
    Ok(wait::exit_of(state.as_str()))
}
