//! `windlass submit`: a burst of jobs with random due times, over HTTP or straight into the store.

mod late;
mod post;

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass::store::{Clock, SystemClock};
use windlass::{NewJob, QueueName, Store, Timestamp, duration};

use self::late::Lateness;
use self::post::Endpoint;
use crate::exit::{Exit, Failure, Result};
use crate::session::Session;
use crate::variable;

/// How many jobs a burst has unless said.
const COUNT_DEFAULT: usize = 50;

/// How many jobs a burst has at most: all their ids are held until they are printed.
const COUNT_MAX: usize = 1_000_000;

/// Within how long they fall due unless said.
const WITHIN_DEFAULT: Duration = Duration::from_secs(20);

/// How many jobs go to the store in one call.
const BATCH_MAX: usize = 1000;

/// So long ahead every job falls due at least, if there is room for it.
const LEAD_MS: u64 = 1000;

/// The queue of jobs that come by `POST /` unless the server was told otherwise.
const DELAYED: &str = "delayed";

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "With --url, WINDLASS_HTTP_TOKEN is the token that is shown to the server.\n\n\
    Examples:\n  \
    windlass submit --count 50 --within 20s --watch\n  \
    windlass submit --url http://127.0.0.1:7700"
)]
pub(crate) struct Arguments {
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    #[arg(help = "How many jobs [default: 50] [env: JOB_COUNT]")]
    count: Option<String>,

    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(help = "Within how long from now they fall due [default: 20s] \
                [env: TIME_OFFSET_SEC, in seconds]")]
    within: Option<String>,

    /// The queue [default: delayed, or over HTTP the server's]
    #[arg(long, value_name = "Q")]
    queue: Option<String>,

    #[arg(long, value_name = "URL")]
    #[arg(help = "The server; without it the jobs go straight into the store [env: API_ENDPOINT]")]
    url: Option<String>,

    /// Wait until they have ended, and print how late they were
    #[arg(long)]
    watch: bool,
}

/// What was put in.
#[derive(Debug, Serialize)]
struct Reply {
    submitted: usize,
    ids: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lateness_ms: Option<Lateness>,
}

/// A job to be: its payload, and within how many milliseconds it falls due.
#[derive(Debug, Clone)]
struct Planned {
    payload: String,
    within: u64,
}

/// A job that was put in.
#[derive(Debug, Clone)]
pub(super) struct Put {
    id: String,
    due: Timestamp,
}

/// Puts them in and prints their ids.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    // What makes no sense is told before a store is made.
    let within = within(arguments.within.as_deref())?;
    let count = variable::flag_or(arguments.count.as_deref(), "JOB_COUNT", count)?;
    let queue = arguments.queue.as_deref().map(QueueName::new).transpose()?;
    let plan = plan(count.unwrap_or(COUNT_DEFAULT), within);
    let (put, lateness_ms) = if let Some(endpoint) = Endpoint::of(arguments.url.as_deref())? {
        over_http(&endpoint, queue, plan, arguments.watch).await?
    } else {
        let store = session.store_or_create().await?;
        into_store(store.as_ref(), queue, plan, arguments.watch).await?
    };
    let reply = Reply {
        submitted: put.len(),
        ids: put.into_iter().map(|put| put.id).collect(),
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

/// What was put in and, where somebody watched, how late it was.
type Done = (Vec<Put>, Option<Lateness>);

async fn over_http(
    endpoint: &Endpoint,
    queue: Option<QueueName>,
    plan: Vec<Planned>,
    is_watched: bool,
) -> Result<Done> {
    let put = post::all(endpoint, queue.as_ref(), plan).await?;
    if !is_watched {
        return Ok((put, None));
    }
    let late = late::over_http(endpoint, queue.as_ref(), &put).await?;
    Ok((put, Some(late)))
}

async fn into_store(
    store: &dyn Store,
    queue: Option<QueueName>,
    plan: Vec<Planned>,
    is_watched: bool,
) -> Result<Done> {
    let queue = queue.map_or_else(|| QueueName::new(DELAYED), Ok)?;
    let put = enqueue_all(store, &queue, plan, is_watched).await?;
    if !is_watched {
        return Ok((put, None));
    }
    let late = late::in_store(store, &queue, &put).await?;
    Ok((put, Some(late)))
}

fn within(flag: Option<&str>) -> Result<Duration> {
    if let Some(text) = flag {
        return Ok(duration::parse(text)?);
    }
    let seconds = |text: &str| {
        let seconds = text.trim().parse().map(Duration::from_secs);
        seconds.map_err(|_| {
            let help = "write a whole number of seconds, for example TIME_OFFSET_SEC=20";
            Failure::usage("it is not a number of seconds", help)
        })
    };
    let within = variable::value("TIME_OFFSET_SEC", seconds)?;
    Ok(within.unwrap_or(WITHIN_DEFAULT))
}

fn count(text: &str) -> Result<usize> {
    let help = format!("write a whole number from 0 to {COUNT_MAX}, for example 50");
    let count = text.trim().parse().ok();
    count.filter(|count| *count <= COUNT_MAX).ok_or_else(|| {
        let short: String = text.chars().take(40).collect();
        let message = format!("invalid number of jobs: {short:?}");
        Failure::usage(message, help)
    })
}

/// Jobs whose due times are drawn when they are sent.
fn plan(count: usize, within: Duration) -> Vec<Planned> {
    let within = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
    let planned = (1..=count).map(|n| Planned {
        payload: format!("job #{n}"),
        within,
    });
    planned.collect()
}

impl Planned {
    /// A due time that lies ahead even when the job takes a moment to arrive.
    fn draw(&self) -> Timestamp {
        let least = (self.within / 2).clamp(1, LEAD_MS);
        let ahead = fastrand::u64(least..=self.within.max(least));
        let now = SystemClock.now_us() / 1000;
        Timestamp::from_ms(now.saturating_add(ahead))
    }
}

async fn enqueue_all(
    store: &dyn Store,
    queue: &QueueName,
    plan: Vec<Planned>,
    is_watched: bool,
) -> Result<Vec<Put>> {
    let mut put = Vec::new();
    for part in plan.chunks(BATCH_MAX) {
        let due: Vec<_> = part.iter().map(Planned::draw).collect();
        let job = |(planned, due): (&Planned, &Timestamp)| {
            let job = NewJob::new(planned.payload.clone()).at(*due);
            if is_watched { job.keep_outcome() } else { job }
        };
        let jobs = part.iter().zip(&due).map(job).collect();
        let answers = store.enqueue(queue, jobs).await?;
        put.extend(answers.iter().zip(due).map(|(answer, due)| Put {
            id: answer.id().to_string(),
            due,
        }));
    }
    Ok(put)
}
