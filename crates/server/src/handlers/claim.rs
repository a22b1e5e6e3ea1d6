//! Responses that carry claimed jobs. If a response cannot be delivered, its jobs are released at
//! once instead of when the lease expires.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use bytes::Bytes;
use futures_util::stream;
use windlass_api::{Error, Request, Undelivered, dispatch_until};
use windlass_core::{QueueName, Store};

use super::{HandlerResult, text};
use crate::budget::hold;
use crate::caller::Caller;
use crate::state::AppState;

/// Claims jobs in a separate task: this future is dropped if the client disconnects, and a claim in
/// progress must not be.
pub(super) async fn claim(
    state: &Arc<AppState>,
    caller: &Caller,
    queue: Option<QueueName>,
    op: Request,
) -> HandlerResult {
    let is_claim = matches!(op, Request::Claim(_));
    let cancel = state.stopping.child_token();
    let _cancel_on_drop = cancel.clone().drop_guard();
    let store = Arc::clone(&state.store);
    let claim = tokio::spawn(async move {
        let reply = dispatch_until(store.as_ref(), queue.as_ref(), op, &cancel).await?;
        let claimed = queue.and_then(|queue| Undelivered::new(&queue, reply.leases()));
        // If the client is gone, the guard is dropped with the result of this task.
        let guard = ClaimGuard { claimed, store };
        Ok::<_, Error>((reply.to_json(), guard))
    });
    let (reply, guard) = claim.await.map_err(|_| Error::missing_reply())??;
    let reserved = if is_claim {
        // If there is no memory, the guard is dropped and releases the jobs.
        caller.limiter.reserve(reply.len())?
    } else {
        // The outcomes are stored, so their reply must be sent.
        caller.limiter.reserve_available(reply.len())
    };
    Ok(guard.response(reply).map(|body| hold(body, reserved)))
}

/// Claimed jobs in a reply. Releases them if dropped before the reply was sent.
struct ClaimGuard {
    claimed: Option<Undelivered>,
    store: Arc<dyn Store>,
}

impl ClaimGuard {
    /// Creates a response. Its body counts as sent once the connection polls for the next chunk.
    fn response(self, reply: String) -> Response<Body> {
        let first = Some(Bytes::from(reply));
        let chunks = stream::unfold((self, first), |(mut guard, chunk)| async move {
            if let Some(chunk) = chunk {
                return Some((Ok::<_, std::convert::Infallible>(chunk), (guard, None)));
            }
            // Sent: from now on the client owns the lease.
            drop(guard.claimed.take());
            None
        });
        text("application/json", Body::from_stream(chunks))
    }
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        // Without a runtime the server has stopped; the leases expire on their own.
        if let (Some(claimed), Ok(runtime)) =
            (self.claimed.take(), tokio::runtime::Handle::try_current())
        {
            let store = Arc::clone(&self.store);
            runtime.spawn(async move { claimed.release(store.as_ref()).await });
        }
    }
}
