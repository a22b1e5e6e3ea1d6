//! Answers that hold jobs: when nobody hears one, its jobs go back now, not when the lease ends.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use windlass_api::{Error, Fields, dispatch};
use windlass_core::wait::Deadline;
use windlass_core::{JobId, JobLease, QueueName, Store, Token, duration};

use super::Answered;
use crate::request::Call;
use crate::state::{BODY_BYTES_MAX, Door};

/// The longest a claim waits; whoever wants to wait longer asks again.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// After so long a waiting claim looks whether its caller is still there.
const SLICE: Duration = Duration::from_secs(1);

/// How often a release without an answer is repeated.
const REPEATS_MAX: u32 = 3;

/// Claims in a task of its own: when the caller goes away, so does this future, and a claim must
/// not be dropped half-way.
pub(super) async fn claim(door: &Arc<Door>, mut call: Call) -> Answered {
    let queue = call.queue()?;
    let mut fields = call.fields(BODY_BYTES_MAX).await?;
    let wait = waiting(&mut fields, call.route.op)?;
    let (heard, hears) = oneshot::channel();
    let (door, op) = (Arc::clone(door), call.route.op);
    tokio::spawn(async move {
        let answer = wait_for_jobs(&door, op, &fields, wait, &heard).await;
        let answer = answer.map(|reply| Claimed::new(&door.store, &queue, reply));
        // Unheard, it is dropped here, and gives back what it holds.
        let _ = heard.send(answer);
    });
    let claimed = hears.await.map_err(|_| Error::missing_reply())??;
    Ok(claimed.response())
}

/// How long the caller waits for jobs; only a claim does.
fn waiting(fields: &mut Fields, op: &str) -> Result<Duration, Error> {
    if op != "claim" {
        return Ok(Duration::ZERO);
    }
    let wait: Option<String> = fields.take("wait")?;
    let wait = wait
        .as_deref()
        .map_or(Ok(Duration::ZERO), duration::parse)?;
    Ok(wait.min(WAIT_MAX))
}

async fn wait_for_jobs(
    door: &Door,
    op: &str,
    fields: &Fields,
    wait: Duration,
    heard: &oneshot::Sender<Result<Claimed, Error>>,
) -> Result<Box<RawValue>, Error> {
    let text = serde_json::to_string(fields).map_err(|_| Error::missing_reply())?;
    let deadline = Deadline::after(Some(wait));
    loop {
        let mut fields = Fields::parse(&text)?;
        if !wait.is_zero() {
            let slice = deadline.clamp(SLICE).as_millis();
            fields.put("wait", &format!("{slice}ms"))?;
        }
        let reply = dispatch(door.store.as_ref(), op, fields).await?;
        let is_over = wait.is_zero() || deadline.is_over();
        let is_unheard = heard.is_closed() || door.stopping.is_cancelled();
        if is_over || is_unheard || reply.get() != "[]" {
            return Ok(reply);
        }
    }
}

/// A reply and the jobs in it. Dropped before it was sent, it gives them back.
struct Claimed {
    reply: Option<Box<RawValue>>,
    store: Arc<dyn Store>,
    queue: QueueName,
}

/// What a reply says of a job that it hands out.
#[derive(Debug, Deserialize)]
struct Held {
    id: String,
    token: String,
}

/// A reply with jobs beside other things.
#[derive(Debug, Deserialize)]
struct Beside {
    claimed: Vec<Held>,
}

impl Claimed {
    fn new(store: &Arc<dyn Store>, queue: &QueueName, reply: Box<RawValue>) -> Self {
        Self {
            reply: Some(reply),
            store: Arc::clone(store),
            queue: queue.clone(),
        }
    }

    /// The answer: its body counts as sent when the connection asks for what comes after it.
    fn response(self) -> Response<Body> {
        let text = self.reply.as_ref().map(|reply| reply.get().to_owned());
        let first = Bytes::from(text.unwrap_or_default());
        let parts = stream::unfold((self, Some(first)), |(mut claimed, part)| async move {
            if let Some(part) = part {
                return Some((Ok::<_, std::convert::Infallible>(part), (claimed, None)));
            }
            // The lease is the caller's from now on.
            drop(claimed.reply.take());
            None
        });
        let mut response = Response::new(Body::from_stream(parts));
        let media = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, media);
        response
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        let Some(reply) = self.reply.take() else {
            return;
        };
        let holds = holds(reply.get());
        if holds.is_empty() {
            return;
        }
        let (store, queue) = (Arc::clone(&self.store), self.queue.clone());
        // Outside of a runtime the server is gone, and the lease will do it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { give_back(store.as_ref(), &queue, &holds).await });
        }
    }
}

fn holds(reply: &str) -> Vec<JobLease> {
    let held: Vec<Held> = serde_json::from_str(reply)
        .or_else(|_| serde_json::from_str(reply).map(|beside: Beside| beside.claimed))
        .unwrap_or_default();
    let hold = |held: &Held| {
        let token: Token = held.token.parse().ok()?;
        Some(JobLease::new(JobId::new(&held.id).ok()?, token))
    };
    held.iter().filter_map(hold).collect()
}

/// Releases, and repeats what got no answer: the token makes that safe. If it cannot be done, the
/// end of the lease does it.
async fn give_back(store: &dyn Store, queue: &QueueName, holds: &[JobLease]) {
    for _ in 0..=REPEATS_MAX {
        match store.release(queue, holds.to_vec()).await {
            Err(error) if error.is_unknown() => {}
            _ => return,
        }
    }
}
