//! Request handlers: one for all ops, and one for each other route.

pub(crate) mod access;
pub(crate) mod action;
mod claim;
mod export;
mod import;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde::Serialize;
use windlass_api::request::{Stats, read_stats};
use windlass_api::{Code, Error, QueueReply, Reply, Request, Route, TraceHeaders, dispatch_until};
use windlass_core::{Bytes, Job, QueueName};

use crate::caller::Caller;
use crate::error::HttpError;
use crate::idempotency::IdempotencyKey;
use crate::request::{ApiRequest, check_queue_access};
use crate::scope::Grant;
use crate::state::{AppState, BODY_BYTES_MAX};
use crate::table::Handler;
use crate::{dashboard, events, metrics, openapi, page};

pub(crate) use access::KnownQueues;

/// How long `/readyz` waits for the store.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

/// What a handler returns.
pub(crate) type HandlerResult = Result<Response<Body>, HttpError>;

/// Handles a request whose caller has the required scope.
pub(crate) async fn handle(
    state: &Arc<AppState>,
    handler: Handler,
    request: ApiRequest,
) -> HandlerResult {
    request.check_queue()?;
    match handler {
        Handler::Operation => operation(state, request).await,
        Handler::Import => {
            access::check_new_queue(state, &request.caller, &request.queue()?).await?;
            import::import(state, request)
        }
        Handler::Export => export::export(state, &request),
        Handler::Payload => content(state, request, |job| job.payload).await,
        Handler::Result => content(state, request, |job| job.result).await,
        Handler::Events => events::handle(state, &request),
        Handler::Ticket => ticket(state, request).await,
        Handler::Metrics => metrics::handle(state, &request.caller.grant).await,
        Handler::Health => Ok(plain("ok\n")),
        Handler::Ready => ready(state).await,
        Handler::OpenApi => Ok(text("application/json", openapi::document(state))),
        Handler::Docs => page::docs(state, &request.caller),
        Handler::Page(page) => dashboard::page(state, page, request).await,
        Handler::Form => dashboard::form(state, request).await,
        Handler::Purge => dashboard::purge(state, request).await,
        Handler::Bulk => dashboard::bulk(state, request).await,
        Handler::StopBulk => dashboard::stop_bulk(state, request).await,
        Handler::SignIn => dashboard::sign_in(state, request).await,
        Handler::SignOut => dashboard::sign_out(state, request).await,
        Handler::Asset(asset) => Ok(asset.response()),
        Handler::Extra => extra(state, request).await,
    }
}

/// Runs the op of the route.
async fn operation(state: &Arc<AppState>, mut request: ApiRequest) -> HandlerResult {
    if access::CREATING.contains(&request.route.op) {
        access::check_new_queue(state, &request.caller, &request.queue()?).await?;
    }
    let (queue, mut op) = request.parse().await?;
    access::check_body(state, &request.caller, &op).await?;
    let entry = action::entry(&request, "http", queue.as_ref(), &op);
    action::log(state, entry).await?;
    let trace = trace(&request.headers);
    match &mut op {
        Request::Enqueue(job) => {
            if let Some(trace) = &trace {
                trace.add_to(&mut job.headers);
            }
            if let Some(key) = IdempotencyKey::from_headers(&request.headers)? {
                key.set_id(job, 0);
            }
        }
        Request::EnqueueAll(batch) => {
            for job in &mut batch.jobs {
                if let Some(trace) = &trace {
                    trace.add_to(&mut job.headers);
                }
            }
            if let Some(key) = IdempotencyKey::from_headers(&request.headers)? {
                for (item, job) in batch.jobs.iter_mut().enumerate() {
                    key.set_id(job, item);
                }
            }
        }
        Request::Claim(_) | Request::Complete(_) => {
            return claim::claim(state, &request.caller, queue, op).await;
        }
        Request::Queues(_) => return queues(state, &request.caller.grant).await,
        _ => {}
    }
    let mut reply = dispatch(state, queue.as_ref(), op).await?;
    if let Reply::Actions(page) = &mut reply {
        let grant = &request.caller.grant;
        page.actions
            .retain(|action| access::shows_action(grant, action));
    }
    if let Reply::Workers(workers) = &mut reply {
        let grant = &request.caller.grant;
        workers.retain(|worker| grant.allows_worker(worker.queues.iter().map(String::as_str)));
    }
    let mut response = json(&reply)?;
    if matches!(&reply, Reply::Enqueue(job) if job.is_accepted()) {
        *response.status_mut() = StatusCode::CREATED;
    }
    Ok(response)
}

/// Runs an op of a caller who has the scope of its route, with all other checks.
pub(crate) async fn execute(
    state: &AppState,
    caller: &Caller,
    route: &'static Route,
    queue: Option<&QueueName>,
    op: Request,
) -> Result<Reply, HttpError> {
    if let Some(queue) = queue.filter(|_| access::CREATING.contains(&route.op)) {
        access::check_new_queue(state, caller, queue).await?;
    }
    access::check_body(state, caller, &op).await?;
    dispatch(state, queue, op).await
}

/// Runs an op. The caller checked that it is allowed.
pub(crate) async fn dispatch(
    state: &AppState,
    queue: Option<&QueueName>,
    op: Request,
) -> Result<Reply, HttpError> {
    let store = state.store.as_ref();
    let reply = dispatch_until(store, queue, op, &state.stopping).await?;
    report_schedules(state, &reply);
    Ok(reply)
}

/// Reports the queues in which the request put schedules.
fn report_schedules(state: &AppState, reply: &Reply) {
    let mut names: Vec<&String> = match reply {
        Reply::PutSchedule(schedule) => vec![&schedule.queue],
        Reply::ApplySchedules(applied) => applied.schedules.iter().map(|one| &one.queue).collect(),
        _ => return,
    };
    // A list of schedules is ordered by queue.
    names.dedup();
    for queue in names.into_iter().flat_map(QueueName::new) {
        state.report_schedules(&queue);
    }
}

/// Returns the trace that a request belongs to: jobs that it enqueues inherit it.
fn trace(headers: &HeaderMap) -> Option<TraceHeaders> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    TraceHeaders::new(text("traceparent"), text("tracestate"))
}

/// Returns the payload or the result of a job as raw bytes.
async fn content(
    state: &AppState,
    request: ApiRequest,
    select: impl Fn(Job) -> Option<Bytes>,
) -> HandlerResult {
    let (queue, id, what) = (request.queue()?, request.job_id()?, request.route.op);
    drop(request);
    let job = state.store.get(&queue, &id).await?;
    let job = job.ok_or_else(|| Error::job_not_found(&queue, &id))?;
    let bytes = select(job).ok_or_else(|| {
        let why = format!("job {id:?} has no {what}");
        let help = format!("check its state with GET /v1/queues/{queue}/jobs/ID");
        HttpError::new(Code::NotFound, why, help)
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
        return Err(HttpError::new(Code::Invalid, why, "send an empty body"));
    }
    events::ticket(state, request.caller)
}

/// Returns the stats of all queues the caller may access, as JSON.
async fn queues(state: &AppState, grant: &Grant) -> HandlerResult {
    json(&queue_stats(state, grant).await?)
}

/// Returns the stats of all queues the caller may access.
pub(crate) async fn queue_stats(
    state: &AppState,
    grant: &Grant,
) -> Result<Vec<QueueReply>, HttpError> {
    let queues = accessible_queues(state, grant).await?;
    Ok(read_stats(state.store.as_ref(), queues).await?)
}

/// Returns the stats of a queue.
pub(crate) async fn queue_reply(
    state: &AppState,
    queue: &QueueName,
) -> Result<QueueReply, HttpError> {
    match dispatch(state, Some(queue), Request::Stats(Stats::default())).await? {
        Reply::Stats(reply) => Ok(reply),
        _ => Err(Error::missing_reply().into()),
    }
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
        return Err(HttpError::new(
            Code::NotReady,
            "the server is stopping",
            help,
        ));
    }
    let not_ready = |why: String| {
        let help = "run `windlass doctor` with the same --store as the server";
        HttpError::new(Code::NotReady, why, help)
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

/// Passes the body to the route of another crate.
async fn extra(state: &AppState, mut request: ApiRequest) -> HandlerResult {
    let extra = state.extra.as_ref().ok_or_else(Error::missing_reply)?;
    access::check_new_queue(state, &request.caller, extra.queue()).await?;
    check_queue_access(&request.caller.grant, extra.queue())?;
    request.no_query()?;
    let text = request.json(BODY_BYTES_MAX).await?;
    let store = state.store.as_ref();
    Ok(extra.handle(store, &request.headers, &text).await?)
}

/// Returns a value as a JSON response.
pub(crate) fn json(value: &impl Serialize) -> HandlerResult {
    let text = serde_json::to_string(value).map_err(|error| {
        let help = "this is a bug in Windlass; please report it";
        HttpError::new(
            Code::Internal,
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
