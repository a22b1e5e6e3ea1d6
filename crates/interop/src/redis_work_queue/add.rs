//! Adding items.

use std::sync::LazyLock;

use bytes::Bytes;
use redis::Pipeline;
use windlass_core::Result;
use windlass_store_redis::guest::GuestScript;

use super::{Item, WorkQueue, script};
use crate::reply::text;

static ADD: LazyLock<GuestScript> = script!("add.lua");
static ADD_UNIQUE: LazyLock<GuestScript> = script!("add_unique.lua");

impl WorkQueue {
    /// Adds an item at the back, unless its id is there already; whether it was added.
    ///
    /// In the layout 0.1 the lists are searched for the id, as no key says that it is there.
    pub async fn add_item(&self, item: &Item) -> Result<bool> {
        let reply = self.run(&ADD, words(item)).await?;
        Ok(text(reply)? == "added")
    }

    /// Adds an item whose id nobody else uses, without looking.
    pub async fn add_unique_item(&self, item: &Item) -> Result<()> {
        self.run(&ADD_UNIQUE, words(item)).await.map(drop)
    }

    /// Appends the commands of [`WorkQueue::add_unique_item`] to a pipeline of the caller's. They
    /// are one step only where the pipeline is atomic; the data comes first, so nobody gets the
    /// item without it.
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

fn words(item: &Item) -> Vec<Bytes> {
    vec![Bytes::from(item.id.clone()), item.data.clone()]
}
