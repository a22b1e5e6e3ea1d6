//! Requests that wait, in a way that can be cut short: a session that ends does not wait with them.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_api::{Error, Fields};
use windlass_core::wait::Deadline;
use windlass_core::{Result, Store, duration};

use crate::reply::Answer;

/// How long a claim waits in one call. It is never dropped half-way, since its jobs would be held by
/// nobody until their lease ends; so this is how long the end of a session waits for it.
const SLICE: Duration = Duration::from_secs(1);

/// The longest a door lets a claim wait.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Answers a verb; one that waits ends early when `cut` is cancelled.
pub(super) async fn dispatch(
    store: &dyn Store,
    op: &str,
    fields: Fields,
    cut: &CancellationToken,
) -> Answer {
    match op {
        "claim" => claim(store, fields, cut).await,
        // It only looks: dropping it loses nothing.
        "wait" => tokio::select! {
            answer = windlass_api::dispatch(store, op, fields) => answer,
            () = cut.cancelled() => Err(Error::shutting_down()),
        },
        _ => windlass_api::dispatch(store, op, fields).await,
    }
}

/// Claims in slices of the wait that was asked for.
async fn claim(store: &dyn Store, mut fields: Fields, cut: &CancellationToken) -> Answer {
    let Some(wait) = fields.take::<String>("wait")? else {
        return windlass_api::dispatch(store, "claim", fields).await;
    };
    let deadline = Deadline::after(Some(duration::parse(&wait)?.min(WAIT_MAX)));
    let text = serde_json::to_string(&fields).unwrap_or_default();
    loop {
        let slice = if cut.is_cancelled() {
            Duration::ZERO
        } else {
            deadline.clamp(SLICE)
        };
        let answer = windlass_api::dispatch(store, "claim", sliced(&text, slice)?).await?;
        if answer.get() != "[]" || slice.is_zero() || deadline.is_over() {
            return Ok(answer);
        }
    }
}

fn sliced(text: &str, slice: Duration) -> Result<Fields> {
    let mut fields = Fields::parse(text)?;
    fields.put("wait", &format!("{}ms", slice.as_millis()))?;
    Ok(fields)
}
