//! enqueue: one job, or many in one call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::{QueueName, Store};

use super::{Answer, QueueRequest};
use crate::enqueue::{EnqueueReply, EnqueueRequest};
use crate::error::Error;

/// One job.
pub type Enqueue = EnqueueRequest;

impl QueueRequest for EnqueueRequest {
    const OP: &'static str = "enqueue";
    type Reply = EnqueueReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<EnqueueReply> {
        let jobs = vec![self.into_job()?];
        let answers = store.enqueue(queue, jobs).await?;
        let first = answers.first().ok_or_else(Error::no_answer)?;
        Ok(EnqueueReply::new(queue, first))
    }
}

/// Many jobs; each has its own answer, in their order.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnqueueAll {
    /// The jobs.
    pub jobs: Vec<EnqueueRequest>,
}

/// What became of each job.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EnqueueAnswer {
    /// In the order of the request.
    pub jobs: Vec<EnqueueReply>,
}

impl QueueRequest for EnqueueAll {
    const OP: &'static str = "enqueue_all";
    type Reply = EnqueueAnswer;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<EnqueueAnswer> {
        let mut jobs = Vec::with_capacity(self.jobs.len());
        for (at, job) in self.jobs.into_iter().enumerate() {
            let job = job.into_job();
            jobs.push(job.map_err(|error| Error::from(&error).in_item(at))?);
        }
        let answers = store.enqueue(queue, jobs).await?;
        let reply = |answer| EnqueueReply::new(queue, answer);
        Ok(EnqueueAnswer {
            jobs: answers.iter().map(reply).collect(),
        })
    }
}
