//! The renewal loop of one queue, on the keeper's thread: one call holds on to everything, however
//! many jobs there are. A lease that cannot be renewed in time is given up before the store ends it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::limits::PAGE;
use windlass_core::{Renewal, Renewed, Result, Store};

use crate::boottime::BootTime;
use crate::lane::Lane;
use crate::run::Fence;
use crate::shared::Shared;
use crate::stop::StopReason;

/// When to ask again after a renewal that named as many jobs to stop as it can: there may be more,
/// and these have a moment to be gone by then.
const MORE_IN: Duration = Duration::from_millis(100);

/// The longest nap while something is held: timers stand still while the machine sleeps and leases
/// do not, so that a long one would end too late by as long as the machine slept.
const NAP_MAX: Duration = Duration::from_secs(1);

/// Renews until it is dropped.
pub(crate) async fn run(shared: Arc<Shared>, lane: Arc<Lane>, store: Arc<dyn Store>) {
    let mut is_failing = false;
    loop {
        let next = lane.holdings().next_look();
        tokio::select! {
            () = nap(next) => {}
            () = lane.renew.notified() => {}
        }
        fence(&shared, &lane);
        let retry_in = (shared.options.lease / 12).min(Duration::from_millis(500));
        let due = lane.holdings().due(BootTime::now(), retry_in);
        let renewals = async {
            for (renewal, fence) in due {
                let Err(error) = renew(&shared, &lane, store.as_ref(), renewal, &fence).await
                else {
                    is_failing = false;
                    continue;
                };
                // Said once: it is tried for as long as something may have to go back.
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::warn!(target: "windlass", queue = %lane.queue(), code = error.code(),
                        help = error.help(), "renew: {error}; trying again");
                }
            }
        };
        // A store that hangs must not hold up the fence.
        tokio::select! {
            () = renewals => {}
            () = stand_guard(&shared, &lane) => {}
        }
    }
}

/// Ends attempts when their fence comes; does not return.
async fn stand_guard(shared: &Shared, lane: &Arc<Lane>) {
    loop {
        let next = lane.holdings().next_fence();
        nap(next).await;
        fence(shared, lane);
    }
}

/// Sleeps until then, or for a while: whoever naps looks again. For ever where nothing is to come.
async fn nap(until: Option<BootTime>) {
    match until {
        Some(at) => tokio::time::sleep(at.since(BootTime::now()).min(NAP_MAX)).await,
        None => std::future::pending().await,
    }
}

/// Ends the attempts whose lease cannot be trusted any more.
fn fence(shared: &Shared, lane: &Arc<Lane>) {
    let fenced = lane
        .holdings()
        .take_fenced(BootTime::now(), shared.margin());
    for run in fenced {
        shared.ask_to_stop(lane, &run, StopReason::LeaseLost);
    }
}

async fn renew(
    shared: &Shared,
    lane: &Arc<Lane>,
    store: &dyn Store,
    renewal: Renewal,
    fence: &Fence,
) -> Result<()> {
    let Renewal::Worker { boot, .. } = renewal.clone() else {
        return Ok(());
    };
    // The lease runs from the moment the store heard of it, which is not before this.
    let sent = BootTime::now();
    let lease = shared.options.lease;
    let call = store.renew(lane.queue(), renewal, lease);
    // A call that takes longer is no help: the next try may be.
    let Ok(renewed) = timeout((lease / 3).max(Duration::from_millis(50)), call).await else {
        return Ok(());
    };
    let Renewed {
        until,
        lost,
        cancel,
    } = renewed?;
    if until.is_some() {
        fence.move_to(shared.fence_at(sent));
    }
    let renew_in = shared.renew_every();
    let renew_at = if cancel.len() < PAGE {
        sent.plus(renew_in)
    } else {
        BootTime::now().plus(MORE_IN.min(renew_in))
    };
    let (lost, cancel) = {
        let mut holdings = lane.holdings();
        holdings.renewed(&boot, until.is_some(), renew_at);
        (holdings.of_tokens(&lost), holdings.of_ids(&cancel))
    };
    for run in lost {
        shared.ask_to_stop(lane, &run, StopReason::LeaseLost);
    }
    for run in cancel {
        shared.ask_to_stop(lane, &run, StopReason::Cancelled);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nobody_naps_through_the_sleep_of_the_machine() {
        let far = BootTime::now().plus(Duration::from_secs(3600));

        let napped = timeout(Duration::from_secs(30), nap(Some(far))).await;

        assert!(napped.is_ok(), "it looks again long before");
    }
}
