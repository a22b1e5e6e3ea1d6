//! Keeps finished jobs, so that every accepted id can be checked at the end.

use std::collections::BTreeMap;

use windlass::store::limits::SCAN_PAGE;
use windlass::store::{Filter, Setting};
use windlass::{Job, JobId, JobState, QueueName, Result, Store};

/// The final states of jobs that are not cancelled.
const STATES: [JobState; 2] = [JobState::Succeeded, JobState::Dead];

/// Keeps every finished job of a queue.
pub async fn keep_ended(store: &dyn Store, queue: &QueueName) -> Result<()> {
    let mut settings = vec![Setting::new("keep_succeeded", "all")?];
    for state in STATES {
        for limit in ["age", "count", "bytes"] {
            settings.push(Setting::new(&format!("{state}_{limit}"), "all")?);
        }
    }
    store.set(queue, settings).await.map(drop)
}

/// Returns all finished jobs: succeeded and dead.
pub async fn ended_jobs(store: &dyn Store, queue: &QueueName) -> Result<BTreeMap<JobId, Job>> {
    let mut ended = BTreeMap::new();
    for state in STATES {
        let filter = Filter {
            state: Some(state),
            ..Filter::default()
        };
        let mut from = None;
        loop {
            let page = store.list(queue, &filter, from, SCAN_PAGE).await?;
            ended.extend(page.items.into_iter().map(|job| (job.id.clone(), job)));
            from = page.next;
            if from.is_none() {
                break;
            }
        }
    }
    Ok(ended)
}
