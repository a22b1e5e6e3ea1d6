//! Operations that wait. They end early when the session ends.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_api::{Error, Fields};
use windlass_core::wait::Deadline;
use windlass_core::{Result, Store, duration};

use crate::reply::ReplyResult;

/// How long a claim waits per call. A claim in progress is never dropped, since its jobs would stay
/// leased without an owner; so this is also the longest that the end of a session is delayed.
const SLICE: Duration = Duration::from_secs(1);

/// The longest a claim waits.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Runs an operation. One that waits ends early when `cancel` is cancelled.
pub(super) async fn dispatch(
    store: &dyn Store,
    op: &str,
    fields: Fields,
    cancel: &CancellationToken,
) -> ReplyResult {
    match op {
        "claim" => claim(store, fields, cancel).await,
        // `wait` only reads, so it is safe to drop.
        "wait" => tokio::select! {
            reply = windlass_api::dispatch(store, op, fields) => reply,
            () = cancel.cancelled() => Err(Error::shutting_down()),
        },
        _ => windlass_api::dispatch(store, op, fields).await,
    }
}

/// Claims in slices of the requested wait.
async fn claim(store: &dyn Store, mut fields: Fields, cancel: &CancellationToken) -> ReplyResult {
    let Some(wait) = fields.take::<String>("wait")? else {
        return windlass_api::dispatch(store, "claim", fields).await;
    };
    let deadline = Deadline::after(Some(duration::parse(&wait)?.min(WAIT_MAX)));
    let text = serde_json::to_string(&fields).unwrap_or_default();
    loop {
        let slice = if cancel.is_cancelled() {
            Duration::ZERO
        } else {
            deadline.clamp(SLICE)
        };
        let reply = windlass_api::dispatch(store, "claim", with_wait(&text, slice)?).await?;
        if reply.get() != "[]" || slice.is_zero() || deadline.is_over() {
            return Ok(reply);
        }
    }
}

fn with_wait(text: &str, slice: Duration) -> Result<Fields> {
    let mut fields = Fields::parse(text)?;
    fields.put("wait", &format!("{}ms", slice.as_millis()))?;
    Ok(fields)
}
