//! What a caller may access and create. It may access a worker if it may access all queues of the worker.
//! The queues and workers that a token may create are limited: names take memory in the store, and
//! every list contains them.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use windlass_api::request::{
    ActionReply, ApplySchedules, CommandWorker, Enqueue, EnqueueAll, FailWorker, Heartbeat, Leave,
    Pause, PauseGroup, QueueRequest, Register, Resume, ResumeGroup, Set, SetGroup,
};
use windlass_api::{Code, PutSchedule, Request};
use windlass_core::QueueName;
use windlass_core::store::WorkerRecord;

use super::accessible_queues;
use crate::caller::Caller;
use crate::error::HttpError;
use crate::request::check_queue_access;
use crate::scope::Grant;
use crate::state::AppState;

/// The queues that a token is known to have, so that most requests need no list.
#[derive(Debug, Default)]
pub(crate) struct KnownQueues(Mutex<HashSet<QueueName>>);

impl KnownQueues {
    fn contains(&self, queue: &QueueName) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(queue)
    }

    /// Adds a queue, unless there are `count_max` others: those in the store, and those that other
    /// requests are creating.
    fn add(&self, queue: &QueueName, stored: Vec<QueueName>, count_max: usize) -> bool {
        let stored: HashSet<_> = stored.into_iter().collect();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !stored.contains(queue);
        if is_new && known.union(&stored).count() >= count_max {
            // Queues that were removed make room for the next request.
            known.retain(|queue| stored.contains(queue));
            return false;
        }
        known.insert(queue.clone());
        true
    }
}

/// The ops that create a queue which does not exist.
pub(super) const CREATING: [&str; 9] = [
    Enqueue::OP,
    EnqueueAll::OP,
    Set::OP,
    Pause::OP,
    Resume::OP,
    SetGroup::OP,
    PauseGroup::OP,
    ResumeGroup::OP,
    PutSchedule::OP,
];

/// Rejects an op on queues and workers in its body that the caller may not access, and a new queue or
/// worker if it has too many.
pub(super) async fn check_body(
    state: &AppState,
    caller: &Caller,
    op: &Request,
) -> Result<(), HttpError> {
    let grant = &caller.grant;
    match op {
        Request::Register(register) => check_register(state, caller, register).await,
        Request::Heartbeat(Heartbeat {
            worker, running, ..
        }) => {
            check_worker(state, grant, worker).await?;
            check_all(grant, running.iter().map(|job| &job.queue))
        }
        Request::Leave(Leave { worker, .. })
        | Request::FailWorker(FailWorker { worker })
        | Request::CommandWorker(CommandWorker { worker, .. }) => {
            check_worker(state, grant, worker).await
        }
        Request::ApplySchedules(apply) => check_apply(state, caller, apply).await,
        _ => Ok(()),
    }
}

/// Rejects schedules of queues the caller may not access, and a prune, which reads every queue, unless it
/// may access all.
async fn check_apply(
    state: &AppState,
    caller: &Caller,
    apply: &ApplySchedules,
) -> Result<(), HttpError> {
    let queues = || apply.schedules.iter().filter_map(|one| one.queue.as_ref());
    check_all(&caller.grant, queues())?;
    if apply.prune == Some(true) && !caller.grant.allows_all_queues() {
        let why = "the token does not allow all queues, and prune deletes schedules in any of them";
        let help = "omit prune, or use a token for all queues";
        return Err(HttpError::new(Code::Forbidden, why, help));
    }
    for queue in queues() {
        check_new_queue(state, caller, &QueueName::new(queue)?).await?;
    }
    Ok(())
}

/// Rejects a new queue if the token has too many.
pub(super) async fn check_new_queue(
    state: &AppState,
    caller: &Caller,
    queue: &QueueName,
) -> Result<(), HttpError> {
    let Caller { grant, limiter, .. } = caller;
    if limiter.names_max == usize::MAX || limiter.queues.contains(queue) {
        return Ok(());
    }
    let stored = accessible_queues(state, grant).await?;
    if limiter.queues.add(queue, stored, limiter.names_max) {
        return Ok(());
    }
    Err(too_many("queues", limiter.names_max))
}

/// Whether a caller sees a logged action: those on its queues, and those on no queue.
pub(crate) fn shows_action(grant: &Grant, action: &ActionReply) -> bool {
    match &action.queue {
        Some(queue) => QueueName::new(queue).is_ok_and(|queue| grant.allows_queue(&queue)),
        None => grant.allows_all_queues(),
    }
}

fn allows_worker(grant: &Grant, worker: &WorkerRecord) -> bool {
    let queues = worker.new.queues.iter().map(QueueName::as_str);
    grant.allows_worker(queues)
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

/// Rejects a worker with queues the caller may not access, one that replaces a worker the caller may
/// not access, and a new one if the token has too many.
async fn check_register(
    state: &AppState,
    caller: &Caller,
    register: &Register,
) -> Result<(), HttpError> {
    let grant = &caller.grant;
    check_all(grant, &register.queues)?;
    if register.queues.is_empty() && !grant.allows_all_queues() {
        let why = "the token does not allow workers without queues";
        let help = "list the queues of the worker; the token's patterns must match them";
        return Err(HttpError::new(Code::Forbidden, why, help));
    }
    if let Some(id) = &register.worker {
        check_worker(state, grant, id).await?;
    }
    let count_max = caller.limiter.names_max;
    if count_max == usize::MAX {
        return Ok(());
    }
    let mut workers = state.store.workers().await?;
    workers.retain(|worker| allows_worker(grant, worker));
    let mut ids = workers.iter().map(|worker| worker.new.boot.as_str());
    if workers.len() < count_max || ids.any(|id| Some(id) == register.worker.as_deref()) {
        return Ok(());
    }
    Err(too_many("workers", count_max))
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

/// The error for a token with too many queues or workers.
fn too_many(what: &str, count_max: usize) -> HttpError {
    let why = format!("the token has {count_max} {what}, which is the limit");
    let help = format!("remove {what} that are not used, or set names=N in the token file");
    HttpError::new(Code::Forbidden, why, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_counted_in_the_store_and_in_flight() {
        let queue = |name: &str| QueueName::new(name).unwrap();
        let known = KnownQueues::default();
        assert!(known.add(&queue("a"), vec![], 2));
        assert!(known.add(&queue("b"), vec![queue("a")], 2));
        // `b` is still being created.
        assert!(!known.add(&queue("c"), vec![queue("a")], 2));
        assert!(known.add(&queue("a"), vec![queue("a"), queue("b")], 2));
        assert!(!known.add(&queue("c"), vec![queue("a"), queue("b")], 2));
        // `b` was removed.
        assert!(known.add(&queue("c"), vec![queue("a")], 2));
    }
}
