//! Request handlers, one per kind of route.

mod claim;
mod export;
mod import;
mod names;
mod stream;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;
use windlass_api::{Error, Fields, QueueReply, dispatch};
use windlass_core::{Bytes, Job, QueueName};

use crate::caller::Caller;
use crate::error::HttpError;
use crate::idempotency::{self, Key};
use crate::request::ApiRequest;
use crate::scope::Grant;
use crate::state::{AppState, BATCH_BYTES_MAX, BODY_BYTES_MAX};
use crate::table::Handler;
use crate::{delayed, events, metrics, openapi, page};

pub(crate) use names::KnownQueues;

/// How long `/readyz` waits for the store.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

/// What a handler returns.
pub(crate) type HandlerResult = Result<Response<Body>, HttpError>;

/// Handles a request whose caller has the required scope.
pub(crate) async fn handle(state: &Arc<AppState>, request: ApiRequest) -> HandlerResult {
    request.check_queue()?;
    if let Some(queue) = names::created_queue(state, &request)? {
        names::check_queue(state, &request.grant, &request.limiter, &queue).await?;
    }
    match request.route.handler {
        Handler::Operation => operation(state, request).await,
        Handler::Enqueue => enqueue(state, request).await,
        Handler::Batch => batch(state, request).await,
        Handler::Import => import::import(state, request),
        Handler::Export => export::export(state, &request),
        Handler::Payload => content(state, request, |job| job.payload).await,
        Handler::Result => content(state, request, |job| job.result).await,
        Handler::Claim => claim::claim(state, request).await,
        Handler::Queues => queues(state, &request.grant).await,
        Handler::Workers => workers::list(state, &request.grant).await,
        Handler::Worker => workers::operation(state, request).await,
        Handler::Register => workers::register(state, request).await,
        Handler::Heartbeat => workers::heartbeat(state, request).await,
        Handler::Events => events::handle(state, &request),
        Handler::Ticket => ticket(state, request).await,
        Handler::Metrics => metrics::handle(state, &request.grant).await,
        Handler::Health => Ok(plain("ok\n")),
        Handler::Ready => ready(state).await,
        Handler::OpenApi => Ok(text("application/json", openapi::document())),
        Handler::Docs => Ok(page::handle()),
        Handler::Delayed => delayed::handle(state, request).await,
    }
}

async fn operation(state: &AppState, mut request: ApiRequest) -> HandlerResult {
    let fields = request.fields(BODY_BYTES_MAX).await?;
    let reply = dispatch(state.store.as_ref(), request.route.op, fields);
    let reply = if request.route.op == "wait" {
        // `wait` only reads, so it is safe to drop.
        tokio::select! {
            reply = reply => reply?,
            () = state.stopping.cancelled() => return Err(Error::shutting_down().into()),
        }
    } else {
        reply.await?
    };
    Ok(json_text(reply.get().to_owned()))
}

/// Enqueues one job, sent as JSON, or as raw bytes with the other fields in the query.
async fn enqueue(state: &AppState, mut request: ApiRequest) -> HandlerResult {
    let is_bytes = request.media_type() == "application/octet-stream";
    let mut fields = if is_bytes {
        let mut fields = request.query_fields()?;
        let payload = request.bytes(BODY_BYTES_MAX).await?;
        fields.insert("payload_base64".to_owned(), STANDARD.encode(payload).into());
        collect_headers(&mut fields);
        let mut fields = Fields::parse(&Value::Object(fields).to_string())?;
        request.add_path_fields(&mut fields)?;
        fields
    } else {
        request.fields(BODY_BYTES_MAX).await?
    };
    if let Some(key) = Key::from_headers(&request.headers)? {
        idempotency::set_job_id(&mut fields, &key, 0)?;
    }
    let reply = dispatch(state.store.as_ref(), request.route.op, fields).await?;
    let enqueued: Enqueued = serde_json::from_str(reply.get()).unwrap_or_default();
    let mut response = json_text(reply.get().to_owned());
    if !enqueued.duplicate {
        *response.status_mut() = StatusCode::CREATED;
    }
    Ok(response)
}

#[derive(Debug, Default, serde::Deserialize)]
struct Enqueued {
    duplicate: bool,
}

/// Moves job headers in the query, `header.NAME=VALUE`, into the field `headers`.
fn collect_headers(fields: &mut serde_json::Map<String, Value>) {
    let is_header = |name: &String| name.starts_with("header.");
    let names: Vec<_> = fields
        .keys()
        .filter(|name| is_header(name))
        .cloned()
        .collect();
    let mut headers = serde_json::Map::new();
    for name in names {
        if let (Some(value), Some(header)) = (fields.remove(&name), name.strip_prefix("header.")) {
            headers.insert(header.to_owned(), value);
        }
    }
    if !headers.is_empty() {
        fields.insert("headers".to_owned(), Value::Object(headers));
    }
}

async fn batch(state: &AppState, mut request: ApiRequest) -> HandlerResult {
    request.no_query()?;
    let text = request.json(BATCH_BYTES_MAX).await?;
    let mut fields = Fields::parse(&text)?;
    if let Some(key) = Key::from_headers(&request.headers)? {
        fields = idempotency::set_batch_ids(&mut fields, &key)?;
    }
    request.add_path_fields(&mut fields)?;
    let reply = dispatch(state.store.as_ref(), request.route.op, fields).await?;
    Ok(json_text(reply.get().to_owned()))
}

/// Returns the payload or the result of a job as raw bytes.
async fn content(
    state: &AppState,
    request: ApiRequest,
    select: impl Fn(Job) -> Option<Bytes>,
) -> HandlerResult {
    let (queue, id, what) = (request.queue()?, request.id()?, request.route.op);
    drop(request);
    let job = state.store.get(&queue, &id).await?;
    let job = job.ok_or_else(|| Error::job_not_found(&queue, &id))?;
    let bytes = select(job).ok_or_else(|| {
        let why = format!("job {id:?} has no {what}");
        let help = format!("check its state with GET /v1/queues/{queue}/jobs/ID");
        HttpError::new("not_found", why, help)
    })?;
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "application/octet-stream"),
        // Browsers must not render untrusted bytes.
        (header::CONTENT_DISPOSITION, "attachment"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Issues a ticket for an event stream with the permissions of the caller.
async fn ticket(state: &AppState, mut request: ApiRequest) -> HandlerResult {
    request.no_query()?;
    if !request.json(BODY_BYTES_MAX).await?.is_empty() {
        let why = "this route accepts no body";
        return Err(HttpError::new("invalid", why, "send an empty body"));
    }
    let (grant, limiter) = (request.grant, request.limiter);
    events::ticket(state, Caller { grant, limiter })
}

/// Returns the stats of all queues the caller may access.
async fn queues(state: &AppState, grant: &Grant) -> HandlerResult {
    let mut replies = Vec::new();
    for queue in accessible_queues(state, grant).await? {
        // The queue may have been removed since it was listed.
        if let Some(stats) = state.store.stats(&queue).await? {
            replies.push(QueueReply::new(&queue, &stats));
        }
    }
    json(&replies)
}

/// Returns all queues the caller may access.
pub(crate) async fn accessible_queues(
    state: &AppState,
    grant: &Grant,
) -> Result<Vec<QueueName>, HttpError> {
    let mut queues = state.store.queues().await?;
    queues.retain(|queue| grant.allows_queue(queue));
    Ok(queues)
}

async fn ready(state: &AppState) -> HandlerResult {
    if state.stopping.is_cancelled() {
        let help = "use another server, or retry after the restart";
        return Err(HttpError::new("not_ready", "the server is stopping", help));
    }
    let not_ready = |why: String| {
        let help = "run `windlass doctor` with the same --store as the server";
        HttpError::new("not_ready", why, help)
    };
    match tokio::time::timeout(READY_TIMEOUT, state.store.queues()).await {
        Ok(Ok(_)) => Ok(plain("ready\n")),
        // The full error may contain the address of the store, and this route needs no token.
        Ok(Err(error)) => Err(not_ready(format!(
            "the store is unavailable: {}",
            error.code()
        ))),
        Err(_) => Err(not_ready(format!(
            "the store did not respond within {READY_TIMEOUT:?}"
        ))),
    }
}

/// Returns a value as a JSON response.
pub(crate) fn json(value: &impl Serialize) -> HandlerResult {
    let text = serde_json::to_string(value).map_err(|error| {
        let help = "this is a bug in Windlass; please report it";
        HttpError::new(
            "internal",
            format!("cannot serialize the reply: {error}"),
            help,
        )
    })?;
    Ok(json_text(text))
}

fn json_text(body: String) -> Response<Body> {
    text("application/json", body)
}

fn plain(body: &'static str) -> Response<Body> {
    text("text/plain; charset=utf-8", body)
}

/// Returns a response of the given media type.
pub(crate) fn text(media_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    let media_type = HeaderValue::from_static(media_type);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, media_type);
    response
}
