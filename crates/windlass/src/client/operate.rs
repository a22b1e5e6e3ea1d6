//! Looking jobs up and cancelling them, by queue and id.

use windlass_core::{Changed, Cursor, Filter, Job, JobId, Page, QueueName, Result, Target};

use super::Client;

impl Client {
    /// Everything known of one job; nothing where there is none.
    pub async fn get(&self, queue: &str, id: &str) -> Result<Option<Job>> {
        let (queue, id) = (QueueName::new(queue)?, JobId::new(id)?);
        self.store().get(&queue, &id).await
    }

    /// Jobs of a queue in pages, without payloads and results; begin with no cursor.
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

    /// Cancels a waiting job, and asks a running one to stop.
    pub async fn cancel(&self, queue: &str, id: &str) -> Result<Changed> {
        let (queue, id) = (QueueName::new(queue)?, JobId::new(id)?);
        let target = Target::Ids(vec![id]);
        let changes = self.store().cancel(&queue, &target, None).await?;
        let change = changes.items.into_iter().next();
        Ok(change.map_or(Changed::NotFound, |job| job.changed))
    }
}
