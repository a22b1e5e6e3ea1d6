//! The renewal loop of one queue, on the keeper's thread: one call holds on to everything, however
//! many jobs there are. A lease that cannot be renewed in time is given up before the store ends it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::{Renewal, Renewed, Result, Store};

use crate::boottime::BootTime;
use crate::lane::Lane;
use crate::run::Fence;
use crate::shared::Shared;
use crate::stop::StopReason;

/// Renews until it is dropped.
pub(crate) async fn run(shared: Arc<Shared>, lane: Arc<Lane>, store: Arc<dyn Store>) {
    loop {
        let next = lane.holdings().next_look();
        let nap = async {
            match next {
                Some(at) => tokio::time::sleep(at.since(BootTime::now())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = nap => {}
            () = lane.renew.notified() => {}
        }
        fence(&shared, &lane);
        let retry_in = (shared.options.lease / 12).min(Duration::from_millis(500));
        let due = lane.holdings().due(BootTime::now(), retry_in);
        let renewals = async {
            for (renewal, fence) in due {
                if let Err(error) = renew(&shared, &lane, store.as_ref(), renewal, &fence).await {
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
        match next {
            Some(at) => tokio::time::sleep(at.since(BootTime::now())).await,
            None => std::future::pending().await,
        }
        fence(shared, lane);
    }
}

/// Ends the attempts whose lease cannot be trusted any more.
fn fence(shared: &Shared, lane: &Arc<Lane>) {
    let fenced = lane.holdings().fenced(BootTime::now());
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
    let Renewal::Worker { boot, settled, .. } = renewal.clone() else {
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
    let renew_at = sent.plus(shared.renew_every());
    let (lost, cancel) = {
        let mut holdings = lane.holdings();
        holdings.renewed(&boot, settled, renew_at);
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
