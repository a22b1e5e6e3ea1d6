//! How many queues and workers a token may create: names take memory in the store, and every list
//! contains them.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use windlass_core::QueueName;

use super::accessible_queues;
use windlass_api::Code;

use crate::caller::Limiter;
use crate::error::HttpError;
use crate::request::ApiRequest;
use crate::scope::Grant;
use crate::state::AppState;
use crate::table::Handler;

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

/// Returns the queue that a request creates if it does not exist.
pub(super) fn created_queue(
    state: &AppState,
    request: &ApiRequest,
) -> Result<Option<QueueName>, HttpError> {
    let route = request.route;
    Ok(match route.handler {
        Handler::Enqueue | Handler::Batch | Handler::Import => Some(request.queue()?),
        Handler::Operation if CREATING.contains(&route.path) && route.method.has_body() => {
            Some(request.queue()?)
        }
        Handler::Delayed => Some(state.delayed_queue.clone()),
        _ => None,
    })
}

/// Rejects a new queue if the token has too many.
pub(super) async fn check_queue(
    state: &AppState,
    grant: &Grant,
    limiter: &Limiter,
    queue: &QueueName,
) -> Result<(), HttpError> {
    if limiter.names_max == usize::MAX || limiter.queues.contains(queue) {
        return Ok(());
    }
    let stored = accessible_queues(state, grant).await?;
    if limiter.queues.add(queue, stored, limiter.names_max) {
        return Ok(());
    }
    Err(too_many("queues", limiter.names_max))
}

/// Operations that create a queue which does not exist.
const CREATING: [&str; 3] = [
    "/v1/queues/{queue}/settings",
    "/v1/queues/{queue}/pause",
    "/v1/queues/{queue}/resume",
];

/// The error for a token with too many queues or workers.
pub(super) fn too_many(what: &str, count_max: usize) -> HttpError {
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
