//! The renewal loop of one queue, on the lease thread: one call renews all leases, however many jobs
//! there are. A lease that cannot be renewed in time expires locally before it expires in the store.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::{Error, ErrorKind, Renewal, Result, Store, duration};

use crate::boot_time::BootTime;
use crate::queue_state::QueueState;
use crate::run::attempt::Attempt;
use crate::shared::Shared;
use crate::stop::StopReason;

/// The longest sleep while leases are held. Timers stop while the machine is suspended and leases do
/// not, so a long sleep would end too late.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// Renews until it is dropped.
pub(crate) async fn run(shared: Arc<Shared>, queue: Arc<QueueState>, store: Arc<dyn Store>) {
    let mut caller = shared.connections.outage().caller();
    loop {
        let latest = BootTime::now().plus(SLEEP_MAX);
        let next = queue.held_claims().plan_wakeup(latest);
        if next.is_none() {
            // Nothing is left to renew, so no renewal will find that the store is back.
            caller.give_up();
        }
        tokio::select! {
            () = sleep_until(next) => {}
            () = queue.renew.notified() => {}
        }
        stop_expired(&shared, &queue);
        let retry_in = (shared.options.lease.get() / 12).min(Duration::from_millis(500));
        let due = queue.held_claims().due_renewals(BootTime::now(), retry_in);
        let renewals = async {
            for renewal in due {
                caller.record(&renew(&shared, &queue, store.as_ref(), renewal).await);
            }
        };
        // A store that hangs must not delay the local expiry.
        tokio::select! {
            () = renewals => {}
            () = watch_expiry(&shared, &queue) => {}
        }
    }
}

/// Stops attempts when their lease expires locally; does not return.
async fn watch_expiry(shared: &Shared, queue: &Arc<QueueState>) {
    loop {
        let next = queue.held_claims().next_expiry();
        sleep_until(next).await;
        stop_expired(shared, queue);
    }
}

/// Sleeps until `until`, but at most [`SLEEP_MAX`]; forever if there is nothing to wait for.
async fn sleep_until(until: Option<BootTime>) {
    match until {
        Some(at) => tokio::time::sleep(at.since(BootTime::now()).min(SLEEP_MAX)).await,
        None => std::future::pending().await,
    }
}

/// Stops the attempts whose lease has expired locally.
fn stop_expired(shared: &Shared, queue: &Arc<QueueState>) {
    let expired = queue
        .held_claims()
        .take_expired(BootTime::now(), shared.margin());
    for attempt in expired {
        shared.ask_to_stop(queue, &attempt, StopReason::LeaseLost);
    }
}

async fn renew(
    shared: &Shared,
    queue: &Arc<QueueState>,
    store: &dyn Store,
    renewal: Renewal,
) -> Result<()> {
    let Renewal::Worker { boot, tokens, .. } = renewal.clone() else {
        return Ok(());
    };
    // The new lease begins when the store handles the call, which is not before now.
    let sent = BootTime::now();
    let lease = shared.options.lease;
    let call = store.renew(queue.name(), renewal, lease);
    // Abandon a call that takes longer: the next try may succeed in time.
    let limit = (lease.get() / 3).max(Duration::from_millis(50));
    let renewed = timeout(limit, call).await.map_err(|_| no_reply(limit))??;
    let (expiry, renew_at) = (shared.local_expiry(sent), sent.plus(shared.renew_every()));
    let stopped: Vec<_> = {
        let mut held_claims = queue.held_claims();
        held_claims.renewed((&boot, &tokens), &renewed, expiry, renew_at);
        let reason = |attempt: &Arc<Attempt>| match attempt {
            lost if renewed.lost.contains(&lost.token) => Some(StopReason::LeaseLost),
            cancelled if renewed.cancel.contains(&cancelled.job.id) => Some(StopReason::Cancelled),
            _ => None,
        };
        let attempts = held_claims.attempts();
        let stopped = attempts.filter_map(|attempt| Some((Arc::clone(attempt), reason(attempt)?)));
        stopped.collect()
    };
    for (attempt, why) in stopped {
        shared.ask_to_stop(queue, &attempt, why);
    }
    match renewed.unreached {
        None => Ok(()),
        Some(tokens) => Err(Error::new(
            ErrorKind::StoreUnreachable,
            format!(
                "a part of the queue could not be reached, with {} claims of this worker",
                tokens.len()
            ),
            "check that all servers of the store are running: windlass doctor",
        )),
    }
}

fn no_reply(limit: Duration) -> Error {
    let limit = duration::format(limit);
    let what = format!("no reply to a lease renewal within {limit}");
    let help = "check that the store is not overloaded: windlass doctor";
    Error::new(ErrorKind::StoreBusy, what, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sleep_is_short_enough_to_notice_that_the_machine_was_suspended() {
        let far = BootTime::now().plus(Duration::from_secs(3600));

        let slept = timeout(Duration::from_secs(30), sleep_until(Some(far))).await;

        assert!(slept.is_ok(), "it must wake up long before");
    }
}
