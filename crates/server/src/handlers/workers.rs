//! Workers. A caller may access a worker if it may access all queues of the worker.

use windlass_api::request::{Heartbeat, Register, StoreRequest};
use windlass_api::{Code, WorkerReply};
use windlass_core::{Clock, QueueName, SystemClock, Timestamp, WorkerRecord};

use super::names::too_many;
use super::{HandlerResult, json, operation};
use crate::error::HttpError;
use crate::request::{ApiRequest, check_queue_access};
use crate::scope::Grant;
use crate::state::AppState;

fn allows_worker(grant: &Grant, worker: &WorkerRecord) -> bool {
    let queues = &worker.new.queues;
    // A worker without queues may serve any queue.
    grant.allows_all_queues()
        || !queues.is_empty() && queues.iter().all(|queue| grant.allows_queue(queue))
}

/// Lists the workers the caller may access.
pub(super) async fn list(state: &AppState, grant: &Grant) -> HandlerResult {
    let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
    let workers = state.store.workers().await?;
    let accessible = workers.iter().filter(|worker| allows_worker(grant, worker));
    let replies: Vec<_> = accessible
        .map(|worker| WorkerReply::new(worker, now))
        .collect();
    json(&replies)
}

/// Runs an operation on one worker.
pub(super) async fn worker(state: &AppState, request: ApiRequest) -> HandlerResult {
    check_worker(state, &request.grant, request.worker()).await?;
    operation(state, request).await
}

/// Rejects a worker with queues the caller may not access. Unknown workers pass: the operation
/// itself reports them.
async fn check_worker(state: &AppState, grant: &Grant, id: &str) -> Result<(), HttpError> {
    if grant.allows_all_queues() {
        return Ok(());
    }
    let workers = state.store.workers().await?;
    let found = workers.iter().find(|worker| worker.new.boot.as_str() == id);
    if found.is_none_or(|worker| allows_worker(grant, worker)) {
        return Ok(());
    }
    let why = "the token does not allow all queues of this worker";
    let help = "use a token whose queue patterns match all of them";
    Err(HttpError::new(Code::Forbidden, why, help))
}

/// Registers a worker with queues the caller may access. It may not replace a worker the caller may
/// not access.
pub(super) async fn register(state: &AppState, mut request: ApiRequest) -> HandlerResult {
    let register: Register = request.read().await?;
    check_all(&request.grant, &register.queues)?;
    if register.queues.is_empty() && !request.grant.allows_all_queues() {
        let why = "the token does not allow workers without queues";
        let help = "list the queues of the worker; the token's patterns must match them";
        return Err(HttpError::new(Code::Forbidden, why, help));
    }
    if let Some(id) = &register.worker {
        check_worker(state, &request.grant, id).await?;
    }
    check_count(
        state,
        &request.grant,
        request.limiter.names_max,
        register.worker.as_deref(),
    )
    .await?;
    json(&register.execute(state.store.as_ref()).await?)
}

/// Rejects a new worker if the token has too many.
async fn check_count(
    state: &AppState,
    grant: &Grant,
    count_max: usize,
    id: Option<&str>,
) -> Result<(), HttpError> {
    if count_max == usize::MAX {
        return Ok(());
    }
    let mut workers = state.store.workers().await?;
    workers.retain(|worker| allows_worker(grant, worker));
    let is_known = |worker: &WorkerRecord| Some(worker.new.boot.as_str()) == id;
    if workers.len() < count_max || workers.iter().any(is_known) {
        return Ok(());
    }
    Err(too_many("workers", count_max))
}

/// Records a heartbeat. The caller must be allowed to access the queues of all running jobs in it.
pub(super) async fn heartbeat(state: &AppState, mut request: ApiRequest) -> HandlerResult {
    check_worker(state, &request.grant, request.worker()).await?;
    let heartbeat: Heartbeat = request.read().await?;
    check_all(
        &request.grant,
        heartbeat.running.iter().map(|job| &job.queue),
    )?;
    json(&heartbeat.execute(state.store.as_ref()).await?)
}

/// Rejects queues the caller may not access.
fn check_all<'a>(
    grant: &Grant,
    queues: impl IntoIterator<Item = &'a String>,
) -> Result<(), HttpError> {
    for name in queues {
        check_queue_access(grant, &QueueName::new(name)?)?;
    }
    Ok(())
}
