//! enqueue: encodes jobs as script arguments and decodes the reply.

use bytes::Bytes;
use redis::Value;
use windlass_core::setting::PARTITIONS_MAX;
use windlass_core::{DurabilityLevel, Enqueued, Error, JobId, JobState, NewJob, Result};

use crate::codec::names::{DUPLICATE, OWN_SPECS, STORED_READY, STORED_SCHEDULED};
use crate::codec::opts;
use crate::partition::{Partition, is_text, number_arg, text_arg};
use crate::reply::{self, unexpected_reply};

/// The reply of one partition to a batch.
#[derive(Debug)]
pub(crate) enum StoreReply {
    /// The result of each job, and whether the partition is so large that the queue should grow.
    Stored(Vec<Enqueued>, bool),
    /// The queue has this other number of partitions: the batch must be distributed again.
    Moved(u32),
}

impl Partition {
    /// Stores the jobs of some pages, one script call each, in this partition. `partitions` is the number
    /// that the caller knows of. Returns with an error the results of the pages before it.
    pub(crate) async fn enqueue(
        &self,
        pages: &[&[NewJob]],
        partitions: u32,
    ) -> Result<StoreReply, (Vec<Enqueued>, Error)> {
        let script = &self.scripts().enqueue;
        let calls = pages.iter();
        let calls = calls.map(|jobs| self.repeatable_call(script, args(jobs, partitions)));
        let (calls, _slots): (Vec<_>, Vec<_>) = calls.unzip();
        let (mut replies, mut level) = Box::pin(self.link().run_durable(&calls)).await;
        if replies
            .last()
            .is_some_and(|reply| is_text(reply, b"absent"))
        {
            self.create().await.map_err(|error| (Vec::new(), error))?;
            (replies, level) = Box::pin(self.link().run_durable(&calls)).await;
        }
        let (level, failure) = match level {
            Ok(level) => (level, None),
            Err(error) => (DurabilityLevel::Memory, Some(error)),
        };
        let (mut results, mut is_large) = (Vec::new(), false);
        for (reply, jobs) in replies.into_iter().zip(pages) {
            match read_page(reply, jobs, level) {
                Ok(StoreReply::Stored(stored, large)) => {
                    results.extend(stored);
                    is_large |= large;
                }
                // Jobs that an earlier page stored become duplicates of themselves in their new partition.
                Ok(moved @ StoreReply::Moved(_)) => return Ok(moved),
                Err(error) => return Err((results, error)),
            }
        }
        match failure {
            None => Ok(StoreReply::Stored(results, is_large)),
            Some(failure) => Err((results, failure)),
        }
    }
}

fn read_page(reply: Value, jobs: &[NewJob], level: DurabilityLevel) -> Result<StoreReply> {
    if let Some(count) = moved_to(&reply)? {
        return Ok(StoreReply::Moved(count));
    }
    let (results, is_large) = read_results(reply, jobs, level)?;
    Ok(StoreReply::Stored(results, is_large))
}

/// The result of each job, and whether the partition is large.
fn read_results(
    reply: Value,
    jobs: &[NewJob],
    level: DurabilityLevel,
) -> Result<(Vec<Enqueued>, bool)> {
    let Value::Array(mut items) = reply else {
        return Err(unexpected_reply("it is not a list"));
    };
    let is_large = items.pop_if(|last| is_text(last, b"grow")).is_some();
    if let [all] = items.as_slice()
        && is_text(all, STORED_READY.as_bytes())
    {
        let ready = jobs.iter().map(|job| accepted(job, JobState::Ready, level));
        return Ok((ready.collect(), is_large));
    }
    if items.len() != jobs.len() {
        let (expected, got) = (jobs.len(), items.len());
        return Err(unexpected_reply(&format!(
            "expected {expected} replies, got {got}"
        )));
    }
    let results = items.into_iter().zip(jobs);
    let results = results.map(|(item, job)| result(&reply::text(item)?, job, level));
    Ok((results.collect::<Result<_>>()?, is_large))
}

fn args(jobs: &[NewJob], partitions: u32) -> Vec<Bytes> {
    let (mut earliest, mut latest) = (u64::MAX, 0);
    for job in jobs.iter().filter(|job| !job.is_named) {
        // If an id contains no time, the script stores the time of every job.
        let ms = opts::ulid_ms(&job.id, false).unwrap_or_default();
        (earliest, latest) = (earliest.min(ms), latest.max(ms));
    }
    let specs: Vec<String> = jobs.iter().map(opts::spec).collect();
    let shared = specs
        .first()
        .filter(|first| specs.iter().all(|spec| spec == *first));
    let has_own = shared.is_none() && !specs.is_empty();
    let earliest = earliest.min(latest);
    let mut args = Vec::with_capacity(6 + 3 * jobs.len());
    args.push(number_arg(earliest));
    args.push(number_arg(latest - earliest));
    args.push(number_arg(partitions));
    args.push(text_arg(shared.map_or(OWN_SPECS, String::as_str)));
    for (job, spec) in jobs.iter().zip(specs) {
        args.push(Bytes::copy_from_slice(job.id.as_str().as_bytes()));
        args.push(job.payload.clone());
        if has_own {
            args.push(Bytes::from(spec));
        }
    }
    args
}

/// The number of partitions in the reply `moved N`.
fn moved_to(reply: &Value) -> Result<Option<u32>> {
    let text = match reply {
        Value::BulkString(bytes) => bytes.as_slice(),
        Value::SimpleString(text) => text.as_bytes(),
        _ => return Ok(None),
    };
    let Some(count) = text.strip_prefix(b"moved ") else {
        return Ok(None);
    };
    let count = str::from_utf8(count)
        .ok()
        .and_then(|text| text.parse().ok());
    let count = count.filter(|count| *count <= PARTITIONS_MAX);
    count
        .map(Some)
        .ok_or_else(|| unexpected_reply("it has an invalid number of partitions"))
}

fn accepted(job: &NewJob, state: JobState, level: DurabilityLevel) -> Enqueued {
    Enqueued::Accepted {
        id: job.id.clone(),
        state,
        level,
    }
}

fn result(text: &str, job: &NewJob, level: DurabilityLevel) -> Result<Enqueued> {
    match text {
        STORED_READY => Ok(accepted(job, JobState::Ready, level)),
        STORED_SCHEDULED => Ok(accepted(job, JobState::Scheduled, level)),
        _ => duplicate(text, level),
    }
}

/// Decodes the reply about an existing job: `DUPLICATE`, its state, a space and its id.
pub(crate) fn duplicate(text: &str, level: DurabilityLevel) -> Result<Enqueued> {
    let existing = text.strip_prefix(DUPLICATE);
    let existing = existing.and_then(|rest| rest.split_once(' '));
    let (state, id) = existing.ok_or_else(|| unexpected_reply("it has an unknown status"))?;
    Ok(Enqueued::Duplicate {
        id: JobId::new(id)?,
        state: JobState::from_text(state)
            .ok_or_else(|| unexpected_reply("it has an unknown state"))?,
        level,
    })
}
