//! Distributes jobs over the partitions, and batches enqueues and completions.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_core::{Completion, Enqueued, Error, NewJob, OutcomeStatus, Result};

use super::{
    BATCH_BYTES, BATCH_MAX, BatchedPartition, EnqueueReply, Queue, disagreement, partly_applied,
    worse,
};
use crate::batcher::{BatchLimits, Batcher};
use crate::enqueue::StoreReply;
use crate::partition::{Partition, distinct_runs};

/// How often jobs are sent again because the queue grew meanwhile.
const SENDS_MAX: usize = 20;

impl Queue {
    pub(crate) async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        if jobs.is_empty() {
            self.first().create().await?;
            return Ok(Vec::new());
        }
        let mut replies: Vec<Option<Enqueued>> = vec![None; jobs.len()];
        let mut waiting: Vec<(usize, NewJob)> = jobs.into_iter().enumerate().collect();
        for send in 0..SENDS_MAX {
            // A returned job may have been stored by a call whose reply was lost.
            waiting = match self.send_once(waiting, send > 0, &mut replies).await {
                Ok(waiting) => waiting,
                Err(failure) => return Err(after(replies.iter().flatten(), failure)),
            };
            if waiting.is_empty() {
                break;
            }
        }
        if !waiting.is_empty() {
            return Err(after(replies.iter().flatten(), disagreement()));
        }
        Ok(replies.into_iter().flatten().collect())
    }

    /// Sends jobs to their partitions. Returns those that belong to another partition now.
    async fn send_once(
        &self,
        jobs: Vec<(usize, NewJob)>,
        is_resend: bool,
        replies: &mut [Option<Enqueued>],
    ) -> Result<Vec<(usize, NewJob)>> {
        let partitions = self.partitions();
        let count = u32::try_from(partitions.len()).unwrap_or(u32::MAX);
        let mut batches: Vec<Vec<(usize, NewJob)>> =
            partitions.iter().map(|_| Vec::new()).collect();
        let existing = self.existing_jobs(&jobs, count, is_resend).await?;
        for ((at, job), existing) in jobs.into_iter().zip(existing) {
            if existing.is_some() {
                replies[at] = existing;
            } else {
                batches[partition_of(&job, count)].push((at, job));
            }
        }
        let (returned, most) = self.send(batches, count, replies).await?;
        if !returned.is_empty() {
            self.agree(count, most).await?;
        }
        for batched in partitions.iter() {
            // In the background: the enqueue does not wait for it.
            if batched.partition.is_large.swap(false, Ordering::Relaxed)
                && let Some(queue) = self.to_arc()
            {
                Self::grow_in_background(queue);
            }
        }
        Ok(returned)
    }

    /// Sends each partition its batch. Returns the jobs that belong to another partition now, and the
    /// highest number of partitions in the replies.
    async fn send(
        &self,
        batches: Vec<Vec<(usize, NewJob)>>,
        count: u32,
        replies: &mut [Option<Enqueued>],
    ) -> Result<(Vec<(usize, NewJob)>, u32)> {
        let timeout = self.timeout();
        let batches = batches.into_iter().enumerate();
        let batches = batches.filter(|(_, batch)| !batch.is_empty()).collect();
        let results = self.in_partitions(batches, move |batched, batch| async move {
            Ok(enqueue_batch(&batched, batch, count, timeout).await)
        });
        let (mut returned, mut most, mut failed) = (Vec::new(), count, None);
        for (results, failure) in results.await.into_iter().flatten() {
            for (at, reply) in results {
                match reply {
                    EnqueueReply::Enqueued(enqueued) => replies[at] = Some(enqueued),
                    EnqueueReply::Moved(job, actual) => {
                        most = most.max(actual);
                        returned.push((at, *job));
                    }
                }
            }
            if let Some(failure) = failure {
                failed = Some(worse(failed, failure));
            }
        }
        failed.map_or(Ok((returned, most)), Err)
    }
}

/// Sends a batch page by page. Returns the replies up to the first error, and that error.
async fn enqueue_batch(
    batched: &BatchedPartition,
    batch: Vec<(usize, NewJob)>,
    count: u32,
    timeout: Duration,
) -> (Vec<(usize, EnqueueReply)>, Option<Error>) {
    let mut replies = Vec::with_capacity(batch.len());
    for page in pages(batch) {
        let (indexes, sent): (Vec<_>, Vec<_>) =
            page.into_iter().map(|(at, job)| (at, (count, job))).unzip();
        match batched.enqueues.call_within(timeout, sent).await {
            Ok(results) => replies.extend(indexes.into_iter().zip(results)),
            Err(error) => return (replies, Some(error)),
        }
    }
    (replies, None)
}

/// The error of a call that may have stored some jobs.
fn after<'a>(mut results: impl Iterator<Item = &'a Enqueued>, failure: Error) -> Error {
    if failure.is_unknown() || results.all(Enqueued::is_duplicate) {
        return failure;
    }
    partly_applied(failure)
}

/// The partition of a job: the same for equal unique keys, and for equal ids.
pub(super) fn partition_of(job: &NewJob, count: u32) -> usize {
    if count == 1 {
        return 0;
    }
    partition_of_key(key_of(job), count)
}

/// The text that determines the partition of a job.
pub(super) fn key_of(job: &NewJob) -> &str {
    let key = job.unique_key.as_ref().map(|key| key.as_str());
    key.unwrap_or(job.id.as_str())
}

/// A hash that is the same in every process and version.
pub(super) fn partition_of_key(text: &str, count: u32) -> usize {
    // FNV-1a, then mixed: its low bits alone are poor for texts that differ at the end.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^= hash >> 32;
    usize::try_from(hash % u64::from(count)).unwrap_or_default()
}

/// Splits a batch into script calls.
fn pages(batch: Vec<(usize, NewJob)>) -> Vec<Vec<(usize, NewJob)>> {
    let mut pages = Vec::new();
    let (mut page, mut bytes) = (Vec::new(), 0);
    for (at, job) in batch {
        let weight = job.payload.len() + job.headers.bytes();
        if !page.is_empty() && (page.len() == BATCH_MAX || bytes + weight > BATCH_BYTES) {
            pages.push(std::mem::take(&mut page));
            bytes = 0;
        }
        bytes += weight;
        page.push((at, job));
    }
    if !page.is_empty() {
        pages.push(page);
    }
    pages
}

pub(super) fn batched_enqueues(partition: Arc<Partition>) -> Batcher<(u32, NewJob), EnqueueReply> {
    let weight = |(_, job): &(u32, NewJob)| job.payload.len() + job.headers.bytes();
    let progress = partition.link().progress();
    Batcher::new(limits(), weight, move |jobs| {
        let partition = Arc::clone(&partition);
        Box::pin(async move { enqueue_batched(&partition, jobs).await })
    })
    .with_progress(progress)
}

/// Stores the jobs of callers that know the highest number of partitions; jobs of the others are
/// returned as moved. The script checks whether that number is right.
async fn enqueue_batched(
    partition: &Partition,
    jobs: Vec<(u32, NewJob)>,
) -> Result<Vec<EnqueueReply>> {
    let count = jobs.iter().map(|(count, _)| *count).max().unwrap_or(1);
    let mut current = Vec::with_capacity(jobs.len());
    let mut moved = Vec::with_capacity(jobs.len());
    for (known, job) in jobs {
        if known == count {
            current.push(job);
            moved.push(None);
        } else {
            moved.push(Some(EnqueueReply::Moved(Box::new(job), count)));
        }
    }
    let results: Vec<EnqueueReply> = match enqueue_runs(partition, &current, count).await? {
        StoreReply::Moved(count) => current
            .into_iter()
            .map(|job| EnqueueReply::Moved(Box::new(job), count))
            .collect(),
        StoreReply::Stored(replies, is_large) => {
            partition.is_large.fetch_or(is_large, Ordering::Relaxed);
            replies.into_iter().map(EnqueueReply::Enqueued).collect()
        }
    };
    let mut results = results.into_iter();
    let replies = moved
        .into_iter()
        .filter_map(|moved| moved.or_else(|| results.next()));
    Ok(replies.collect())
}

/// Stores jobs whose ids may repeat: the second is a duplicate of the first.
async fn enqueue_runs(partition: &Partition, jobs: &[NewJob], count: u32) -> Result<StoreReply> {
    let (mut replies, mut is_large) = (Vec::with_capacity(jobs.len()), false);
    for run in distinct_runs(jobs.iter().map(|job| job.id.as_str())) {
        match partition.enqueue(&jobs[run], count).await {
            Err(failure) => return Err(after(replies.iter(), failure)),
            // Jobs that an earlier run stored become duplicates of themselves in their new partition.
            Ok(StoreReply::Moved(count)) => return Ok(StoreReply::Moved(count)),
            Ok(StoreReply::Stored(results, large)) => {
                replies.extend(results);
                is_large |= large;
            }
        }
    }
    Ok(StoreReply::Stored(replies, is_large))
}

pub(super) fn batched_completes(partition: Arc<Partition>) -> Batcher<Completion, OutcomeStatus> {
    let weight = |item: &Completion| item.result.as_ref().map_or(0, bytes::Bytes::len);
    let progress = partition.link().progress();
    Batcher::new(limits(), weight, move |completions| {
        let partition = Arc::clone(&partition);
        Box::pin(async move { Ok(partition.complete(&completions, None).await?.statuses) })
    })
    .with_progress(progress)
}

fn limits() -> BatchLimits {
    BatchLimits {
        items: BATCH_MAX,
        weight: BATCH_BYTES,
        // The next batch is sent while the server works on the one before.
        in_flight: 2,
    }
}
