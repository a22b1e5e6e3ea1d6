//! queues, stats, pause, resume, purge, `delete_queue`, settings and set.

use std::collections::BTreeMap;

use clap::Args;
use futures_util::{StreamExt, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::limits::PAGE;
use windlass_core::store::{QueueDeletion, Setting};
use windlass_core::{QueueName, Result, Store};

use super::{ApiResult, QueueRequest, StoreRequest};
use crate::error::Error;
use crate::queue::{QueueReply, SettingsReply};

/// Returns the stats of all queues.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Queues {}

impl StoreRequest for Queues {
    const OP: &'static str = "queues";
    type Reply = Vec<QueueReply>;

    async fn execute(self, store: &dyn Store) -> ApiResult<Vec<QueueReply>> {
        let queues = store.queues().await?;
        Ok(read_stats(store, queues).await?)
    }
}

/// How many queues are read at the same time: with hundreds of queues, the round trips to a store add up.
const READS_MAX: usize = 32;

/// Returns the stats of queues, in their order. A queue that was removed in the meantime is left out.
pub async fn read_stats(store: &dyn Store, queues: Vec<QueueName>) -> Result<Vec<QueueReply>> {
    let mut reads = stream::iter(queues)
        .map(|queue| async move { (store.stats(&queue).await, queue) })
        .buffered(READS_MAX);
    let mut replies = Vec::new();
    while let Some((stats, queue)) = reads.next().await {
        replies.extend(stats?.map(|stats| QueueReply::new(&queue, &stats)));
    }
    Ok(replies)
}

/// Returns the stats of one queue.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct Stats {
    /// Whether to reply with `next_due_ms` (default: false).
    #[arg(skip)]
    pub full: Option<bool>,
}

impl QueueRequest for Stats {
    const OP: &'static str = "stats";
    type Reply = QueueReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<QueueReply> {
        let is_full = self.full.unwrap_or(false);
        let stats = store.stats(queue).await?;
        let stats = stats.ok_or_else(|| Error::queue_not_found(queue))?;
        Ok(QueueReply {
            next_due_ms: stats.next_due_ms.filter(|_| is_full),
            ..QueueReply::new(queue, &stats)
        })
    }
}

async fn queue_stats(store: &dyn Store, queue: &QueueName) -> ApiResult<QueueReply> {
    let stats = store.stats(queue).await?;
    let stats = stats.ok_or_else(|| Error::queue_not_found(queue))?;
    Ok(QueueReply::new(queue, &stats))
}

/// Stops handing out jobs. Everything else continues.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Pause {}

impl QueueRequest for Pause {
    const OP: &'static str = "pause";
    type Reply = QueueReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<QueueReply> {
        store.set_paused(queue, true).await?;
        queue_stats(store, queue).await
    }
}

/// Hands out jobs again.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Resume {}

impl QueueRequest for Resume {
    const OP: &'static str = "resume";
    type Reply = QueueReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<QueueReply> {
        store.set_paused(queue, false).await?;
        queue_stats(store, queue).await
    }
}

/// Removes a page of ready and scheduled jobs. Repeat it while `more` is true.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Purge {}

/// The reply to purge.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PurgeReply {
    /// The queue.
    pub queue: String,
    /// The number of jobs removed.
    pub purged: u64,
    /// Whether there may be more jobs to remove.
    pub more: bool,
}

impl QueueRequest for Purge {
    const OP: &'static str = "purge";
    type Reply = PurgeReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<PurgeReply> {
        let purged = store.purge(queue).await?;
        Ok(PurgeReply {
            queue: queue.to_string(),
            purged,
            more: purged >= PAGE as u64,
        })
    }
}

/// Deletes a queue without jobs: its settings, stats and remembered ids.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct DeleteQueue {}

/// The reply to `delete_queue`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DeleteQueueReply {
    /// The queue.
    pub queue: String,
    /// Always true.
    pub deleted: bool,
}

impl QueueRequest for DeleteQueue {
    const OP: &'static str = "delete_queue";
    type Reply = DeleteQueueReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<DeleteQueueReply> {
        match store.delete_queue(queue).await? {
            QueueDeletion::Deleted => Ok(DeleteQueueReply {
                queue: queue.to_string(),
                deleted: true,
            }),
            QueueDeletion::HasJobs => Err(Error::queue_has_jobs(queue)),
            QueueDeletion::HasSchedules => Err(Error::queue_has_schedules(queue)),
            QueueDeletion::NotFound => Err(Error::queue_not_found(queue)),
        }
    }
}

/// Returns the settings of a queue.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct ShowSettings {}

impl QueueRequest for ShowSettings {
    const OP: &'static str = "settings";
    type Reply = SettingsReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<SettingsReply> {
        let settings = store.settings(queue).await?;
        Ok(SettingsReply::new(queue, &settings))
    }
}

/// Changes settings of a queue.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Set {
    /// Names and values of the settings to change.
    pub settings: BTreeMap<String, String>,
}

impl QueueRequest for Set {
    const OP: &'static str = "set";
    type Reply = SettingsReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<SettingsReply> {
        let settings = self
            .settings
            .iter()
            .map(|(name, value)| Setting::new(name, value));
        let settings = settings.collect::<Result<Vec<_>>>()?;
        let settings = store.set(queue, settings).await?;
        Ok(SettingsReply::new(queue, &settings))
    }
}
