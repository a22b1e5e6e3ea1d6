//! `windlass submit`: a burst of jobs with random due times, over HTTP or straight into the store.

mod late;

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use windlass::store::{Clock, SystemClock};
use windlass::{NewJob, QueueName, Store, Timestamp, duration};
use windlass_api::{Problem, moment};
use windlass_server::Client;

use self::late::Lateness;
use super::serve;
use crate::exit::{Exit, Failure, Result};
use crate::session::Session;

/// How many connections a burst uses at most.
const CONNECTIONS_MAX: usize = 16;

/// How many jobs go to the store in one call.
const BATCH_MAX: usize = 1000;

/// So long ahead every job falls due at least, if there is room for it.
const LEAD_MS: u64 = 1000;

/// How often the due time of a job is drawn that takes too long to arrive.
const DRAWS_MAX: u32 = 5;

/// The queue of jobs that come by `POST /` unless the server was told otherwise.
const DELAYED: &str = "delayed";

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "With --url, WINDLASS_TOKEN is the token that is shown to the server.\n\n\
    Examples:\n  \
    windlass submit --count 50 --within 20s --watch\n  \
    windlass submit --url http://127.0.0.1:7700"
)]
pub(crate) struct Arguments {
    /// How many jobs
    #[arg(long, value_name = "N", default_value_t = 50)]
    #[arg(env = "JOB_COUNT", hide_env_values = true)]
    count: usize,

    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(help = "Within how long from now they fall due [default: 20s] \
                [env: TIME_OFFSET_SEC, in seconds]")]
    within: Option<String>,

    /// The queue [default: delayed, or over HTTP the server's]
    #[arg(long, value_name = "Q")]
    queue: Option<String>,

    /// The server; without it the jobs go straight into the store
    #[arg(long, value_name = "URL", env = "API_ENDPOINT", hide_env_values = true)]
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
    let within = within(arguments.within.as_deref())?;
    let plan = plan(arguments.count, within);
    let (put, lateness_ms) = if let Some(url) = &arguments.url {
        over_http(url.trim_end_matches('/'), &arguments, plan).await?
    } else {
        let store = session.store_or_create().await?;
        into_store(store.as_ref(), &arguments, plan).await?
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

async fn over_http(url: &str, arguments: &Arguments, plan: Vec<Planned>) -> Result<Done> {
    let queue = arguments.queue.as_deref();
    let put = post_all(url, queue, plan).await?;
    if !arguments.watch {
        return Ok((put, None));
    }
    let late = late::over_http(url, queue.unwrap_or(DELAYED), &put).await?;
    Ok((put, Some(late)))
}

async fn into_store(store: &dyn Store, arguments: &Arguments, plan: Vec<Planned>) -> Result<Done> {
    let queue = QueueName::new(arguments.queue.as_deref().unwrap_or(DELAYED))?;
    let put = enqueue_all(store, &queue, plan, arguments.watch).await?;
    if !arguments.watch {
        return Ok((put, None));
    }
    let late = late::in_store(store, &queue, &put).await?;
    Ok((put, Some(late)))
}

fn within(flag: Option<&str>) -> Result<Duration> {
    if let Some(text) = flag {
        return Ok(duration::parse(text)?);
    }
    let Some(text) = std::env::var_os("TIME_OFFSET_SEC") else {
        return Ok(Duration::from_secs(20));
    };
    let seconds = text.to_str().and_then(|text| text.trim().parse().ok());
    seconds.map(Duration::from_secs).ok_or_else(|| {
        let help = "write a whole number of seconds, for example TIME_OFFSET_SEC=20";
        Failure::config("TIME_OFFSET_SEC is not a number of seconds", help)
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
    let mut put = Vec::with_capacity(plan.len());
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

/// Posts them over several connections at once.
async fn post_all(url: &str, queue: Option<&str>, plan: Vec<Planned>) -> Result<Vec<Put>> {
    let connections = CONNECTIONS_MAX.min(plan.len().max(1));
    let mut shares = vec![Vec::new(); connections];
    for (at, planned) in plan.into_iter().enumerate() {
        shares[at % connections].push(planned);
    }
    let mut posting = JoinSet::new();
    for share in shares {
        posting.spawn(post_share(url.to_owned(), queue.map(str::to_owned), share));
    }
    let mut put = Vec::new();
    for share in posting.join_all().await {
        put.extend(share?);
    }
    Ok(put)
}

async fn post_share(url: String, queue: Option<String>, share: Vec<Planned>) -> Result<Vec<Put>> {
    let mut client = Client::connect(&url).await?;
    let token = serve::token();
    let mut put = Vec::with_capacity(share.len());
    for planned in share {
        let mut draws = 1;
        put.push(loop {
            let due = planned.draw();
            let (path, body, field) = request(queue.as_deref(), &planned.payload, due);
            let reply = client
                .post(&path, token.as_deref(), body.to_string())
                .await?;
            let said: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            let id = said[field].as_str().filter(|_| reply.status.is_success());
            if let Some(id) = id {
                let id = id.to_owned();
                break Put { id, due };
            }
            // It fell due on its way, and a time that is past is refused: nothing was stored.
            if !is_past(due) || draws == DRAWS_MAX {
                return Err(refused(reply.status.as_u16(), &said));
            }
            draws += 1;
        });
    }
    Ok(put)
}

fn is_past(due: Timestamp) -> bool {
    due.as_ms() <= SystemClock.now_us() / 1000
}

/// Where a job is posted, with what, and where its id is in the answer.
fn request(queue: Option<&str>, payload: &str, due: Timestamp) -> (String, Value, &'static str) {
    match queue {
        None => {
            let body = json!({ "payload": payload, "dueTime": due.as_ms() });
            ("/".to_owned(), body, "jobId")
        }
        Some(queue) => {
            let body = json!({ "payload": payload, "at": moment::show(due) });
            (format!("/v1/queues/{queue}/jobs"), body, "id")
        }
    }
}

/// The server's no in its own words.
pub(super) fn refused(status: u16, said: &Value) -> Failure {
    let text = |field: &str| said[field].as_str().map(str::to_owned);
    let message = text("detail").unwrap_or_else(|| "it gave no reason".to_owned());
    let exit = match status {
        400..=400 | 411..=415 => Exit::Usage,
        401 | 403 => Exit::NotAllowed,
        404 | 410 => Exit::NotFound,
        409 => Exit::Conflict,
        408 => Exit::TimedOut,
        429 | 503 => Exit::TryLater,
        _ => Exit::Failed,
    };
    let code = text("code").unwrap_or_else(|| "failed".to_owned());
    let help = text("help")
        .unwrap_or_else(|| "check that the URL is that of a Windlass server".to_owned());
    let message = format!("the server refused with status {status}: {message}");
    Failure::new(exit, Problem::new(code, message, help))
}
