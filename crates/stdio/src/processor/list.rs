//! What is asked about queues: `list_queue_jobs`, `_dispatched`, `_progress` and `_workers`.

use std::collections::HashMap;

use serde::Serialize;
use windlass_api::timestamp;
use windlass_core::{
    Cursor, Error, Filter, Job, JobId, JobState, QueueName, Result, Timestamp, WorkerRecord,
};

use super::Processor;
use super::envelope::Payload;
use super::topic::Op;
use crate::reply::{Answer, fields};

/// How many there are on one page unless said, and at most.
const LIMIT_DEFAULT: usize = 100;
const LIMIT_MAX: usize = 500;

/// How many pages of the store are looked through for one of ours.
const PAGES_MAX: usize = 20;

#[derive(Serialize)]
struct JobsAnswer<'a> {
    queue_name: &'a str,
    jobs: Vec<ListedJob>,
    /// Where the next page begins; nothing at the end.
    cursor: Option<String>,
}

#[derive(Serialize)]
struct WorkersAnswer<'a> {
    queue_name: &'a str,
    workers: Vec<ListedWorker>,
}

#[derive(Serialize)]
struct ListedJob {
    uuid: String,
    queue_name: String,
    state: &'static str,
    priority: u8,
    created_at: String,
    dispatched_at: Option<String>,
    accepted_at: Option<String>,
    last_progress_at: Option<String>,
    progress: Option<f64>,
    worker: Option<String>,
    finished_at: Option<String>,
}

#[derive(Serialize)]
struct ListedWorker {
    worker: String,
    name: String,
    host: String,
    state: &'static str,
    last_seen_at: String,
    uuid: Option<String>,
    accepted_at: Option<String>,
    last_progress_at: Option<String>,
    progress: Option<f64>,
}

/// Bounds of a time; both are left out.
#[derive(Debug, Default)]
struct Between {
    later_than: Option<Timestamp>,
    earlier_than: Option<Timestamp>,
}

impl Between {
    fn read(payload: &Payload<'_>) -> Result<Self> {
        Ok(Self {
            later_than: bound(payload, "later_than")?,
            earlier_than: bound(payload, "earlier_than")?,
        })
    }

    fn has(&self, at: Timestamp) -> bool {
        self.later_than.is_none_or(|bound| at > bound)
            && self.earlier_than.is_none_or(|bound| at < bound)
    }
}

/// A moment in any form that doors read; infinities are no bound.
fn bound(payload: &Payload<'_>, name: &str) -> Result<Option<Timestamp>> {
    let Some(raw) = payload.fields.raw(name) else {
        return Ok(None);
    };
    let text = match serde_json::from_str(raw.get()) {
        Ok(text) => text,
        // A number.
        Err(_) => raw.get().to_owned(),
    };
    match text.as_str() {
        "null" | "-inf" | "+inf" | "inf" => Ok(None),
        text => timestamp::parse(text).map(Some),
    }
}

impl Processor {
    pub(super) async fn list(&self, op: Op, queue: &QueueName, payload: &Payload<'_>) -> Answer {
        let between = Between::read(payload)?;
        if op == Op::ListWorkers {
            return self.list_workers(queue, &between).await;
        }
        let limit: Option<usize> = payload.fields.get("limit")?;
        let limit = limit.unwrap_or(LIMIT_DEFAULT);
        if limit == 0 {
            return Err(Error::invalid("limit", "it is 0", "ask for at least 1").into());
        }
        let limit = limit.min(LIMIT_MAX);
        let word: Option<String> = payload.fields.get("state")?;
        let asked = word.as_deref().map(state_of).transpose()?;
        let filter = Filter {
            state: match op {
                Op::ListJobs => asked,
                _ => Some(JobState::Running),
            },
            kind: None,
        };
        let mut from = payload.fields.get("cursor")?.map(Cursor);
        let mut jobs = Vec::new();
        for _ in 0..PAGES_MAX {
            let room = limit - jobs.len();
            let page = self.store.list(queue, &filter, from, room).await?;
            let is_meant = |job: &Job| match op {
                Op::ListDispatched => job.accepted_at.is_none(),
                Op::ListProgress => job.accepted_at.is_some(),
                _ => true,
            };
            let is_in_state = |job: &Job| word.as_deref().is_none_or(|word| state(job) == word);
            let found = page.items.into_iter().filter(is_meant);
            let found = found.filter(is_in_state);
            jobs.extend(found.filter(|job| between.has(time_of(op, job))));
            from = page.next;
            if from.is_none() || jobs.len() >= limit {
                break;
            }
        }
        fields(&JobsAnswer {
            queue_name: queue.as_str(),
            jobs: jobs.into_iter().map(ListedJob::from).collect(),
            cursor: from.map(|from| from.0),
        })
    }

    async fn list_workers(&self, queue: &QueueName, between: &Between) -> Answer {
        let (workers, now) = self.group().await?;
        let holders: HashMap<_, _> = self.holders(queue).await?.into_iter().collect();
        let mut listed = Vec::new();
        for worker in workers {
            let is_meant = worker.new.queues.contains(queue)
                && !self.is_expired(&worker, now)
                && between.has(worker.last_seen);
            if is_meant {
                let runs = worker.running.iter().find(|(running, _)| running == queue);
                let offered = holders.get(&worker.new.boot);
                let id = runs.map(|(_, id)| id).or(offered).cloned();
                let job = match &id {
                    Some(id) => self.store.get(queue, id).await?,
                    None => None,
                };
                listed.push(ListedWorker::new(worker, id.as_ref(), job.as_ref()));
            }
        }
        fields(&WorkersAnswer {
            queue_name: queue.as_str(),
            workers: listed,
        })
    }
}

/// The time that the bounds of a listing speak of.
fn time_of(op: Op, job: &Job) -> Timestamp {
    let at = match op {
        Op::ListDispatched => job.started_at,
        Op::ListProgress => job
            .progress
            .as_ref()
            .map(|done| done.at)
            .or(job.accepted_at),
        _ => Some(job.created_at),
    };
    at.unwrap_or_default()
}

/// Where a job is, in the words of this door.
fn state(job: &Job) -> &'static str {
    match job.state {
        JobState::Ready => "queued",
        JobState::Running if job.accepted_at.is_none() => "dispatched",
        JobState::Running if job.progress.is_none() => "accepted",
        JobState::Running => "processing",
        JobState::Succeeded => "finished",
        state => state.as_str(),
    }
}

/// The store's state behind a word of this door.
fn state_of(word: &str) -> Result<JobState> {
    match word {
        "queued" => Ok(JobState::Ready),
        "dispatched" | "accepted" | "processing" => Ok(JobState::Running),
        "finished" => Ok(JobState::Succeeded),
        "scheduled" => Ok(JobState::Scheduled),
        "dead" => Ok(JobState::Dead),
        "cancelled" => Ok(JobState::Cancelled),
        _ => Err(Error::invalid(
            "state",
            format!("{:?}", word.chars().take(40).collect::<String>()),
            "use queued, scheduled, dispatched, accepted, processing, finished, dead or cancelled",
        )),
    }
}

impl From<Job> for ListedJob {
    fn from(job: Job) -> Self {
        let progress = job.progress.as_ref();
        Self {
            state: state(&job),
            priority: job.priority.level(),
            created_at: timestamp::format(job.created_at),
            dispatched_at: job.started_at.map(timestamp::format),
            accepted_at: job.accepted_at.map(timestamp::format),
            last_progress_at: progress.map(|progress| timestamp::format(progress.at)),
            progress: progress.map(|progress| progress.fraction),
            worker: job.worker.as_ref().map(ToString::to_string),
            finished_at: job.finished_at.map(timestamp::format),
            uuid: job.id.to_string(),
            queue_name: job.queue.to_string(),
        }
    }
}

impl ListedWorker {
    /// A worker and the job it says it runs or is offered.
    fn new(worker: WorkerRecord, id: Option<&JobId>, job: Option<&Job>) -> Self {
        let progress = job.and_then(|job| job.progress.as_ref());
        let accepted_at = job.and_then(|job| job.accepted_at);
        Self {
            state: if id.is_some() { "busy" } else { "idle" },
            last_seen_at: timestamp::format(worker.last_seen),
            uuid: id.map(ToString::to_string),
            accepted_at: accepted_at.map(timestamp::format),
            last_progress_at: progress.map(|progress| timestamp::format(progress.at)),
            progress: progress.map(|progress| progress.fraction),
            worker: worker.new.boot.to_string(),
            name: worker.new.name,
            host: worker.new.host,
        }
    }
}
