//! Queues: figures, pause, resume, settings, purge.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::limits::PAGE;
use windlass_core::{QueueName, Result, Setting, Store};

use super::{Answer, QueueRequest, StoreRequest};
use crate::error::Error;
use crate::queue::{QueueReply, SettingsReply};

/// The figures of all queues.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queues {}

impl StoreRequest for Queues {
    const OP: &'static str = "queues";
    type Reply = Vec<QueueReply>;

    async fn answer(self, store: &dyn Store) -> Answer<Vec<QueueReply>> {
        let mut replies = Vec::new();
        for queue in store.queues().await? {
            // One that went away meanwhile is not there.
            if let Some(stats) = store.stats(&queue).await? {
                replies.push(QueueReply::new(&queue, &stats));
            }
        }
        Ok(replies)
    }
}

/// The figures of one queue.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stats {}

impl QueueRequest for Stats {
    const OP: &'static str = "stats";
    type Reply = QueueReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<QueueReply> {
        figures(store, queue).await
    }
}

async fn figures(store: &dyn Store, queue: &QueueName) -> Answer<QueueReply> {
    let stats = store.stats(queue).await?;
    let stats = stats.ok_or_else(|| Error::no_queue(queue))?;
    Ok(QueueReply::new(queue, &stats))
}

/// Stops answering claims.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {}

impl QueueRequest for Pause {
    const OP: &'static str = "pause";
    type Reply = QueueReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<QueueReply> {
        store.pause(queue).await?;
        figures(store, queue).await
    }
}

/// Answers claims again.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {}

impl QueueRequest for Resume {
    const OP: &'static str = "resume";
    type Reply = QueueReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<QueueReply> {
        store.resume(queue).await?;
        figures(store, queue).await
    }
}

/// Removes a page of ready and scheduled jobs; repeat it until there are no more.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Purge {}

/// What a purge removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PurgeReply {
    /// The queue.
    pub queue: String,
    /// How many jobs went.
    pub purged: u64,
    /// Whether there may be more.
    pub more: bool,
}

impl QueueRequest for Purge {
    const OP: &'static str = "purge";
    type Reply = PurgeReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<PurgeReply> {
        let purged = store.purge(queue).await?;
        Ok(PurgeReply {
            queue: queue.to_string(),
            purged,
            more: purged >= PAGE as u64,
        })
    }
}

/// The settings of a queue.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowSettings {}

impl QueueRequest for ShowSettings {
    const OP: &'static str = "settings";
    type Reply = SettingsReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<SettingsReply> {
        let settings = store.settings(queue).await?;
        Ok(SettingsReply::new(queue, &settings))
    }
}

/// Changes settings of a queue.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Set {
    /// Names and the text of their values.
    pub settings: BTreeMap<String, String>,
}

impl QueueRequest for Set {
    const OP: &'static str = "set";
    type Reply = SettingsReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<SettingsReply> {
        let settings = self
            .settings
            .iter()
            .map(|(name, value)| Setting::new(name, value));
        let settings = settings.collect::<Result<Vec<_>>>()?;
        let settings = store.set(queue, settings).await?;
        Ok(SettingsReply::new(queue, &settings))
    }
}
