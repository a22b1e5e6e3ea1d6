//! Looks up, explains and cancels jobs, by queue and id, and reads the history of a queue.

use windlass_core::store::{Changed, Cursor, Explanation, HistoryRow, JobPage};
use windlass_core::{Change, Filter, Job, JobId, QueueName, Result, Target};

use super::Client;

impl Client {
    /// Returns a job, or `None` if it does not exist.
    pub async fn get(&self, queue: &str, id: &str) -> Result<Option<Job>> {
        let (queue, id) = (QueueName::new(queue)?, JobId::new(id)?);
        self.store().get(&queue, &id).await
    }

    /// Explains why a job waits, and when it probably starts. Returns `None` if it does not exist.
    pub async fn explain(&self, queue: &str, id: &str) -> Result<Option<Explanation>> {
        let (queue, id) = (QueueName::new(queue)?, JobId::new(id)?);
        self.store().explain(&queue, &id).await
    }

    /// Lists the jobs of a queue, without payloads and results. For further pages, pass the `next` cursor
    /// of the previous one.
    pub async fn list(
        &self,
        queue: &str,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<JobPage<Job>> {
        let queue = QueueName::new(queue)?;
        self.store().list(&queue, filter, from, limit).await
    }

    /// Returns the history of a queue for the last `minutes`, at most 1440: one row per minute, oldest first.
    pub async fn history(&self, queue: &str, minutes: u32) -> Result<Vec<HistoryRow>> {
        let queue = QueueName::new(queue)?;
        self.store().history(&queue, minutes).await
    }

    /// Cancels a waiting job, or asks a running one to stop.
    pub async fn cancel(&self, queue: &str, id: &str) -> Result<Changed> {
        let (queue, id) = (QueueName::new(queue)?, JobId::new(id)?);
        let target = Target::Ids(vec![id]);
        let changes = self
            .store()
            .change(&queue, Change::Cancel, &target, None)
            .await?;
        let change = changes.items.into_iter().next();
        Ok(change.map_or(Changed::NotFound, |job| job.changed))
    }
}
