//! enqueue: jobs into arguments, words into answers.

use bytes::Bytes;
use redis::Value;
use windlass_core::{Enqueued, JobId, JobState, Level, NewJob, Result};

use crate::codec::opts;
use crate::part::{Part, is_word, number};
use crate::reply::{self, short};

/// What one part said to a batch.
#[derive(Debug)]
pub(crate) enum Stored {
    /// Each job's answer, and whether the part is so large that the queue should have more.
    Answered(Vec<Enqueued>, bool),
    /// The queue has another number of parts: the batch must be dealt out anew.
    Moved,
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
        if is_moved(&reply) {
            return Ok(Stored::Moved);
        }
        let Value::Array(mut items) = reply else {
            return Err(short("it is no list of answers"));
        };
        let is_large = items.len() == jobs.len() + 1 && items.pop().is_some();
        if items.len() != jobs.len() {
            return Err(short("it has not as many answers as there were jobs"));
        }
        let answers = items.into_iter().zip(jobs);
        let answers = answers.map(|(word, job)| answer(&reply::text(word)?, job, level));
        Ok(Stored::Answered(answers.collect::<Result<_>>()?, is_large))
    }
}

fn args(jobs: &[NewJob], partitions: u32) -> Vec<Bytes> {
    let (mut earliest, mut latest) = (u64::MAX, 0);
    for job in jobs.iter().filter(|job| !job.is_named) {
        // An id that carries no time makes the script write down the time of every job.
        let ms = opts::ulid_ms(&job.id, false).unwrap_or_default();
        (earliest, latest) = (earliest.min(ms), latest.max(ms));
    }
    let mut args = Vec::with_capacity(4 + 3 * jobs.len());
    args.push(number(if latest == 0 { 0 } else { earliest }));
    args.push(number(latest));
    args.push(Bytes::from_static(b"1"));
    args.push(number(partitions));
    for job in jobs {
        args.push(Bytes::copy_from_slice(job.id.as_str().as_bytes()));
        args.push(job.payload.clone());
        args.push(Bytes::from(opts::spec(job)));
    }
    args
}

fn is_moved(reply: &Value) -> bool {
    match reply {
        Value::BulkString(bytes) => bytes.starts_with(b"moved "),
        Value::SimpleString(text) => text.starts_with("moved "),
        _ => false,
    }
}

fn answer(word: &str, job: &NewJob, level: Level) -> Result<Enqueued> {
    let accepted = |state| Enqueued::Accepted {
        id: job.id.clone(),
        state,
        level,
    };
    match word {
        "r" => Ok(accepted(JobState::Ready)),
        "s" => Ok(accepted(JobState::Scheduled)),
        _ => duplicate(word, level),
    }
}

/// The answer `=STATE ID`.
pub(crate) fn duplicate(word: &str, level: Level) -> Result<Enqueued> {
    let first = word.strip_prefix('=').and_then(|rest| rest.split_once(' '));
    let (state, id) = first.ok_or_else(|| short("an answer in it is none"))?;
    Ok(Enqueued::Duplicate {
        id: JobId::new(id)?,
        state: JobState::from_word(state).ok_or_else(|| short("a state in it is none"))?,
        level,
    })
}
