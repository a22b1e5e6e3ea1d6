//! The log of operator actions: one entry for each request of the scopes operate and admin, before it runs.

use windlass_api::request::{Maintain, QueueRequest};
use windlass_api::{Request, Scope};
use windlass_core::QueueName;
use windlass_core::store::Action;

use crate::error::HttpError;
use crate::request::ApiRequest;
use crate::state::AppState;

/// Returns the entry for a request. Maintenance is not logged: workers run it all the time.
pub(crate) fn entry(
    request: &ApiRequest,
    interface: &str,
    queue: Option<&QueueName>,
    op: &Request,
) -> Option<Action> {
    let route = request.route;
    if !matches!(route.scope, Scope::Operate | Scope::Admin) || route.op == Maintain::OP {
        return None;
    }
    let who = request.caller.name.as_deref().unwrap_or("anonymous");
    Some(Action {
        who: who.to_owned(),
        interface: interface.to_owned(),
        op: route.op.to_owned(),
        queue: queue.cloned(),
        target: op.target(),
        request: Some(request.id.clone()),
    })
}

/// Logs a request. If that fails, the request is refused.
pub(crate) async fn log(state: &AppState, entry: Option<Action>) -> Result<(), HttpError> {
    match entry {
        Some(action) => Ok(state.store.log_action(action).await?),
        None => Ok(()),
    }
}
