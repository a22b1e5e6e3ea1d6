//! Adds partitions to a queue, and keeps track of their number.
//!
//! The first partition is the authority. Growing creates the new partitions, then updates the old
//! ones, the first one last. A process that finds that a partition disagrees with the first updates
//! the one that is behind.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_core::Result;
use windlass_core::setting::PARTITIONS_MAX;
use windlass_core::store::{Partitions, Settings};

use super::Queue;
use crate::partition::{Partition, number_arg};

/// How long verbs that need all partitions may use the known number.
const FRESH_FOR: Duration = Duration::from_secs(1);

impl Partition {
    /// The number of partitions as this one knows it, and the earlier numbers. Sets the number to
    /// `count` first, unless that is 0.
    pub(crate) async fn partition(&self, count: u32, grow_at: u64) -> Result<(u32, Vec<u32>)> {
        let args = vec![number_arg(count), number_arg(grow_at)];
        let mut reply = self.run_list(&self.scripts().partition, args).await?;
        let count = u32::try_from(reply.count()?).unwrap_or(1).max(1);
        let mut earlier = Vec::new();
        while !reply.is_empty() {
            earlier.push(u32::try_from(reply.count()?).unwrap_or(1).max(1));
        }
        Ok((count, earlier))
    }
}

impl Queue {
    /// Reads the number of partitions, unless it is fresh.
    pub(crate) async fn refresh(&self) -> Result<()> {
        if !self.known.is_fresh(FRESH_FOR, self.partitions().len()) {
            self.read_count().await?;
        }
        Ok(())
    }

    /// Reads the number of partitions from the first one.
    async fn read_count(&self) -> Result<u32> {
        let (count, earlier) = self.first().partition(0, 0).await?;
        self.learn(count);
        self.known.set(count, earlier);
        Ok(count)
    }

    /// Makes the partitions agree on their number, after one of them replied with another number than
    /// `known`; `reported` is the highest of these.
    pub(super) async fn agree(&self, known: u32, reported: u32) -> Result<()> {
        let count = self.read_count().await?;
        let most = known.max(reported);
        if count < most {
            // Growing stopped half-way, or the database was flushed or restored. The number never
            // goes down: jobs in the other partitions would be lost.
            self.first().create().await?;
            let grow_at = self.grow_at().await?;
            return self.grow(count, most, grow_at).await;
        }
        if count == known {
            // One may be missing: a queue that got a job while it was deleted is deleted in part.
            let grow_at = self.grow_at().await?;
            self.grow(1, count, grow_at).await?;
        }
        Ok(())
    }

    /// The number of waiting jobs above which the queue grows, by its settings; 0 is never.
    async fn grow_at(&self) -> Result<u64> {
        Ok(threshold(&self.settings().await?))
    }

    /// Adds partitions up to the wanted number; never removes any.
    pub(crate) async fn grow_to(&self, settings: &Settings) -> Result<()> {
        let (now, _) = self.first().partition(0, 0).await?;
        let count = match settings.partitions {
            Partitions::Fixed(count) => count.max(now),
            Partitions::Auto => now,
        };
        self.grow(now, count, threshold(settings)).await
    }

    /// Grows in a background task, one at a time in this process. After an error the next enqueue tries
    /// again.
    pub(super) fn grow_in_background(queue: Arc<Self>) {
        if queue.is_growing.swap(true, Ordering::AcqRel) {
            return;
        }
        tokio::spawn(async move {
            let _ = queue.grow_by_size().await;
            queue.is_growing.store(false, Ordering::Release);
        });
    }

    /// Doubles the number of partitions.
    async fn grow_by_size(&self) -> Result<()> {
        let (now, _) = self.first().partition(0, 0).await?;
        let settings = self.settings().await?;
        // A group would be in two partitions.
        if threshold(&settings) > 0 && now < PARTITIONS_MAX && !self.has_groups().await? {
            let count = (now * 2).min(PARTITIONS_MAX);
            self.grow(now, count, threshold(&settings)).await?;
        }
        Ok(())
    }

    async fn grow(&self, now: u32, count: u32, grow_at: u64) -> Result<()> {
        if now == count && grow_at == 0 && count == 1 {
            return Ok(());
        }
        self.learn(count);
        let settings = self.settings().await?.all();
        let is_paused = self
            .first()
            .stats()
            .await?
            .is_some_and(|stats| stats.is_paused);
        let partitions = self.partitions();
        let now = usize::try_from(now).unwrap_or(usize::MAX);
        let (old, new) = partitions.split_at(now.min(partitions.len()));
        for partition in new {
            partition.create().await?;
            partition.set(&settings).await?;
            partition.set_paused(is_paused).await?;
            partition.partition(count, grow_at).await?;
        }
        for partition in old.iter().rev() {
            partition.partition(count, grow_at).await?;
        }
        self.known.expire();
        Ok(())
    }
}

/// The number of waiting jobs above which a partition asks for more; 0 is never. A queue with limits has one partition, and
/// one with limits of groups does not grow by itself.
fn threshold(settings: &Settings) -> u64 {
    let is_limited = settings.max_running.is_some()
        || settings.rate.is_some()
        || settings.group_rate.is_some()
        || settings.group_burst != 1
        || settings.group_max_running().is_some();
    match settings.partitions {
        Partitions::Auto if !is_limited => settings.partition_at,
        _ => 0,
    }
}
