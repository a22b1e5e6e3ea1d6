//! Lists: `list_queue_jobs`, `list_queue_dispatched`, `list_queue_progress` and `list_queue_workers`.

use std::collections::HashMap;

use serde::Serialize;
use windlass_api::timestamp;
use windlass_core::store::{Cursor, WorkerRecord};
use windlass_core::{Error, Filter, Job, JobId, JobState, QueueName, Result, Timestamp};

use super::Processor;
use super::envelope::Payload;
use super::reply::{ReplyResult, fields};
use super::topic::Op;

/// The default and the maximum page size.
const LIMIT_DEFAULT: usize = 100;
const LIMIT_MAX: usize = 500;

/// How many pages of the store are scanned to fill one page.
const PAGES_MAX: usize = 20;

#[derive(Serialize)]
struct JobsReply<'a> {
    queue_name: &'a str,
    jobs: Vec<ListedJob>,
    /// The start of the next page; null on the last page.
    cursor: Option<String>,
}

#[derive(Serialize)]
struct WorkersReply<'a> {
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

/// An exclusive time range.
#[derive(Debug, Default)]
struct TimeRange {
    later_than: Option<Timestamp>,
    earlier_than: Option<Timestamp>,
}

impl TimeRange {
    fn parse(payload: &Payload<'_>) -> Result<Self> {
        Ok(Self {
            later_than: bound(payload, "later_than")?,
            earlier_than: bound(payload, "earlier_than")?,
        })
    }

    fn contains(&self, at: Timestamp) -> bool {
        self.later_than.is_none_or(|bound| at > bound)
            && self.earlier_than.is_none_or(|bound| at < bound)
    }
}

/// Parses a time in any supported format. Null and infinities mean no bound.
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
    pub(super) async fn list(
        &self,
        op: Op,
        queue: &QueueName,
        payload: &Payload<'_>,
    ) -> ReplyResult {
        let range = TimeRange::parse(payload)?;
        if op == Op::ListWorkers {
            return self.list_workers(queue, &range).await;
        }
        let limit: Option<usize> = payload.fields.get("limit")?;
        let limit = limit.unwrap_or(LIMIT_DEFAULT);
        if limit == 0 {
            return Err(
                Error::invalid("limit", "0 is too small; minimum 1", "use 1 to 500").into(),
            );
        }
        let limit = limit.min(LIMIT_MAX);
        let wanted: Option<String> = payload.fields.get("state")?;
        let state_filter = wanted.as_deref().map(parse_state).transpose()?;
        let filter = Filter {
            state: match op {
                Op::ListJobs => state_filter,
                _ => Some(JobState::Running),
            },
            ..Filter::default()
        };
        let mut from = payload.fields.get("cursor")?.map(Cursor);
        let mut jobs = Vec::new();
        for _ in 0..PAGES_MAX {
            let room = limit - jobs.len();
            let page = self.store.list(queue, &filter, from, room).await?;
            let is_listed = |job: &Job| match op {
                Op::ListDispatched => job.accepted_at.is_none(),
                Op::ListProgress => job.accepted_at.is_some(),
                _ => true,
            };
            let is_in_state = |job: &Job| {
                let wanted = wanted.as_deref();
                wanted.is_none_or(|wanted| state_name(job) == wanted)
            };
            let found = page.items.into_iter().filter(is_listed);
            let found = found.filter(is_in_state);
            jobs.extend(found.filter(|job| range.contains(time_of(op, job))));
            from = page.next;
            if from.is_none() || jobs.len() >= limit {
                break;
            }
        }
        if filter.state.is_none() {
            // Stores do not agree on an order of all jobs.
            jobs.sort_by(|one, other| one.id.cmp(&other.id));
        }
        fields(&JobsReply {
            queue_name: queue.as_str(),
            jobs: jobs.into_iter().map(ListedJob::from).collect(),
            cursor: from.map(|from| from.0),
        })
    }

    async fn list_workers(&self, queue: &QueueName, range: &TimeRange) -> ReplyResult {
        let (workers, now) = self.workers_and_time().await?;
        let holders: HashMap<_, _> = self.holders(queue).await?.into_iter().collect();
        let mut listed = Vec::new();
        for worker in workers {
            let is_listed = worker.new.queues.contains(queue)
                && !self.is_expired(&worker, now)
                && range.contains(worker.last_seen);
            if is_listed {
                let accepted = worker.running.iter().find(|(running, _)| running == queue);
                let offered = holders.get(&worker.new.boot);
                let id = accepted.map(|(_, id)| id).or(offered).cloned();
                let job = match &id {
                    Some(id) => self.store.get(queue, id).await?,
                    None => None,
                };
                listed.push(ListedWorker::new(worker, id.as_ref(), job.as_ref()));
            }
        }
        fields(&WorkersReply {
            queue_name: queue.as_str(),
            workers: listed,
        })
    }
}

/// Returns the time of a job that the time range applies to.
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

/// Returns the Processor Job Queue's name for the state of a job.
fn state_name(job: &Job) -> &'static str {
    match job.state {
        JobState::Ready => "queued",
        JobState::Running if job.accepted_at.is_none() => "dispatched",
        JobState::Running if job.progress.is_none() => "accepted",
        JobState::Running => "processing",
        JobState::Succeeded => "finished",
        state => state.as_str(),
    }
}

/// Parses the Processor Job Queue's name of a state.
fn parse_state(name: &str) -> Result<JobState> {
    match name {
        "queued" => Ok(JobState::Ready),
        "dispatched" | "accepted" | "processing" => Ok(JobState::Running),
        "finished" => Ok(JobState::Succeeded),
        "pending" => Ok(JobState::Pending),
        "scheduled" => Ok(JobState::Scheduled),
        "dead" => Ok(JobState::Dead),
        "cancelled" => Ok(JobState::Cancelled),
        _ => Err(Error::invalid(
            "state",
            format!(
                "unknown name {:?}",
                name.chars().take(40).collect::<String>()
            ),
            "use queued, pending, scheduled, dispatched, accepted, processing, finished, dead or cancelled",
        )),
    }
}

impl From<Job> for ListedJob {
    fn from(job: Job) -> Self {
        let progress = job.progress.as_ref();
        Self {
            state: state_name(&job),
            priority: job.priority.level(),
            created_at: timestamp::format(job.created_at),
            dispatched_at: job.started_at.map(timestamp::format),
            accepted_at: job.accepted_at.map(timestamp::format),
            last_progress_at: progress.map(|progress| timestamp::format(progress.at)),
            progress: progress.map(|progress| progress.fraction.get()),
            worker: job.worker.as_ref().map(ToString::to_string),
            finished_at: job.finished_at.map(timestamp::format),
            uuid: job.id.to_string(),
            queue_name: job.queue.to_string(),
        }
    }
}

impl ListedWorker {
    /// A worker and the job it runs or is offered.
    fn new(worker: WorkerRecord, id: Option<&JobId>, job: Option<&Job>) -> Self {
        let progress = job.and_then(|job| job.progress.as_ref());
        let accepted_at = job.and_then(|job| job.accepted_at);
        Self {
            state: if id.is_some() { "busy" } else { "idle" },
            last_seen_at: timestamp::format(worker.last_seen),
            uuid: id.map(ToString::to_string),
            accepted_at: accepted_at.map(timestamp::format),
            last_progress_at: progress.map(|progress| timestamp::format(progress.at)),
            progress: progress.map(|progress| progress.fraction.get()),
            worker: worker.new.boot.to_string(),
            name: worker.new.name,
            host: worker.new.host,
        }
    }
}
