//! enqueue: encodes jobs as script arguments and decodes the reply.

use bytes::Bytes;
use redis::Value;
use windlass_core::setting::PARTITIONS_MAX;
use windlass_core::store::DurabilityLevel;
use windlass_core::{Enqueued, Error, JobId, JobState, NewJob, Result};
use windlass_redis_link::reply::{self, unexpected_reply};

use crate::codec::names::{DUPLICATE, OWN_SPECS, STORED_READY, STORED_SCHEDULED};
use crate::codec::opts;
use crate::partition::{Partition, is_text, number_arg, text_arg};

/// The reply of one partition to a batch.
#[derive(Debug, Default)]
pub(crate) struct StoreReply {
    /// The results of the jobs stored, which are the first of the batch.
    pub(crate) results: Vec<Enqueued>,
    /// Whether the partition is so large that the queue should grow.
    pub(crate) is_large: bool,
    /// The queue has this other number of partitions: the other jobs must be distributed again.
    pub(crate) moved: Option<u32>,
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
        let is_absent = |reply: &Value| is_text(reply, b"absent");
        if replies.last().is_some_and(is_absent) {
            self.create().await.map_err(|error| (Vec::new(), error))?;
            (replies, level) = Box::pin(self.link().run_durable(&calls)).await;
        }
        let nothing = |error| (Vec::new(), error);
        let moved = replies.last().map_or(Ok(None), moved_to).map_err(nothing)?;
        if moved.is_some() {
            replies.pop();
        }
        let (level, failure) = match level {
            Ok(level) => (level, None),
            Err(error) => (DurabilityLevel::Memory, Some(error)),
        };
        let (mut results, mut is_large) = (Vec::new(), false);
        for (reply, jobs) in replies.into_iter().zip(pages) {
            match read_results(reply, jobs, level) {
                Ok((stored, large)) => {
                    results.extend(stored);
                    is_large |= large;
                }
                Err(error) => return Err((results, error)),
            }
        }
        match failure {
            Some(failure) => Err((results, failure)),
            None => Ok(StoreReply {
                results,
                is_large,
                moved,
            }),
        }
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
    let is_shared = jobs.windows(2).all(|two| two[0].has_options_of(&two[1]));
    let shared = jobs.first().filter(|_| is_shared).map(opts::spec);
    let earliest = earliest.min(latest);
    let mut args = Vec::with_capacity(6 + 3 * jobs.len());
    args.push(number_arg(earliest));
    args.push(number_arg(latest - earliest));
    args.push(number_arg(partitions));
    args.push(shared.map_or_else(|| text_arg(OWN_SPECS), Bytes::from));
    for job in jobs {
        args.push(text_arg(job.id.as_str()));
        args.push(job.payload.clone());
        if !is_shared {
            args.push(Bytes::from(opts::spec(job)));
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
