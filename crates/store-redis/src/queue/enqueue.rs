//! Distributes jobs over the partitions, and batches enqueues and completions.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use windlass_core::store::Completion;
use windlass_core::{Enqueued, Error, NewJob, OutcomeStatus, Result};
use windlass_redis_link::{Link, deadline};

use super::{BATCH_BYTES, BATCH_MAX, EnqueueReply, Queue, disagreement, partly_applied, worse};
use crate::batcher::{BatchLimits, Batcher, aborted};
use crate::codec::opts;
use crate::partition::{Partition, distinct_runs};

/// How often jobs are sent again because the queue grew meanwhile.
pub(super) const SENDS_MAX: usize = 20;

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
        let mut gone = Vec::new();
        for ((at, job), existing) in jobs.into_iter().zip(existing) {
            match existing {
                None => batches[partition_of(&job, count)].push((at, job)),
                Some((number, existing)) if opts::amends(&job) && is_waiting(&existing) => {
                    replies[at] = partitions[number].amend_existing(&job, count).await?;
                    if replies[at].is_none() {
                        gone.push((at, job));
                    }
                }
                Some((_, existing)) => replies[at] = Some(existing),
            }
        }
        let (mut returned, most) = self.send(batches, count, replies).await?;
        if !returned.is_empty() {
            self.agree(count, most).await?;
        }
        returned.extend(gone);
        returned.sort_by_key(|(at, _)| *at);
        for partition in partitions.iter() {
            // In the background: the enqueue does not wait for it.
            if partition.is_large.swap(false, Ordering::Relaxed)
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
        let until = self.until();
        let batches = batches.into_iter().enumerate();
        let batches = batches.filter(|(_, batch)| !batch.is_empty()).collect();
        let results = self.in_partitions(batches, move |partition, batch| async move {
            let (indexes, jobs): (Vec<_>, Vec<_>) = batch
                .into_iter()
                .map(|(at, job)| (at, (count, job)))
                .unzip();
            let results = partition.enqueues.call_until(until, jobs).await?;
            Ok(indexes.into_iter().zip(results))
        });
        let (mut returned, mut most, mut failed) = (Vec::new(), count, None);
        for results in results.await {
            let results = match results {
                Ok(results) => results,
                Err(failure) => {
                    failed = Some(worse(failed, failure));
                    continue;
                }
            };
            for (at, reply) in results {
                match reply {
                    EnqueueReply::Enqueued(enqueued) => replies[at] = Some(enqueued),
                    EnqueueReply::Moved(job, actual) => {
                        most = most.max(actual);
                        returned.push((at, *job));
                    }
                }
            }
        }
        failed.map_or(Ok((returned, most)), Err)
    }
}

/// Whether a job exists that an enqueue can replace or postpone.
fn is_waiting(existing: &Enqueued) -> bool {
    existing.is_duplicate() && existing.state().is_waiting()
}

/// The error of a call that may have stored some jobs.
fn after<'a>(mut results: impl Iterator<Item = &'a Enqueued>, failure: Error) -> Error {
    if failure.is_unknown() || results.all(Enqueued::is_duplicate) {
        return failure;
    }
    partly_applied(failure)
}

/// The partition of a job: the same for equal groups; without one for equal unique keys, then ids.
pub(super) fn partition_of(job: &NewJob, count: u32) -> usize {
    if count == 1 {
        return 0;
    }
    partition_of_key(key_of(job), count)
}

/// The text that determines the partition of a job.
pub(super) fn key_of(job: &NewJob) -> &str {
    let group = job.group.as_ref().map(|group| group.as_str());
    let key = job.unique_key.as_ref().map(|key| key.as_str());
    group.or(key).unwrap_or(job.id.as_str())
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

/// Splits a batch into script calls. An id occurs only once in each: the second is a duplicate of the
/// first.
fn pages(jobs: &[NewJob]) -> Vec<&[NewJob]> {
    let mut pages = Vec::new();
    for run in distinct_runs(jobs.iter().map(|job| job.id.as_str())) {
        let (mut start, mut bytes) = (run.start, 0);
        for at in run.clone() {
            let weight = weight(&jobs[at]);
            if at > start && (at - start == BATCH_MAX || bytes + weight > BATCH_BYTES) {
                pages.push(&jobs[start..at]);
                (start, bytes) = (at, 0);
            }
            bytes += weight;
        }
        pages.push(&jobs[start..run.end]);
    }
    pages
}

pub(crate) fn weight(job: &NewJob) -> usize {
    job.payload.len() + job.headers.bytes()
}

pub(crate) fn result_bytes(completion: &Completion) -> usize {
    completion.result.as_ref().map_or(0, bytes::Bytes::len)
}

/// Batches the calls of one verb. A call with more items than a page is a batch of its own, so that it
/// waits once for durability.
pub(crate) fn batched<T, R, F>(
    link: &Link,
    partition: &Weak<Partition>,
    weigh: fn(&T) -> usize,
    run: fn(Arc<Partition>, Vec<T>) -> F,
) -> Batcher<T, R>
where
    T: Send + 'static,
    R: Send + 'static,
    F: Future<Output = Result<Vec<R>>> + Send + 'static,
{
    let limits = BatchLimits {
        items: BATCH_MAX,
        weight: BATCH_BYTES,
        // The next batch is sent while the server works on the one before.
        in_flight: 2,
    };
    let timeout = link.address().timeout;
    let partition = Weak::clone(partition);
    Batcher::new(limits, link.progress(), weigh, move |items: Vec<T>| {
        let bytes = items.iter().map(weigh).sum();
        let partition = partition.upgrade();
        async move {
            // Whatever waits for the results holds the partition.
            let partition = partition.ok_or_else(aborted)?;
            deadline::within(timeout, bytes, run(partition, items)).await
        }
    })
}

/// Stores the jobs of callers that know the highest number of partitions; jobs of the others are
/// returned as moved. The script checks whether that number is right.
pub(crate) async fn enqueue_batched(
    partition: Arc<Partition>,
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
    let stored = partition.enqueue(&pages(&current), count).await;
    let stored = stored.map_err(|(results, failure)| after(results.iter(), failure))?;
    partition
        .is_large
        .fetch_or(stored.is_large, Ordering::Relaxed);
    let moved_to = stored.moved.unwrap_or(count);
    let left = current.into_iter().skip(stored.results.len());
    let left = left.map(|job| EnqueueReply::Moved(Box::new(job), moved_to));
    let results = stored.results.into_iter().map(EnqueueReply::Enqueued);
    let mut results = results.chain(left);
    let replies = moved
        .into_iter()
        .filter_map(|moved| moved.or_else(|| results.next()));
    Ok(replies.collect())
}

pub(crate) async fn complete_batched(
    partition: Arc<Partition>,
    completions: Vec<Completion>,
) -> Result<Vec<OutcomeStatus>> {
    Ok(partition.complete(&completions, None).await?.statuses)
}
