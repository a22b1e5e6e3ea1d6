//! Stops a burst worker when its queues are drained: nothing waiting or running.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Result, Store};

use crate::shared::Shared;

/// How often an idle worker checks whether its queues are drained.
const EVERY: Duration = Duration::from_millis(100);

/// Stops the worker when its queues are drained.
pub(crate) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if shared.run_queue.is_empty() && is_drained(&shared, store.as_ref()).await.unwrap_or(false)
        {
            shared.stopper.stop();
            return;
        }
    }
}

async fn is_drained(shared: &Shared, store: &dyn Store) -> Result<bool> {
    for queue in &shared.queues {
        if let Some(stats) = store.stats(queue.name()).await?
            && stats.waiting() + stats.running > 0
        {
            return Ok(false);
        }
    }
    Ok(true)
}
