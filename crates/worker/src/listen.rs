//! Hears at once that a running job was cancelled; without this the next renewal would tell.

use std::sync::Arc;

use windlass_core::{Notification, QueueName, Store};

use crate::backoff::Backoff;
use crate::shared::Shared;

/// Listens until it is dropped.
pub(crate) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>) {
    let queues: Vec<QueueName> = shared
        .lanes
        .iter()
        .map(|lane| lane.queue().clone())
        .collect();
    let mut backoff = Backoff::default();
    loop {
        if let Ok(mut watch) = store.watch_cancels(&queues).await {
            backoff.reset();
            while let Some(hint) = watch.next().await {
                look(&shared, &hint);
            }
        }
        tokio::time::sleep(backoff.next()).await;
    }
}

/// Notifier may be wrong or old: what is true is asked of the store, with a renewal.
fn look(shared: &Shared, hint: &Notification) {
    for lane in &shared.lanes {
        let is_concerned = match hint {
            Notification::Cancel(queue, id) => {
                queue == lane.queue()
                    && !lane.holdings().of_ids(std::slice::from_ref(id)).is_empty()
            }
            Notification::Resync => lane.holdings().next_look().is_some(),
            _ => false,
        };
        if is_concerned {
            lane.hurry();
        }
    }
}
