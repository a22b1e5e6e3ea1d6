//! The health of the store: the checks of `windlass doctor` that apply to every store, run now and then while
//! somebody watches.

use std::cmp::Reverse;
use std::sync::Arc;

use tokio::time::Duration;
use windlass_api::Error;
use windlass_api::health::{self, Check, CheckStatus};

use crate::scope::Grant;
use crate::state::AppState;

/// How long findings are shown before the checks run again.
const VALID_FOR: Duration = Duration::from_secs(30);

/// Returns the findings about what the caller may access, most serious first, or `None` while the first checks run.
pub(super) async fn findings(state: &Arc<AppState>, grant: &Grant) -> Option<Vec<Check>> {
    let examine = examine(Arc::clone(state));
    let all = state.health.get(String::new(), VALID_FOR, examine).await?;
    let is_allowed = |check: &&Check| {
        let queue = check.queue.as_ref();
        queue.map_or_else(
            || grant.allows_all_queues(),
            |queue| grant.allows_queue(queue),
        )
    };
    let mut found: Vec<_> = all.iter().filter(is_allowed).cloned().collect();
    found.sort_by_key(|check| Reverse(check.status));
    Some(found)
}

async fn examine(state: Arc<AppState>) -> Vec<Check> {
    let mut checks = Vec::new();
    let is_redis = state.store_kind == "redis";
    if let Err(error) = health::examine(state.store.as_ref(), is_redis, &mut checks).await {
        checks.push(Check::failed("store", &Error::from(&error)));
    }
    checks
}

/// The word for a status, and its class.
pub(super) const fn label(status: CheckStatus) -> (&'static str, &'static str) {
    match status {
        CheckStatus::Ok => ("ok", "good"),
        CheckStatus::Warn => ("warn", "warn"),
        CheckStatus::Fail => ("fail", "bad"),
    }
}
