//! Verbs that answer in pages, to their end.

use windlass_core::{Filter, Job, QueueName, Repair, Result, Store};

/// Every job that a filter matches, over as many pages of `limit` as it takes.
pub async fn list(
    store: &dyn Store,
    queue: &QueueName,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    let mut from = None;
    loop {
        let page = store.list(queue, filter, from, limit).await?;
        assert!(
            page.items.len() <= limit,
            "a page holds at most what was asked for"
        );
        jobs.extend(page.items);
        from = page.next;
        if from.is_none() {
            return Ok(jobs);
        }
    }
}

/// The whole deep clean: how many jobs were looked at, and what was mended.
pub async fn audit(store: &dyn Store, queue: &QueueName) -> Result<(u64, Vec<Repair>)> {
    let mut checked = 0;
    let mut repairs = Vec::new();
    let mut from = None;
    loop {
        let page = store.audit(queue, from).await?;
        checked += page.checked;
        repairs.extend(page.repairs);
        from = page.next;
        if from.is_none() {
            return Ok((checked, repairs));
        }
    }
}
