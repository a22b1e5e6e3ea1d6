//! enqueue: encodes jobs as script arguments and decodes the reply.

use bytes::Bytes;
use redis::Value;
use windlass_core::setting::PARTITIONS_MAX;
use windlass_core::{DurabilityLevel, Enqueued, JobId, JobState, NewJob, Result};

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
    /// Stores jobs in this partition. `partitions` is the number that the caller knows of.
    pub(crate) async fn enqueue(&self, jobs: &[NewJob], partitions: u32) -> Result<StoreReply> {
        let script = &self.scripts().enqueue;
        let (mut reply, mut level) = self.run_covered(script, args(jobs, partitions)).await?;
        if is_text(&reply, b"absent") {
            self.create().await?;
            (reply, level) = self.run_covered(script, args(jobs, partitions)).await?;
        }
        if let Some(count) = moved_to(&reply)? {
            return Ok(StoreReply::Moved(count));
        }
        let (results, is_large) = read_results(reply, jobs, level)?;
        Ok(StoreReply::Stored(results, is_large))
    }
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
