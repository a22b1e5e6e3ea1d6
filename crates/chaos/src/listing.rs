//! The final listing of a queue, for the invariants.

use windlass_core::store::Setting;
use windlass_core::{Filter, QueueName, Result, Store};

use crate::invariants::ListedJob;

const PAGE: usize = 500;

/// Settings that keep every finished job.
const KEEP_EVERYTHING: [&str; 10] = [
    "keep_succeeded=all",
    "succeeded_age=all",
    "succeeded_count=all",
    "succeeded_bytes=all",
    "dead_age=all",
    "dead_count=all",
    "dead_bytes=all",
    "cancelled_age=all",
    "cancelled_count=all",
    "cancelled_bytes=all",
];

/// Keeps every finished job of a queue, so that it can be checked.
pub async fn keep_everything(store: &dyn Store, queue: &QueueName) -> Result<()> {
    let settings = KEEP_EVERYTHING.iter().map(|text| text.parse::<Setting>());
    let settings = settings.collect::<Result<Vec<_>>>()?;
    store.set(queue, settings).await.map(drop)
}

/// Every job of a queue and its state.
pub async fn of(store: &dyn Store, queue: &QueueName) -> Result<Vec<ListedJob>> {
    let mut listing = Vec::new();
    let mut from = None;
    loop {
        let page = store.list(queue, &Filter::default(), from, PAGE).await?;
        listing.extend(page.items.into_iter().map(|job| (job.id, job.state)));
        from = page.next;
        if from.is_none() {
            return Ok(listing);
        }
    }
}
