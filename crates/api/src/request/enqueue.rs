//! enqueue and `enqueue_all`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::{QueueName, Store};

use super::{ApiResult, QueueRequest};
use crate::enqueue::{EnqueueReply, EnqueueRequest};
use crate::error::Error;

/// Adds one job.
pub type Enqueue = EnqueueRequest;

impl QueueRequest for EnqueueRequest {
    const OP: &'static str = "enqueue";
    type Reply = EnqueueReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<EnqueueReply> {
        let jobs = vec![self.into_job()?];
        let replies = store.enqueue(queue, jobs).await?;
        let first = replies.first().ok_or_else(Error::missing_reply)?;
        Ok(EnqueueReply::new(queue, first))
    }
}

/// Adds several jobs. Each has its own reply, in the same order.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnqueueAll {
    /// The jobs.
    pub jobs: Vec<EnqueueRequest>,
}

/// The reply to `enqueue_all`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct EnqueueAllReply {
    /// The replies, in the order of the request.
    pub jobs: Vec<EnqueueReply>,
}

impl QueueRequest for EnqueueAll {
    const OP: &'static str = "enqueue_all";
    type Reply = EnqueueAllReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<EnqueueAllReply> {
        let mut jobs = Vec::with_capacity(self.jobs.len());
        for (index, job) in self.jobs.into_iter().enumerate() {
            let job = job.into_job();
            jobs.push(job.map_err(|error| Error::from(&error).in_item(index))?);
        }
        let replies = store.enqueue(queue, jobs).await?;
        let reply = |enqueued| EnqueueReply::new(queue, enqueued);
        Ok(EnqueueAllReply {
            jobs: replies.iter().map(reply).collect(),
        })
    }
}
