//! `windlass enqueue`: puts one job, or one per line of NDJSON, into a queue.

mod ndjson;
mod safety;

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass::store::{Enqueued, Limits};
use windlass::{Error, JobId, Kind, NewJob, Priority, QueueName, Store, UniqueKey};
use windlass_api::enqueue::due;
use windlass_api::{EnqueueReply, JobEnd, JobReply, timestamp, wait_for_end};

use self::safety::Safety;
use super::job::wait;
use crate::exit::{Exit, Failure, Result};
use crate::input::{Unasked, bytes_or_stdin, unasked};
use crate::session::Session;
use crate::typed;

/// How often an enqueue without an answer is repeated.
const REPEATS_MAX: u32 = 3;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "D is a duration such as 500ms, 10s or 1h30m. T is a time: RFC 3339 such as 2030-01-31T12:00:00Z, or \
    seconds since 1970.\n\n\
    A line of NDJSON is one JSON object; every field may be left out: payload (a string stands for its bytes, any \
    other JSON keeps its text), payload_base64 (bytes that are not UTF-8), id, kind, priority, delay, at, unique_key, \
    max_attempts, timeout, expires, headers (an object of strings). They mean what the options mean. A job as \
    `job get --json` or an export over HTTP prints it is taken too, unless it has ended. A bad line is told with its \
    number and the rest goes on; the exit is then 1.\n\n\
    Examples:\n  \
    windlass enqueue mail 'dear Ann' --delay 10m\n  \
    windlass enqueue mail - < letter.txt\n  \
    windlass enqueue mail 'dear Ann' --wait=1m\n  \
    echo '{\"payload\":\"dear Ann\",\"priority\":1}' | windlass enqueue mail --ndjson -"
)]
pub(crate) struct Arguments {
    /// The queue; the first job makes it
    queue: String,

    /// The bytes of the job; `-` reads them from standard input, without it they are none
    payload: Option<OsString>,

    #[command(flatten)]
    options: Options,

    /// One job per line of this file, each a JSON object; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["payload", "Options"])]
    ndjson: Option<OsString>,

    /// Wait until the job has ended, for ever or for D, and print it; exit 1 when it failed, 124 when D
    /// is over first
    #[arg(long, value_name = "D", num_args = 0..=1, require_equals = true)]
    #[arg(conflicts_with = "ndjson")]
    #[expect(
        clippy::option_option,
        reason = "absent, without a value, with a value"
    )]
    wait: Option<Option<String>>,
}

/// What may be said of one job beside its payload.
#[derive(Debug, Args)]
#[group(id = "Options", multiple = true)]
struct Options {
    /// The job's id: the same id is the same job
    #[arg(long, allow_hyphen_values = true)]
    id: Option<String>,

    /// What sort of job it is, for workers that know several
    #[arg(long, allow_hyphen_values = true)]
    kind: Option<String>,

    /// From 0 (first) to 9 (last) [default: 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<String>,

    /// Run it no earlier than this long from now
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delay: Option<String>,

    /// Run it no earlier than this time
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    #[arg(conflicts_with = "delay")]
    at: Option<String>,

    /// A key that only one live job of the queue may hold
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    unique_key: Option<String>,

    /// How many attempts there are in all [default: 20]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_attempts: Option<String>,

    /// How long one attempt may take
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    timeout: Option<String>,

    /// Give it up when it has not started by then: a duration or a time
    #[arg(long, value_name = "D|T", allow_hyphen_values = true)]
    expires: Option<String>,

    /// A small fact beside the payload; may be repeated
    #[arg(long = "header", value_name = "NAME=VALUE")]
    headers: Vec<String>,
}

/// A job that was waited for.
#[derive(Debug, Serialize)]
struct WaitReply {
    #[serde(flatten)]
    job: JobReply,
    duplicate: bool,
}

/// Enqueues and prints what became of each job.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    if let Some(file) = arguments.ndjson {
        return ndjson::run(&queue, &file, session).await;
    }
    let mut job = new_job(&arguments.options)?;
    job.keep_outcome = arguments.wait.is_some();
    let limit = arguments.wait.as_ref().and_then(Option::as_deref);
    let limit = typed::duration(limit)?;
    // Last, so that a mistake on the line is told before standard input is read.
    job.payload = payload(arguments.payload, session)?;
    // Refused before a store is made for it.
    Limits::default().check_job(&job)?;
    let store = session.store_or_create().await?;

    let enqueued = enqueue(store.as_ref(), &queue, vec![job]).await?;
    let asked = session.lasting_store()?.durability();
    Safety::new(asked).take(&enqueued).tell(&mut session.output);
    let [enqueued] = enqueued.as_slice() else {
        return Err(Failure::internal("the store gave no answer for the job"));
    };

    if arguments.wait.is_some() {
        return wait(store.as_ref(), &queue, enqueued, limit, session).await;
    }
    print(&EnqueueReply::new(&queue, enqueued), session);
    Ok(Exit::Ok)
}

/// Enqueues, and repeats what got no answer: the ids make that safe.
async fn enqueue(
    store: &dyn Store,
    queue: &QueueName,
    jobs: Vec<NewJob>,
) -> windlass::Result<Vec<Enqueued>> {
    let mut repeats = 0;
    loop {
        match store.enqueue(queue, jobs.clone()).await {
            Err(error) if error.is_unknown() && repeats < REPEATS_MAX => repeats += 1,
            answer => return answer,
        }
    }
}

fn new_job(options: &Options) -> Result<NewJob> {
    let mut job = NewJob::new(windlass::Bytes::new());
    if let Some(id) = &options.id {
        job = job.id(JobId::new(id)?);
    }
    if let Some(priority) = &options.priority {
        job.priority = Priority::new(number("priority", priority, "use 0 (first) to 9 (last)")?)?;
    }
    if let Some(attempts) = &options.max_attempts {
        let attempts = number("number of attempts", attempts, "allow at least 1 attempt")?;
        job.retry = job.retry.max_attempts(attempts);
    }
    for header in &options.headers {
        let (name, value) = header.split_once('=').ok_or_else(|| {
            Error::invalid("header", format!("{header:?} has no ="), "write name=value")
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
    job.timeout = typed::duration(options.timeout.as_deref())?;
    job.expires = options
        .expires
        .as_deref()
        .map(timestamp::parse_due)
        .transpose()?;
    Ok(job)
}

/// The bytes of the job. None where none are given, unless some wait on standard input: whoever
/// sent them there means them, and forgot to say so.
fn payload(argument: Option<OsString>, session: &mut Session) -> Result<windlass::Bytes> {
    if let Some(argument) = argument {
        return bytes_or_stdin(argument);
    }
    match unasked(std::io::stdin()) {
        Unasked::Bytes => {
            return Err(Failure::usage(
                "there are bytes on standard input and no PAYLOAD, so they would be lost",
                "write - as PAYLOAD to take them, or '' for a job without bytes",
            ));
        }
        Unasked::Silent => session
            .output
            .talk("no PAYLOAD: the job has no bytes; write - to read them from standard input"),
        Unasked::Nothing => {}
    }
    Ok(windlass::Bytes::new())
}

fn number<N: std::str::FromStr>(part: &str, text: &str, help: &'static str) -> Result<N> {
    let why = format!("{text:?} is not such a number");
    text.parse()
        .map_err(|_| Error::invalid(part, why, help).into())
}

fn print(reply: &EnqueueReply, session: &mut Session) {
    session
        .output
        .result(reply, |output| output.line(&reply.id));
    if reply.duplicate {
        session
            .output
            .talk(&format!("duplicate: the first job is {}", reply.state));
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
        // A duplicate of a job that has ended and is remembered by its id alone.
        _ if enqueued.state().is_final() => {
            print(&EnqueueReply::new(queue, enqueued), session);
            Ok(wait::exit_of(enqueued.state()))
        }
        JobEnd::EndedNotKept(state) => {
            session.output.talk(state.as_str());
            print(&EnqueueReply::new(queue, enqueued).ended(state), session);
            Ok(wait::exit_of(state))
        }
        JobEnd::Gone | JobEnd::NotFound => Err(wait::gone(queue, enqueued.id())),
        JobEnd::TimedOut(job) => Err(wait::timed_out(enqueued.id(), job.state)),
    }
}
