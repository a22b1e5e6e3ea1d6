//! From a request to its answer: one short way for each sort of route.

mod claim;
mod export;
mod import;
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

use crate::caller::Pass;
use crate::error::Refusal;
use crate::idempotency::{self, Key};
use crate::request::Call;
use crate::scope::Grant;
use crate::state::{BATCH_BYTES_MAX, BODY_BYTES_MAX, Door};
use crate::table::Way;
use crate::{delayed, events, metrics, openapi, page};

/// How long the store may take to show that it answers.
const READY_WAIT: Duration = Duration::from_secs(2);

/// An answer, or a refusal.
pub(crate) type Answered = Result<Response<Body>, Refusal>;

/// Answers a request whose caller has the scope for it.
pub(crate) async fn answer(door: &Arc<Door>, call: Call) -> Answered {
    call.check_queue()?;
    match call.route.way {
        Way::Verb => verb(door, call).await,
        Way::Enqueue => enqueue(door, call).await,
        Way::Batch => batch(door, call).await,
        Way::Import => import::import(door, call),
        Way::Export => export::export(door, &call),
        Way::Payload => content(door, call, |job| job.payload).await,
        Way::Result => content(door, call, |job| job.result).await,
        Way::Claim => claim::claim(door, call).await,
        Way::Queues => queues(door, &call.grant).await,
        Way::Workers => workers::list(door, &call.grant).await,
        Way::Worker => workers::one(door, call).await,
        Way::Register => workers::register(door, call).await,
        Way::Heartbeat => workers::heartbeat(door, call).await,
        Way::Events => events::answer(door, &call),
        Way::Ticket => ticket(door, call).await,
        Way::Metrics => metrics::answer(door, &call.grant).await,
        Way::Health => Ok(plain("ok\n")),
        Way::Ready => ready(door).await,
        Way::OpenApi => Ok(text("application/json", openapi::document())),
        Way::Docs => Ok(page::answer()),
        Way::Delayed => delayed::answer(door, call).await,
    }
}

async fn verb(door: &Door, mut call: Call) -> Answered {
    let fields = call.fields(BODY_BYTES_MAX).await?;
    let answer = dispatch(door.store.as_ref(), call.route.op, fields);
    let answer = if call.route.op == "wait" {
        // It only looks: dropping it loses nothing.
        tokio::select! {
            answer = answer => answer?,
            () = door.stopping.cancelled() => return Err(Error::shutting_down().into()),
        }
    } else {
        answer.await?
    };
    Ok(json_text(answer.get().to_owned()))
}

/// One job: as JSON, or as bytes with the rest of it in the query.
async fn enqueue(door: &Door, mut call: Call) -> Answered {
    let is_bytes = call.media_type() == "application/octet-stream";
    let mut fields = if is_bytes {
        let mut fields = call.query_fields()?;
        let payload = call.bytes(BODY_BYTES_MAX).await?;
        fields.insert("payload_base64".to_owned(), STANDARD.encode(payload).into());
        gather_headers(&mut fields);
        let mut fields = Fields::parse(&Value::Object(fields).to_string())?;
        call.put_path(&mut fields)?;
        fields
    } else {
        call.fields(BODY_BYTES_MAX).await?
    };
    if let Some(key) = Key::of(&call.headers)? {
        idempotency::name_job(&mut fields, &key, 0)?;
    }
    let answer = dispatch(door.store.as_ref(), call.route.op, fields).await?;
    let said: Said = serde_json::from_str(answer.get()).unwrap_or_default();
    let mut response = json_text(answer.get().to_owned());
    if !said.duplicate {
        *response.status_mut() = StatusCode::CREATED;
    }
    Ok(response)
}

#[derive(Debug, Default, serde::Deserialize)]
struct Said {
    duplicate: bool,
}

/// Headers of a job in a query: `header.NAME=VALUE`.
fn gather_headers(fields: &mut serde_json::Map<String, Value>) {
    let named = |name: &String| name.starts_with("header.");
    let names: Vec<_> = fields.keys().filter(|name| named(name)).cloned().collect();
    let mut headers = serde_json::Map::new();
    for name in names {
        if let (Some(value), Some(plain)) = (fields.remove(&name), name.strip_prefix("header.")) {
            headers.insert(plain.to_owned(), value);
        }
    }
    if !headers.is_empty() {
        fields.insert("headers".to_owned(), Value::Object(headers));
    }
}

async fn batch(door: &Door, mut call: Call) -> Answered {
    call.no_query()?;
    let text = call.json(BATCH_BYTES_MAX).await?;
    let mut fields = Fields::parse(&text)?;
    if let Some(key) = Key::of(&call.headers)? {
        fields = idempotency::name_batch(&mut fields, &key)?;
    }
    call.put_path(&mut fields)?;
    let answer = dispatch(door.store.as_ref(), call.route.op, fields).await?;
    Ok(json_text(answer.get().to_owned()))
}

/// Bytes of a job as they are.
async fn content(door: &Door, call: Call, of: impl Fn(Job) -> Option<Bytes>) -> Answered {
    let (queue, id, what) = (call.queue()?, call.id()?, call.route.op);
    drop(call);
    let job = door.store.get(&queue, &id).await?;
    let job = job.ok_or_else(|| Error::job_not_found(&queue, &id))?;
    let bytes = of(job).ok_or_else(|| {
        let why = format!("job {id:?} has no {what}");
        let help = format!("see its state with GET /v1/queues/{queue}/jobs/ID");
        Refusal::new("not_found", why, help)
    })?;
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "application/octet-stream"),
        // Whatever is in it, a browser shall not show it.
        (header::CONTENT_DISPOSITION, "attachment"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// A ticket for a stream of events, as good as what the caller goes by.
async fn ticket(door: &Door, mut call: Call) -> Answered {
    call.no_query()?;
    if !call.json(BODY_BYTES_MAX).await?.is_empty() {
        let why = "this route takes no body";
        return Err(Refusal::new("invalid", why, "send nothing"));
    }
    let (grant, meter) = (call.grant, call.meter);
    events::ticket(door, Pass { grant, meter })
}

/// The figures of all queues that the caller reaches.
async fn queues(door: &Door, grant: &Grant) -> Answered {
    let mut replies = Vec::new();
    for queue in reached(door, grant).await? {
        // One that went away meanwhile is not there.
        if let Some(stats) = door.store.stats(&queue).await? {
            replies.push(QueueReply::new(&queue, &stats));
        }
    }
    json(&replies)
}

/// All queues that the caller reaches.
pub(crate) async fn reached(door: &Door, grant: &Grant) -> Result<Vec<QueueName>, Refusal> {
    let mut queues = door.store.queues().await?;
    queues.retain(|queue| grant.reaches(queue));
    Ok(queues)
}

async fn ready(door: &Door) -> Answered {
    if door.stopping.is_cancelled() {
        let help = "ask another server, or this one once it runs again";
        return Err(Refusal::new("not_ready", "the server is stopping", help));
    }
    let not_ready = |why: String| {
        let help = "run `windlass doctor` with the same --store as the server";
        Refusal::new("not_ready", why, help)
    };
    match tokio::time::timeout(READY_WAIT, door.store.queues()).await {
        Ok(Ok(_)) => Ok(plain("ready\n")),
        // Why the store does not answer may name its address: that is not for everybody.
        Ok(Err(error)) => Err(not_ready(format!(
            "the store does not answer: {}",
            error.code()
        ))),
        Err(_) => Err(not_ready(format!(
            "the store did not answer within {READY_WAIT:?}"
        ))),
    }
}

/// A value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Answered {
    let text = serde_json::to_string(value).map_err(|error| {
        let help = "this is a fault of Windlass: report it";
        Refusal::new(
            "internal",
            format!("the answer cannot be written: {error}"),
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

/// Text of some media type.
pub(crate) fn text(media: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    let media = HeaderValue::from_static(media);
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    response
}
