//! Watches for cancellations of running jobs; without this, only the next renewal reports them.

use std::sync::Arc;

use windlass_core::store::Notification;
use windlass_core::{QueueName, Store};

use crate::backoff::Backoff;
use crate::run::attempt::Attempt;
use crate::shared::Shared;

/// Watches until it is dropped.
pub(crate) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>) {
    let queues: Vec<QueueName> = shared
        .queues
        .iter()
        .map(|queue| queue.name().clone())
        .collect();
    let mut backoff = Backoff::default();
    loop {
        if let Ok(mut watch) = store.watch_cancels(&queues).await {
            backoff.reset();
            // Jobs may have been cancelled before the watch began.
            renew_if_concerned(&shared, &Notification::Resync);
            while let Some(notification) = watch.next().await {
                renew_if_concerned(&shared, &notification);
            }
        }
        tokio::time::sleep(backoff.next()).await;
    }
}

/// Notifications may be wrong or outdated, so a renewal asks the store for the facts.
fn renew_if_concerned(shared: &Shared, notification: &Notification) {
    for queue in &shared.queues {
        let is_concerned = match notification {
            Notification::Cancel(name, id) => {
                let is_held = |attempt: &Arc<Attempt>| attempt.job.id == *id;
                name == queue.name() && queue.held_claims().attempts().any(is_held)
            }
            Notification::Resync => queue.held_claims().next_wakeup().is_some(),
            _ => false,
        };
        if is_concerned {
            queue.renew_now();
        }
    }
}
