//! Fires the schedules of a served store, so that they need no worker.

use std::time::Duration;

use tokio::time::Instant;
use windlass::runtime::Connections;
use windlass::store::limits::PAGE;
use windlass::{QueueName, Store};
use windlass_server::CancellationToken;

/// Time between two rounds of maintenance.
const EVERY: Duration = Duration::from_secs(1);

/// Time between two searches for queues with schedules. A new schedule is found before its first instant is
/// too old to fire.
const SEARCH_EVERY: Duration = Duration::from_secs(5);

/// The most pages of a queue per round: its instants may all be due at once.
const PAGES_MAX: usize = 100;

/// Maintains the queues that have schedules until `stop`. Workers do the same; doing it twice is harmless.
pub(super) async fn fire(stores: Connections, stop: CancellationToken) {
    let store = stores.store().as_ref();
    let mut caller = stores.outage().caller();
    let mut queues = Vec::new();
    let mut search_at = Instant::now();
    while !stop.is_cancelled() {
        if Instant::now() >= search_at {
            search_at = Instant::now() + SEARCH_EVERY;
            // On an error the previous result stands.
            queues = search(store).await.unwrap_or(queues);
        }
        for queue in &queues {
            caller.record(&maintain(store, queue).await);
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stop.cancelled() => {}
        }
    }
}

async fn search(store: &dyn Store) -> windlass::Result<Vec<QueueName>> {
    let mut queues = Vec::new();
    for queue in store.queues().await? {
        let stats = store.stats(&queue).await?;
        if stats.is_some_and(|stats| stats.schedules > 0) {
            queues.push(queue);
        }
    }
    Ok(queues)
}

async fn maintain(store: &dyn Store, queue: &QueueName) -> windlass::Result<()> {
    for _ in 0..PAGES_MAX {
        let maintained = windlass_schedule::maintain(store, queue, PAGE).await?;
        if maintained.is_idle() {
            break;
        }
    }
    Ok(())
}
