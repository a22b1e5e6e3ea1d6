//! enqueue: jobs into arguments, words into answers.

use bytes::Bytes;
use redis::Value;
use windlass_core::setting::PARTITIONS_MAX;
use windlass_core::{DurabilityLevel, Enqueued, JobId, JobState, NewJob, Result};

use crate::codec::opts;
use crate::partition::{Part, is_word, number, words};
use crate::reply::{self, short};

/// What one part said to a batch.
#[derive(Debug)]
pub(crate) enum Stored {
    /// Each job's answer, and whether the part is so large that the queue should have more.
    Answered(Vec<Enqueued>, bool),
    /// The queue has another number of parts, which is this: the batch must be dealt out anew.
    Moved(u32),
}

impl Part {
    /// Stores jobs in this part, which the caller believes to be one of `partitions`.
    pub(crate) async fn enqueue(&self, jobs: &[NewJob], partitions: u32) -> Result<Stored> {
        let script = &self.scripts().enqueue;
        let (mut reply, mut level) = self.run_covered(script, args(jobs, partitions)).await?;
        if is_word(&reply, b"absent") {
            self.make().await?;
            (reply, level) = self.run_covered(script, args(jobs, partitions)).await?;
        }
        if let Some(count) = moved_to(&reply)? {
            return Ok(Stored::Moved(count));
        }
        let (answers, is_large) = read_answers(reply, jobs, level)?;
        Ok(Stored::Answered(answers, is_large))
    }
}

/// Each job's answer, and whether the part is large.
fn read_answers(
    reply: Value,
    jobs: &[NewJob],
    level: DurabilityLevel,
) -> Result<(Vec<Enqueued>, bool)> {
    let Value::Array(mut items) = reply else {
        return Err(short("it is no list of answers"));
    };
    let is_large = items.pop_if(|last| is_word(last, b"grow")).is_some();
    if let [all] = items.as_slice()
        && is_word(all, b"r")
    {
        let ready = jobs.iter().map(|job| accepted(job, JobState::Ready, level));
        return Ok((ready.collect(), is_large));
    }
    if items.len() != jobs.len() {
        return Err(short("it has not as many answers as there were jobs"));
    }
    let answers = items.into_iter().zip(jobs);
    let answers = answers.map(|(word, job)| answer(&reply::text(word)?, job, level));
    Ok((answers.collect::<Result<_>>()?, is_large))
}

fn args(jobs: &[NewJob], partitions: u32) -> Vec<Bytes> {
    let (mut earliest, mut latest) = (u64::MAX, 0);
    for job in jobs.iter().filter(|job| !job.is_named) {
        // An id that carries no time makes the script write down the time of every job.
        let ms = opts::ulid_ms(&job.id, false).unwrap_or_default();
        (earliest, latest) = (earliest.min(ms), latest.max(ms));
    }
    let specs: Vec<String> = jobs.iter().map(opts::spec).collect();
    let same = specs
        .first()
        .filter(|first| specs.iter().all(|spec| spec == *first));
    let has_own = same.is_none() && !specs.is_empty();
    let mut args = Vec::with_capacity(5 + 3 * jobs.len());
    args.push(number(if latest == 0 { 0 } else { earliest }));
    args.push(number(latest));
    args.push(Bytes::from_static(b"1"));
    args.push(number(partitions));
    args.push(same.map_or(Bytes::from_static(b"s"), |same| words(same)));
    for (job, spec) in jobs.iter().zip(specs) {
        args.push(Bytes::copy_from_slice(job.id.as_str().as_bytes()));
        args.push(job.payload.clone());
        if has_own {
            args.push(Bytes::from(spec));
        }
    }
    args
}

/// The number of parts in the answer `moved N`.
fn moved_to(reply: &Value) -> Result<Option<u32>> {
    let word = match reply {
        Value::BulkString(bytes) => bytes.as_slice(),
        Value::SimpleString(text) => text.as_bytes(),
        _ => return Ok(None),
    };
    let Some(count) = word.strip_prefix(b"moved ") else {
        return Ok(None);
    };
    let count = str::from_utf8(count)
        .ok()
        .and_then(|text| text.parse().ok());
    let count = count.filter(|count| *count <= PARTITIONS_MAX);
    count
        .map(Some)
        .ok_or_else(|| short("it names no number of parts"))
}

fn accepted(job: &NewJob, state: JobState, level: DurabilityLevel) -> Enqueued {
    Enqueued::Accepted {
        id: job.id.clone(),
        state,
        level,
    }
}

fn answer(word: &str, job: &NewJob, level: DurabilityLevel) -> Result<Enqueued> {
    match word {
        "r" => Ok(accepted(job, JobState::Ready, level)),
        "s" => Ok(accepted(job, JobState::Scheduled, level)),
        _ => duplicate(word, level),
    }
}

/// The answer `=STATE ID`.
pub(crate) fn duplicate(word: &str, level: DurabilityLevel) -> Result<Enqueued> {
    let first = word.strip_prefix('=').and_then(|rest| rest.split_once(' '));
    let (state, id) = first.ok_or_else(|| short("an answer in it is none"))?;
    Ok(Enqueued::Duplicate {
        id: JobId::new(id)?,
        state: JobState::from_text(state).ok_or_else(|| short("a state in it is none"))?,
        level,
    })
}
