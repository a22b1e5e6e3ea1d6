//! Growing: how many parts a queue has, and how a process learns of it.
//!
//! The first part is the authority. New parts are made and told first, then the old ones, the first
//! one last; a process that finds a part out of step with the first brings into step whichever is
//! behind.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_core::setting::PARTITIONS_MAX;
use windlass_core::{Partitions, Result};

use super::Queue;
use crate::partition::{Part, number};

/// How long what is known of the number of parts may be trusted by verbs that must see all.
const TRUSTED: Duration = Duration::from_secs(1);

impl Part {
    /// How many parts the queue has, as this one knows it, and the earlier numbers; `count` > 0
    /// tells it so first.
    pub(crate) async fn partition(&self, count: u32, grow_at: u64) -> Result<(u32, Vec<u32>)> {
        let args = vec![number(count), number(grow_at)];
        let mut reply = self.list(&self.scripts().partition, args).await?;
        let count = u32::try_from(reply.count()?).unwrap_or(1).max(1);
        let mut earlier = Vec::new();
        while !reply.is_empty() {
            earlier.push(u32::try_from(reply.count()?).unwrap_or(1).max(1));
        }
        Ok((count, earlier))
    }
}

impl Queue {
    /// Looks how many parts there are, unless that was just done.
    pub(crate) async fn refresh(&self) -> Result<()> {
        if !self.known.is_fresh(TRUSTED, self.parts().len()) {
            self.look().await?;
        }
        Ok(())
    }

    /// How many parts there are, by the first one.
    async fn look(&self) -> Result<u32> {
        let (count, earlier) = self.first().partition(0, 0).await?;
        self.learn(count);
        self.known.set(count, earlier);
        Ok(count)
    }

    /// After a part said that the number of parts is another, the highest one `told`: asks the first
    /// one, and brings parts into step that a process left behind half-way.
    pub(super) async fn agree(&self, believed: u32, told: u32) -> Result<()> {
        let count = self.look().await?;
        let most = believed.max(told);
        if count < most {
            // Whoever added parts stopped half-way, or the database was emptied, or put back to what
            // it was: there are never fewer parts than somebody has seen, or jobs in the others would
            // be seen by nobody.
            self.first().make().await?;
            let grow_at = self.grow_at().await?;
            return self.grow(count, most, grow_at).await;
        }
        if count == believed {
            for member in self.parts().iter().skip(1) {
                self.bring_into_step(&member.part, count).await?;
            }
        }
        Ok(())
    }

    async fn bring_into_step(&self, part: &Part, count: u32) -> Result<()> {
        part.make().await?;
        part.partition(count, self.grow_at().await?).await?;
        Ok(())
    }

    /// Waiting jobs past which a part asks for more, by the queue's settings; 0 is never.
    async fn grow_at(&self) -> Result<u64> {
        Ok(match self.settings().await?.partitions {
            Partitions::Fixed(_) => 0,
            Partitions::Auto => self.shared.grow_at,
        })
    }

    /// Adds parts until there are as many as were asked for; there are never fewer.
    pub(crate) async fn grow_to(&self, wanted: Partitions) -> Result<()> {
        let (now, _) = self.first().partition(0, 0).await?;
        let (count, grow_at) = match wanted {
            Partitions::Fixed(count) => (count.max(now), 0),
            Partitions::Auto => (now, self.shared.grow_at),
        };
        self.grow(now, count, grow_at).await
    }

    /// Grows without anybody waiting for it, one at a time in this process; a failure is made good
    /// by the next enqueue.
    pub(super) fn grow_aside(queue: Arc<Self>) {
        if queue.is_growing.swap(true, Ordering::AcqRel) {
            return;
        }
        tokio::spawn(async move {
            let _ = queue.grow_by_size().await;
            queue.is_growing.store(false, Ordering::Release);
        });
    }

    /// A part has said that it is large.
    async fn grow_by_size(&self) -> Result<()> {
        let (now, _) = self.first().partition(0, 0).await?;
        if self.settings().await?.partitions == Partitions::Auto && now < PARTITIONS_MAX {
            let count = (now * 2).min(PARTITIONS_MAX);
            self.grow(now, count, self.shared.grow_at).await?;
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
        let parts = self.parts();
        for member in parts
            .iter()
            .skip(usize::try_from(now).unwrap_or(usize::MAX))
        {
            member.part.make().await?;
            member.part.set(&settings).await?;
            member.part.set_paused(is_paused).await?;
            member.part.partition(count, grow_at).await?;
        }
        for member in parts
            .iter()
            .take(usize::try_from(now).unwrap_or(usize::MAX))
            .rev()
        {
            member.part.partition(count, grow_at).await?;
        }
        self.known.forget();
        Ok(())
    }
}
