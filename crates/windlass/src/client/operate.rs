//! Looks up and cancels jobs, by queue and id.

use windlass_core::store::{Changed, Cursor, Page};
use windlass_core::{Change, Filter, Job, JobId, QueueName, Result, Target};

use super::Client;

impl Client {
    /// Returns a job, or `None` if it does not exist.
    pub async fn get(&self, queue: &str, id: &str) -> Result<Option<Job>> {
        let (queue, id) = (QueueName::new(queue)?, JobId::new(id)?);
        self.store().get(&queue, &id).await
    }

    /// Lists the jobs of a queue, without payloads and results. For further pages, pass the `next` cursor
    /// of the previous one.
    pub async fn list(
        &self,
        queue: &str,
        filter: &Filter,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<Job>> {
        let queue = QueueName::new(queue)?;
        self.store().list(&queue, filter, from, limit).await
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
