//! The final listing of a queue, as the invariants are judged by it.

use windlass_core::{Filter, QueueName, Result, Store};

use crate::invariants::Found;

const PAGE: usize = 500;

/// Settings under which nothing of what happened is forgotten before it was checked.
pub const KEEP_EVERYTHING: [&str; 10] = [
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

/// Every job of a queue and its state.
pub async fn of(store: &dyn Store, queue: &QueueName) -> Result<Vec<Found>> {
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
