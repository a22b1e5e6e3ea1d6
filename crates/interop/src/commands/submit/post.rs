//! Submits jobs over HTTP, one request per job.

use serde_json::{Value, json};
use tokio::task::JoinSet;
use windlass::store::{Clock, SystemClock};
use windlass::{QueueName, Timestamp};
use windlass_api::{Code, Error, timestamp};
use windlass_server::HttpClient;

use super::{PlannedJob, SubmittedJob};
use windlass_terminal::env;
use windlass_terminal::exit::{CliError, Exit, Result};

/// Maximum number of connections.
const CONNECTIONS_MAX: usize = 16;

/// Attempts per job: a due time may pass before the request arrives.
const ATTEMPTS_MAX: u32 = 5;

/// Environment variable with the server URL, as in the Delayed Queue App.
const VARIABLE: &str = "API_ENDPOINT";

/// A server URL, and whether it comes from the command line.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    url: String,
    is_flag: bool,
}

impl Endpoint {
    /// Returns the server of the flag or the environment, if set.
    pub(super) fn of(flag: Option<&str>) -> Result<Option<Self>> {
        let url = env::flag_or(flag, VARIABLE, |url| Ok(url.to_owned()))?;
        Ok(url.map(|url| Self {
            url: url.trim_end_matches('/').to_owned(),
            is_flag: flag.is_some(),
        }))
    }

    pub(super) async fn connect(&self) -> Result<HttpClient> {
        let connected = HttpClient::connect(&self.url).await.map_err(CliError::from);
        connected.map_err(|error| {
            if self.is_flag {
                error
            } else {
                env::name_variable(VARIABLE, error)
            }
        })
    }
}

/// Posts the jobs over several connections.
pub(super) async fn all(
    endpoint: &Endpoint,
    queue: Option<&QueueName>,
    plan: Vec<PlannedJob>,
) -> Result<Vec<SubmittedJob>> {
    let connections = CONNECTIONS_MAX.min(plan.len().max(1));
    let mut shares = vec![Vec::new(); connections];
    for (at, planned) in plan.into_iter().enumerate() {
        shares[at % connections].push(planned);
    }
    let mut posting = JoinSet::new();
    for share in shares {
        posting.spawn(post_share(endpoint.clone(), queue.cloned(), share));
    }
    let mut submitted = Vec::new();
    for share in posting.join_all().await {
        submitted.extend(share?);
    }
    Ok(submitted)
}

async fn post_share(
    endpoint: Endpoint,
    queue: Option<QueueName>,
    share: Vec<PlannedJob>,
) -> Result<Vec<SubmittedJob>> {
    let mut client = endpoint.connect().await?;
    let token = env::http_token();
    let mut submitted = Vec::new();
    for planned in share {
        let mut attempts = 1;
        submitted.push(loop {
            let due = planned.random_due();
            let (path, body, field) = request(queue.as_ref(), &planned.payload, due);
            let response = client
                .post(&path, token.as_deref(), body.to_string())
                .await?;
            let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
            let id = body[field]
                .as_str()
                .filter(|_| response.status.is_success());
            if let Some(id) = id {
                let id = id.to_owned();
                break SubmittedJob { id, due };
            }
            // The server rejects due times in the past: retry with another if this one has passed.
            if !is_past(due) || attempts == ATTEMPTS_MAX {
                return Err(rejected(response.status.as_u16(), &body));
            }
            attempts += 1;
        });
    }
    Ok(submitted)
}

fn is_past(due: Timestamp) -> bool {
    due.as_ms() <= SystemClock.now_us() / 1000
}

/// Returns the path, the body, and the name of the id field in the response.
fn request(
    queue: Option<&QueueName>,
    payload: &str,
    due: Timestamp,
) -> (String, Value, &'static str) {
    match queue {
        None => {
            let body = json!({ "payload": payload, "dueTime": due.as_ms() });
            ("/".to_owned(), body, "jobId")
        }
        Some(queue) => {
            let body = json!({ "payload": payload, "at": timestamp::format(due) });
            (format!("/v1/queues/{queue}/jobs"), body, "id")
        }
    }
}

/// Converts an error response of the server.
pub(super) fn rejected(status: u16, body: &Value) -> CliError {
    let text = |field: &str| body[field].as_str().map(str::to_owned);
    let message = text("detail").unwrap_or_else(|| "no details given".to_owned());
    let exit = match status {
        400..=400 | 411..=415 => Exit::Usage,
        401 | 403 => Exit::NotAllowed,
        404 | 410 => Exit::NotFound,
        409 => Exit::Conflict,
        408 => Exit::TimedOut,
        429 | 503 => Exit::TryLater,
        _ => Exit::Failed,
    };
    let code = body["code"].as_str().and_then(Code::from_text);
    let help =
        text("help").unwrap_or_else(|| "check that the URL points to a Windlass server".to_owned());
    let message = format!("the server replied with status {status}: {message}");
    CliError::new(
        exit,
        Error::new(code.unwrap_or(Code::Internal), message, help),
    )
}
