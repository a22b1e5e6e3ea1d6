//! Responses that carry claimed jobs. If a response cannot be delivered, its jobs are released at
//! once instead of when the lease expires.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::oneshot;
use windlass_api::request::Claim;
use windlass_api::{ClaimReply, Error, Fields, dispatch};
use windlass_core::wait::Deadline;
use windlass_core::{JobId, JobLease, QueueName, Store, Token, duration};

use super::HandlerResult;
use crate::budget::hold;
use crate::request::ApiRequest;
use crate::state::{AppState, BODY_BYTES_MAX};

/// The longest a claim waits. To wait longer, clients claim again.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// How often a waiting claim checks that its client is still connected.
const SLICE: Duration = Duration::from_secs(1);

/// How many copies of a reply exist until it was sent: one to send, one to release its jobs.
const REPLY_COPIES: usize = 2;

/// How many times a release is retried if its outcome is unknown.
const RETRIES_MAX: u32 = 3;

/// Claims jobs in a separate task: this future is dropped if the client disconnects, and a claim in
/// progress must not be.
pub(super) async fn claim(state: &Arc<AppState>, mut request: ApiRequest) -> HandlerResult {
    let queue = request.queue()?;
    let mut fields = request.fields(BODY_BYTES_MAX).await?;
    let wait = take_wait(&mut fields, request.route.op)?;
    let (sender, receiver) = oneshot::channel();
    let (state, op) = (Arc::clone(state), request.route.op);
    let limiter = Arc::clone(&request.limiter);
    tokio::spawn(async move {
        let reply = wait_for_jobs(&state, &queue, op, fields, wait, &sender).await;
        let guard = reply.map(|reply| ClaimGuard::new(&state.store, &queue, reply));
        // If the client is gone, the guard is dropped here and releases the jobs.
        let _ = sender.send(guard);
    });
    let guard = receiver.await.map_err(|_| Error::missing_reply())??;
    let bytes = guard.reply.as_ref().map_or(0, |reply| reply.get().len());
    let reserved = if op == "claim" {
        // If there is no memory, the guard is dropped and releases the jobs.
        limiter.reserve(bytes * REPLY_COPIES)?
    } else {
        // The outcomes are stored, so their reply must be sent.
        limiter.reserve_available(bytes * REPLY_COPIES)
    };
    Ok(guard.into_response().map(|body| hold(body, reserved)))
}

/// Takes the field `wait` out of a claim. Other operations do not wait.
fn take_wait(fields: &mut Fields, op: &str) -> Result<Duration, Error> {
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
    state: &AppState,
    queue: &QueueName,
    op: &str,
    mut fields: Fields,
    wait: Duration,
    client: &oneshot::Sender<Result<ClaimGuard, Error>>,
) -> Result<Box<RawValue>, Error> {
    if wait.is_zero() {
        return dispatch(state.store.as_ref(), op, fields).await;
    }
    let _: Option<String> = fields.take("queue")?;
    // Parsed once: thousands of claims may wait, each in many slices.
    let (mut request, _) = fields.read::<Claim>()?.into_request()?;
    let deadline = Deadline::after(Some(wait));
    loop {
        let slice = deadline.clamp(SLICE);
        let claim = state.store.claim_waiting(queue, &mut request, slice);
        let claim = claim.await?;
        let must_stop = client.is_closed() || state.stopping.is_cancelled();
        if claim.is_some() || deadline.is_over() || must_stop {
            let reply = to_raw_value(&ClaimReply::all(queue, claim.as_ref()));
            return reply.map_err(|_| Error::missing_reply());
        }
    }
}

/// A reply with claimed jobs. Releases them if dropped before the reply was sent.
struct ClaimGuard {
    reply: Option<Box<RawValue>>,
    store: Arc<dyn Store>,
    queue: QueueName,
}

/// A claimed job in a reply.
#[derive(Debug, Deserialize)]
struct ClaimedJob {
    id: String,
    token: String,
}

/// A reply to `complete`, with the jobs claimed by the same call.
#[derive(Debug, Deserialize)]
struct CompleteReply {
    claimed: Vec<ClaimedJob>,
}

impl ClaimGuard {
    fn new(store: &Arc<dyn Store>, queue: &QueueName, reply: Box<RawValue>) -> Self {
        Self {
            reply: Some(reply),
            store: Arc::clone(store),
            queue: queue.clone(),
        }
    }

    /// Turns the reply into a response. Its body counts as sent once the connection polls for the
    /// next chunk.
    fn into_response(self) -> Response<Body> {
        let text = self.reply.as_ref().map(|reply| reply.get().to_owned());
        let first = Bytes::from(text.unwrap_or_default());
        let chunks = stream::unfold((self, Some(first)), |(mut guard, chunk)| async move {
            if let Some(chunk) = chunk {
                return Some((Ok::<_, std::convert::Infallible>(chunk), (guard, None)));
            }
            // Sent: from now on the client owns the lease.
            drop(guard.reply.take());
            None
        });
        let mut response = Response::new(Body::from_stream(chunks));
        let media = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, media);
        response
    }
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        let Some(reply) = self.reply.take() else {
            return;
        };
        let leases = leases(reply.get());
        if leases.is_empty() {
            return;
        }
        let (store, queue) = (Arc::clone(&self.store), self.queue.clone());
        // Without a runtime the server has stopped; the leases expire on their own.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { release(store.as_ref(), &queue, &leases).await });
        }
    }
}

/// Returns the leases of the claimed jobs in a reply.
fn leases(reply: &str) -> Vec<JobLease> {
    let jobs: Vec<ClaimedJob> = serde_json::from_str(reply)
        .or_else(|_| serde_json::from_str(reply).map(|reply: CompleteReply| reply.claimed))
        .unwrap_or_default();
    let lease = |job: &ClaimedJob| {
        let token: Token = job.token.parse().ok()?;
        Some(JobLease::new(JobId::new(&job.id).ok()?, token))
    };
    jobs.iter().filter_map(lease).collect()
}

/// Releases jobs, and retries if the outcome is unknown; the token makes that safe. If it fails, the
/// jobs become ready again when the lease expires.
async fn release(store: &dyn Store, queue: &QueueName, leases: &[JobLease]) {
    for _ in 0..=RETRIES_MAX {
        match store.release(queue, leases.to_vec()).await {
            Err(error) if error.is_unknown() => {}
            _ => return,
        }
    }
}
