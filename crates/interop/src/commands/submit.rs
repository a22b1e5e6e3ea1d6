//! `windlass submit`: submits a burst of jobs with random due times, over HTTP or to the store.

mod lateness;
mod post;

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass::store::{Clock, SystemClock};
use windlass::{NewJob, QueueName, Store, Timestamp, duration};

use self::lateness::Lateness;
use self::post::Endpoint;
use windlass_terminal::env;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::session::Session;

/// Default of `--count`.
const COUNT_DEFAULT: usize = 50;

/// Largest burst; all ids are kept in memory until they are printed.
const COUNT_MAX: usize = 1_000_000;

/// Default of `--within`.
const WITHIN_DEFAULT: Duration = Duration::from_secs(20);

/// Jobs per enqueue call.
const BATCH_MAX: usize = 1000;

/// Minimum delay of a job, if `--within` allows it.
const DELAY_MIN_MS: u64 = 1000;

/// Default queue of `POST /`.
const DELAYED: &str = "delayed";

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "With --url, the access token is read from WINDLASS_HTTP_TOKEN.\n\n\
    Examples:\n  \
    windlass submit --count 50 --within 20s --watch\n  \
    windlass submit --url http://127.0.0.1:7700"
)]
pub struct Arguments {
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    #[arg(help = "Number of jobs [default: 50] [env: JOB_COUNT]")]
    count: Option<String>,

    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(
        help = "Jobs are due at a random time within D from now [default: 20s] \
                [env: TIME_OFFSET_SEC, in seconds]"
    )]
    within: Option<String>,

    /// Queue name [default: delayed, or the server's default with --url]
    #[arg(long, value_name = "Q")]
    queue: Option<String>,

    #[arg(long, value_name = "URL")]
    #[arg(
        help = "Server URL; if not set, jobs are enqueued directly in the store [env: API_ENDPOINT]"
    )]
    url: Option<String>,

    /// Wait until the jobs have ended, and print how late they started
    #[arg(long)]
    watch: bool,
}

/// The submitted jobs.
#[derive(Debug, Serialize)]
struct Reply {
    submitted: usize,
    ids: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lateness_ms: Option<Lateness>,
}

/// A job to submit: its payload, and within how many milliseconds it is due.
#[derive(Debug, Clone)]
struct PlannedJob {
    payload: String,
    within: u64,
}

/// A submitted job.
#[derive(Debug, Clone)]
pub(super) struct SubmittedJob {
    id: String,
    due: Timestamp,
}

/// Submits the jobs and prints their ids.
pub async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    // Validate all arguments before a store is created.
    let within = within(arguments.within.as_deref())?;
    let count = env::flag_or(arguments.count.as_deref(), "JOB_COUNT", count)?;
    let queue = arguments.queue.as_deref().map(QueueName::new).transpose()?;
    let plan = plan(count.unwrap_or(COUNT_DEFAULT), within);
    let (submitted, lateness_ms) = if let Some(endpoint) = Endpoint::of(arguments.url.as_deref())? {
        over_http(&endpoint, queue, plan, arguments.watch).await?
    } else {
        let store = session.store_or_create().await?;
        into_store(store.as_ref(), queue, plan, arguments.watch).await?
    };
    let reply = Reply {
        submitted: submitted.len(),
        ids: submitted.into_iter().map(|job| job.id).collect(),
        lateness_ms,
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{} jobs submitted", reply.submitted));
        if let Some(late) = &reply.lateness_ms {
            output.line(&late.text());
        }
    });
    Ok(Exit::Ok)
}

/// The submitted jobs and, with `--watch`, how late they were.
type Submitted = (Vec<SubmittedJob>, Option<Lateness>);

async fn over_http(
    endpoint: &Endpoint,
    queue: Option<QueueName>,
    plan: Vec<PlannedJob>,
    is_watched: bool,
) -> Result<Submitted> {
    let jobs = post::all(endpoint, queue.as_ref(), plan).await?;
    if !is_watched {
        return Ok((jobs, None));
    }
    let late = lateness::over_http(endpoint, queue.as_ref(), &jobs).await?;
    Ok((jobs, Some(late)))
}

async fn into_store(
    store: &dyn Store,
    queue: Option<QueueName>,
    plan: Vec<PlannedJob>,
    is_watched: bool,
) -> Result<Submitted> {
    let queue = queue.map_or_else(|| QueueName::new(DELAYED), Ok)?;
    let jobs = enqueue_all(store, &queue, plan, is_watched).await?;
    if !is_watched {
        return Ok((jobs, None));
    }
    let late = lateness::in_store(store, &queue, &jobs).await?;
    Ok((jobs, Some(late)))
}

fn within(flag: Option<&str>) -> Result<Duration> {
    if let Some(text) = flag {
        return Ok(duration::parse(text)?);
    }
    let seconds = |text: &str| {
        let seconds = text.trim().parse().map(Duration::from_secs);
        seconds.map_err(|_| {
            let help = "use a whole number of seconds, for example TIME_OFFSET_SEC=20";
            CliError::usage("not a number of seconds", help)
        })
    };
    let within = env::value("TIME_OFFSET_SEC", seconds)?;
    Ok(within.unwrap_or(WITHIN_DEFAULT))
}

fn count(text: &str) -> Result<usize> {
    let help = format!("use a whole number from 0 to {COUNT_MAX}, for example 50");
    let count = text.trim().parse().ok();
    count.filter(|count| *count <= COUNT_MAX).ok_or_else(|| {
        let short: String = text.chars().take(40).collect();
        let message = format!("invalid number of jobs: {short:?}");
        CliError::usage(message, help)
    })
}

/// Returns the jobs to submit; due times are chosen when they are sent.
fn plan(count: usize, within: Duration) -> Vec<PlannedJob> {
    let within = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
    let planned = (1..=count).map(|n| PlannedJob {
        payload: format!("job #{n}"),
        within,
    });
    planned.collect()
}

impl PlannedJob {
    /// Returns a random due time, late enough to still be in the future when the job arrives.
    fn random_due(&self) -> Timestamp {
        let least = (self.within / 2).clamp(1, DELAY_MIN_MS);
        let delay = fastrand::u64(least..=self.within.max(least));
        let now = SystemClock.now_us() / 1000;
        Timestamp::from_ms(now.saturating_add(delay))
    }
}

async fn enqueue_all(
    store: &dyn Store,
    queue: &QueueName,
    plan: Vec<PlannedJob>,
    is_watched: bool,
) -> Result<Vec<SubmittedJob>> {
    let mut submitted = Vec::new();
    for batch in plan.chunks(BATCH_MAX) {
        let due: Vec<_> = batch.iter().map(PlannedJob::random_due).collect();
        let job = |(planned, due): (&PlannedJob, &Timestamp)| {
            let job = NewJob::new(planned.payload.clone()).at(*due);
            if is_watched { job.keep_outcome() } else { job }
        };
        let jobs = batch.iter().zip(&due).map(job).collect();
        let enqueued = store.enqueue(queue, jobs).await?;
        submitted.extend(enqueued.iter().zip(due).map(|(job, due)| SubmittedJob {
            id: job.id().to_string(),
            due,
        }));
    }
    Ok(submitted)
}
