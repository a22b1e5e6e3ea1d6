//! Jobs that are put in over HTTP: where the server is, and one request per job.

use serde_json::{Value, json};
use tokio::task::JoinSet;
use windlass::store::{Clock, SystemClock};
use windlass::{QueueName, Timestamp};
use windlass_api::{Error, timestamp};
use windlass_server::Client;

use super::super::serve;
use super::{Planned, Put};
use crate::exit::{Exit, Failure, Result};
use crate::variable;

/// How many connections a burst uses at most.
const CONNECTIONS_MAX: usize = 16;

/// How often the due time of a job is drawn that takes too long to arrive.
const DRAWS_MAX: u32 = 5;

/// The variable of older systems that names the server.
const VARIABLE: &str = "API_ENDPOINT";

/// A server, and whether somebody typed its URL.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    url: String,
    is_typed: bool,
}

impl Endpoint {
    /// The server that was named, if one was.
    pub(super) fn of(flag: Option<&str>) -> Result<Option<Self>> {
        let url = variable::flag_or(flag, VARIABLE, |url| Ok(url.to_owned()))?;
        Ok(url.map(|url| Self {
            url: url.trim_end_matches('/').to_owned(),
            is_typed: flag.is_some(),
        }))
    }

    pub(super) async fn connect(&self) -> Result<Client> {
        let connected = Client::connect(&self.url).await.map_err(Failure::from);
        connected.map_err(|failure| {
            if self.is_typed {
                failure
            } else {
                variable::blame(VARIABLE, failure)
            }
        })
    }
}

/// Posts them over several connections at once.
pub(super) async fn all(
    endpoint: &Endpoint,
    queue: Option<&QueueName>,
    plan: Vec<Planned>,
) -> Result<Vec<Put>> {
    let connections = CONNECTIONS_MAX.min(plan.len().max(1));
    let mut shares = vec![Vec::new(); connections];
    for (at, planned) in plan.into_iter().enumerate() {
        shares[at % connections].push(planned);
    }
    let mut posting = JoinSet::new();
    for share in shares {
        posting.spawn(post_share(endpoint.clone(), queue.cloned(), share));
    }
    let mut put = Vec::new();
    for share in posting.join_all().await {
        put.extend(share?);
    }
    Ok(put)
}

async fn post_share(
    endpoint: Endpoint,
    queue: Option<QueueName>,
    share: Vec<Planned>,
) -> Result<Vec<Put>> {
    let mut client = endpoint.connect().await?;
    let token = serve::token();
    let mut put = Vec::new();
    for planned in share {
        let mut draws = 1;
        put.push(loop {
            let due = planned.draw();
            let (path, body, field) = request(queue.as_ref(), &planned.payload, due);
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
    Failure::new(exit, Error::new(code, message, help))
}
