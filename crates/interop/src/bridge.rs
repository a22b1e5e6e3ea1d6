//! Migrates work from an older system into a Windlass queue.
//!
//! The bridge can be killed at any point: it takes an item as any worker of the older system does,
//! enqueues it under its own id, and only then finishes it there. If a bridge is killed, the older
//! system's own cleaning returns the items it held, and the next bridge gets `duplicate` for those
//! that were already enqueued. After a transient error the bridge continues with the items it holds:
//! its worker is still alive, so no cleaner would return them.
//!
//! # Map
//!
//! `source` defines what a bridge needs from an older system; `redis_work_queue`, `worqr`, `blueque`,
//! `processor` and `delayed_queue` implement it. `job` builds jobs from the items.

mod blueque;
mod delayed_queue;
mod job;
mod processor;
mod redis_work_queue;
mod source;
mod worqr;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_core::{Enqueued, Error, ErrorKind, NewJob, QueueName, Result, Store};

pub use source::BridgeSource;
use source::{SourceItem, SourceWorker, TakeResult};

use crate::InteropServer;

/// Maximum number of items migrated per batch.
const BATCH: usize = 100;

/// How long one call waits for work when following.
const WAIT: Duration = Duration::from_secs(1);

/// How often the older system is cleaned, so that items of dead workers are migrated as well.
const CLEAN_EVERY: Duration = Duration::from_secs(5);

/// Delay after a transient error.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// What a bridge has done so far.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct BridgeReport {
    /// Jobs added to the queue.
    pub migrated: u64,
    /// Jobs that were already in the queue, because an earlier bridge was interrupted.
    pub duplicates: u64,
    /// Items that the queue rejected, with the reason. They stay in the older system.
    pub rejected: Vec<(String, Error)>,
}

/// A bridge from an older system into a queue.
#[derive(Debug)]
pub struct Bridge {
    worker: Box<dyn SourceWorker>,
    source: BridgeSource,
    store: Arc<dyn Store>,
    queue: QueueName,
    /// Held by this bridge, not known to be in the queue yet.
    taken: VecDeque<SourceItem>,
    /// In the queue, not finished in the older system yet.
    enqueued: VecDeque<SourceItem>,
    report: BridgeReport,
    cleaned_at: Option<Instant>,
}

impl Bridge {
    /// Joins the older system as a new worker.
    pub async fn open(
        server: &InteropServer,
        source: BridgeSource,
        store: Arc<dyn Store>,
        queue: QueueName,
    ) -> Result<Self> {
        Ok(Self {
            worker: source.join(server).await?,
            source,
            store,
            queue,
            taken: VecDeque::new(),
            enqueued: VecDeque::new(),
            report: BridgeReport::default(),
            cleaned_at: None,
        })
    }

    /// Returns what was done so far.
    pub fn report(&self) -> &BridgeReport {
        &self.report
    }

    /// Migrates one batch, waiting up to `wait` for work. Returns whether there was any.
    ///
    /// Cancel safe: the next call continues with the items that are held. If the bridge is dropped,
    /// they return to the older system.
    pub async fn migrate_batch(&mut self, wait: Duration) -> Result<bool> {
        if self.taken.is_empty() && self.enqueued.is_empty() {
            self.clean().await?;
            self.take(wait).await?;
            if self.taken.is_empty() {
                return Ok(false);
            }
        } else {
            self.drop_lost().await?;
        }
        self.finish_batch().await?;
        Ok(true)
    }

    /// Migrates until no unclaimed work is left.
    pub async fn drain(&mut self) -> Result<()> {
        while self.migrate_batch(Duration::ZERO).await? {}
        Ok(())
    }

    /// Migrates until the future is dropped. Transient errors are passed to `on_error` and retried.
    pub async fn follow(&mut self, mut on_error: impl FnMut(&Error)) -> Result<()> {
        loop {
            match self.migrate_batch(WAIT).await {
                Ok(_) => {}
                Err(error) if error.is_transient() || error.is_unknown() => {
                    on_error(&error);
                    sleep(RETRY_DELAY).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Leaves the older system and returns the items that are still held.
    pub async fn close(mut self) -> Result<BridgeReport> {
        let finished = self.finish_enqueued().await;
        self.worker.leave().await?;
        finished?;
        Ok(self.report)
    }

    /// Finishes what is in the queue, so that it does not return to the older system.
    async fn finish_enqueued(&mut self) -> Result<()> {
        if !self.enqueued.is_empty() {
            self.taken.clear();
            self.drop_lost().await?;
            self.finish_batch().await?;
        }
        Ok(())
    }

    async fn clean(&mut self) -> Result<()> {
        if self.cleaned_at.is_none_or(|at| at.elapsed() >= CLEAN_EVERY) {
            self.worker.clean().await?;
            self.cleaned_at = Some(Instant::now());
        }
        Ok(())
    }

    async fn take(&mut self, mut wait: Duration) -> Result<()> {
        while self.taken.len() < BATCH {
            match self.worker.take(wait).await? {
                TakeResult::Item(item) => self.taken.push_back(item),
                TakeResult::Empty => break,
                TakeResult::Rejoined => self.taken.clear(),
            }
            wait = Duration::ZERO;
        }
        Ok(())
    }

    /// After an error: drops the items that were returned to the older system in the meantime.
    async fn drop_lost(&mut self) -> Result<()> {
        for held in [&mut self.taken, &mut self.enqueued] {
            let mut index = 0;
            while let Some(item) = held.get(index) {
                if self.worker.holds(item).await? {
                    index += 1;
                } else {
                    held.remove(index);
                }
            }
        }
        Ok(())
    }

    /// Enqueues the taken items and finishes them in the older system.
    async fn finish_batch(&mut self) -> Result<()> {
        if !self.taken.is_empty() {
            self.enqueue().await?;
        }
        while let Some(item) = self.enqueued.front() {
            self.worker.finish(item).await?;
            self.enqueued.pop_front();
        }
        Ok(())
    }

    async fn enqueue(&mut self) -> Result<()> {
        let jobs = self
            .taken
            .iter()
            .map(|item| job::from_item(&self.source, item));
        let jobs = jobs.collect::<Result<Vec<_>>>()?;
        match self.store.enqueue(&self.queue, jobs).await {
            Ok(enqueued) => {
                for enqueued in &enqueued {
                    self.record_first(enqueued).await?;
                }
            }
            // One job was rejected: enqueue them one by one to find out which.
            Err(error) if is_rejection(&error) => {
                while let Some(first) = self.taken.front() {
                    let job = job::from_item(&self.source, first)?;
                    if let Some(enqueued) = self.enqueue_first(job).await? {
                        self.record_first(&enqueued).await?;
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Records that the first taken item is in the queue. If its id belongs to different work, enqueues
    /// it under another id first.
    async fn record_first(&mut self, enqueued: &Enqueued) -> Result<()> {
        let Some(first) = self.taken.front() else {
            return Ok(());
        };
        let mut is_duplicate = enqueued.is_duplicate();
        if is_duplicate && self.is_different_work(first, enqueued).await? {
            let job = job::under_new_id(&self.source, first)?;
            let Some(enqueued) = self.enqueue_first(job).await? else {
                return Ok(());
            };
            is_duplicate = enqueued.is_duplicate();
        }
        self.count(is_duplicate);
        self.enqueued.extend(self.taken.pop_front());
        Ok(())
    }

    /// Returns whether the existing job has a different payload. The payload of an ended job is gone;
    /// in that case the item counts as different, because running it twice is better than not at all.
    async fn is_different_work(&self, item: &SourceItem, existing: &Enqueued) -> Result<bool> {
        if !self.source.has_producer_ids() {
            return Ok(false);
        }
        let existing = self.store.get(&self.queue, existing.id()).await?;
        let payload = existing.and_then(|job| job.payload);
        Ok(payload.is_none_or(|payload| payload != item.data))
    }

    /// Enqueues the job of the first taken item. Returns `None` if the queue rejects it.
    async fn enqueue_first(&mut self, job: NewJob) -> Result<Option<Enqueued>> {
        match self.store.enqueue(&self.queue, vec![job]).await {
            Ok(enqueued) => Ok(enqueued.into_iter().next()),
            Err(error) if is_rejection(&error) => {
                let rejected = &mut self.report.rejected;
                // Report each id once: every cleaning returns the item.
                if let Some(item) = self.taken.pop_front()
                    && rejected.iter().all(|(id, _)| *id != item.id)
                {
                    rejected.push((item.id, error));
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn count(&mut self, is_duplicate: bool) {
        if is_duplicate {
            self.report.duplicates += 1;
        } else {
            self.report.migrated += 1;
        }
    }
}

/// Returns whether the queue will never accept the job.
fn is_rejection(error: &Error) -> bool {
    !error.is_transient() && !error.is_unknown() && error.kind() == ErrorKind::Invalid
}

#[cfg(test)]
mod tests;
