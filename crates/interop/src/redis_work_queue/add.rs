//! Adds items.

use std::sync::LazyLock;

use bytes::Bytes;
use redis::Pipeline;
use windlass_core::Result;
use windlass_redis_link::raw_client::RawScript;

use super::{Item, WorkQueue, script};
use crate::reply::text;

static ADD: LazyLock<RawScript> = script!("add.lua");
static ADD_UNIQUE: LazyLock<RawScript> = script!("add_unique.lua");

impl WorkQueue {
    /// Adds an item at the back, unless its id already exists. Returns whether it was added.
    ///
    /// In layout 0.1 this searches the lists, because no key shows that an id exists.
    pub async fn add_item(&self, item: &Item) -> Result<bool> {
        let reply = self.run(&ADD, args(item)).await?;
        Ok(text(reply)? == "added")
    }

    /// Adds an item without checking whether its id exists.
    pub async fn add_unique_item(&self, item: &Item) -> Result<()> {
        self.run(&ADD_UNIQUE, args(item)).await.map(drop)
    }

    /// Appends the commands of [`WorkQueue::add_unique_item`] to the caller's pipeline. They are
    /// atomic only if the pipeline is. The data comes first, so no client gets the item without it.
    pub fn add_unique_item_to_pipeline(&self, pipeline: &mut Pipeline, item: &Item) {
        let data: &[u8] = &item.data;
        pipeline
            .cmd("SET")
            .arg(self.keys.item(&item.id))
            .arg(data)
            .ignore();
        let queue: &[u8] = &self.keys.queue;
        pipeline.cmd("LPUSH").arg(queue).arg(&item.id).ignore();
    }
}

fn args(item: &Item) -> Vec<Bytes> {
    vec![Bytes::from(item.id.clone()), item.data.clone()]
}
