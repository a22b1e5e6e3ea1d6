//! Reads all pages of a reply.

use windlass_core::store::{GroupRecord, Repair, ScheduleRecord};
use windlass_core::{Filter, Job, QueueName, Result, Store};

/// Lists all jobs that match a filter, in pages of `limit`.
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
        assert!(page.items.len() <= limit, "a page has at most `limit` jobs");
        jobs.extend(page.items);
        from = page.next;
        if from.is_none() {
            return Ok(jobs);
        }
    }
}

/// Lists all schedules, in pages of `limit`.
pub async fn schedules(
    store: &dyn Store,
    queue: &QueueName,
    limit: usize,
) -> Result<Vec<ScheduleRecord>> {
    let mut records = Vec::new();
    let mut from = None;
    loop {
        let page = store.schedules(queue, from, limit).await?;
        assert!(
            page.items.len() <= limit,
            "a page has at most `limit` schedules"
        );
        records.extend(page.items);
        from = page.next;
        if from.is_none() {
            return Ok(records);
        }
    }
}

/// Lists all groups, in pages of `limit`.
pub async fn groups(
    store: &dyn Store,
    queue: &QueueName,
    limit: usize,
) -> Result<Vec<GroupRecord>> {
    let mut records = Vec::new();
    let mut from = None;
    loop {
        let page = store.groups(queue, from, limit).await?;
        assert!(
            page.items.len() <= limit,
            "a page has at most `limit` groups"
        );
        records.extend(page.items);
        from = page.next;
        if from.is_none() {
            return Ok(records);
        }
    }
}

/// Audits all pages of a queue. Returns the number of jobs checked and the repairs.
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
