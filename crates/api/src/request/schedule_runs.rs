//! Jobs of a schedule now, its next instants, and backfill.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::limits::PAGE;
use windlass_core::schedule::instant_text;
use windlass_core::store::{Clock, Ran, Run, ScheduleRecord, SystemClock, Times};
use windlass_core::{Error as CoreError, JobId, QueueName, Result, ScheduleName, Store, Timestamp};
use windlass_schedule::{ClockNote, Plan};

use super::schedule::record;
use super::{ApiResult, QueueRequest, number};
use crate::enqueue::{EnqueueReply, TimeValue};
use crate::error::Error;
use crate::schedule::left;
use crate::timestamp;
use crate::word::{self, Word};

/// The number of instants, if no count is set, and the most.
const COUNT_DEFAULT: usize = 10;
const COUNT_MAX: usize = 100;

/// Enqueues a job of a schedule now.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct RunSchedule {
    /// Name of the schedule
    pub name: String,
    /// Run it even if its previous job has not ended
    #[arg(long, action = clap::ArgAction::SetTrue)]
    pub force: Option<bool>,
    /// Tells calls apart: a repeated call with the same text is a duplicate (default: random).
    #[arg(skip)]
    pub nonce: Option<String>,
    /// Enqueues a job for each of these instants instead, in milliseconds, at most 100.
    #[arg(skip)]
    pub instants_ms: Option<Vec<u64>>,
    /// Whether an overlap is a reply instead of an error (default: false).
    #[arg(skip)]
    pub full: Option<bool>,
}

/// The reply to `run_schedule`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RunScheduleReply {
    /// The job.
    Job(EnqueueReply),
    /// The jobs of instants.
    Jobs {
        /// The jobs, in the order of the request.
        jobs: Vec<EnqueueReply>,
    },
    /// Nothing was enqueued.
    Overlap {
        /// The job that has not ended.
        overlap: String,
    },
}

impl RunScheduleReply {
    /// Converts the reply back.
    pub fn into_ran(self) -> Result<Vec<Ran>> {
        let enqueued = |job: EnqueueReply| job.into_enqueued().map(Ran::Enqueued);
        match self {
            Self::Job(job) => Ok(vec![enqueued(job)?]),
            Self::Jobs { jobs } => jobs.into_iter().map(enqueued).collect(),
            Self::Overlap { overlap } => Ok(vec![Ran::Overlap(JobId::new(overlap)?)]),
        }
    }
}

impl RunSchedule {
    /// Creates the request of a client, which gets every reply as a value.
    pub fn new(name: &ScheduleName, run: Run) -> Self {
        let mut request = Self {
            name: name.to_string(),
            full: Some(true),
            ..Self::default()
        };
        match run {
            Run::Now { nonce, is_forced } => {
                request.nonce = Some(nonce);
                request.force = Some(is_forced);
            }
            Run::Instants(instants) => {
                request.instants_ms = Some(instants.into_iter().map(Timestamp::as_ms).collect());
            }
        }
        request
    }

    fn run(&self) -> Run {
        let is_forced = self.force.unwrap_or(false);
        match (&self.instants_ms, &self.nonce) {
            (Some(instants), _) => {
                Run::Instants(instants.iter().copied().map(Timestamp::from_ms).collect())
            }
            (None, Some(nonce)) => Run::Now {
                nonce: nonce.clone(),
                is_forced,
            },
            (None, None) => Run::now(is_forced),
        }
    }
}

impl QueueRequest for RunSchedule {
    const OP: &'static str = "run_schedule";
    type Reply = RunScheduleReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<RunScheduleReply> {
        let name = ScheduleName::new(&self.name)?;
        let ran = store.run_schedule(queue, &name, self.run()).await?;
        let ran = ran.ok_or_else(|| Error::schedule_not_found(queue, &name))?;
        let mut jobs = Vec::with_capacity(ran.len());
        for ran in ran {
            match ran {
                Ran::Enqueued(enqueued) => jobs.push(EnqueueReply::new(queue, &enqueued)),
                Ran::Overlap(current) if self.full.unwrap_or(false) => {
                    let overlap = current.to_string();
                    return Ok(RunScheduleReply::Overlap { overlap });
                }
                Ran::Overlap(current) => return Err(Error::schedule_overlap(&name, &current)),
            }
        }
        if self.instants_ms.is_some() {
            return Ok(RunScheduleReply::Jobs { jobs });
        }
        let job = jobs.pop().ok_or_else(Error::missing_reply)?;
        Ok(RunScheduleReply::Job(job))
    }
}

/// Returns the next instants of a schedule.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct NextInstants {
    /// Name of the schedule
    pub name: String,
    /// The number of instants, up to 100 (default: 10).
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = number::<usize>("count", "use 1 to 100"))]
    #[arg(help = "Number of instants, up to 100 [default: 10]")]
    pub count: Option<usize>,
}

/// The next instants of a schedule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct NextInstantsReply {
    /// The queue.
    pub queue: String,
    /// The schedule.
    pub name: String,
    /// The time zone of `local`.
    pub zone: String,
    /// Whether the schedule is paused: then these instants pass without firing.
    pub paused: bool,
    /// The instants, in order.
    pub instants: Vec<InstantReply>,
}

/// An instant of a schedule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstantReply {
    /// The instant.
    pub instant: String,
    /// The instant in the time zone of the schedule.
    pub local: String,
    /// When its job is enqueued: the instant and its jitter.
    pub fires_at: String,
    /// What a change of the clock does to it: `moved` (its time does not exist on this day, so it fires at
    /// the first moment after the gap), `after_gap` (times before it do not exist and are skipped),
    /// `first_of_two` or `second_of_two` (the clock shows its time twice).
    #[serde(deserialize_with = "word::read_optional")]
    pub note: Option<Word>,
}

impl QueueRequest for NextInstants {
    const OP: &'static str = "next_instants";
    type Reply = NextInstantsReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<NextInstantsReply> {
        let name = ScheduleName::new(&self.name)?;
        let record = record(store, queue, &name).await?;
        let count = self.count.unwrap_or(COUNT_DEFAULT);
        if !(1..=COUNT_MAX).contains(&count) {
            let error =
                CoreError::invalid("count", format!("{count} is out of range"), "use 1 to 100");
            return Err(error.into());
        }
        let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
        let instants = next_instants(&record, now, count)?;
        let zone = match &record.schedule.rule.times {
            Times::Cron { zone, .. } => zone.clone(),
            Times::Every { .. } => "UTC".to_owned(),
        };
        Ok(NextInstantsReply {
            queue: queue.to_string(),
            name: name.to_string(),
            zone,
            paused: record.is_paused,
            instants,
        })
    }
}

/// Computes the next instants. Shown to people only, so the clock of this process will do.
fn next_instants(
    record: &ScheduleRecord,
    now: Timestamp,
    count: usize,
) -> Result<Vec<InstantReply>> {
    let plan = Plan::new(&record.schedule.rule)?;
    let after = record.settled_until.max(now);
    let mut previous = after;
    let reply = |at| {
        let local = plan.local(previous, at);
        previous = at;
        InstantReply {
            instant: instant_text(at),
            local: local.text,
            fires_at: timestamp::format(plan.planned(&record.schedule.name, at).fires_at()),
            note: local.note.map(ClockNote::as_str),
        }
    };
    Ok(plan
        .after(after)
        .take(count.min(left(record)))
        .map(reply)
        .collect())
}

/// Enqueues the jobs of a page of instants. Repeat it from `next` until that is null.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Backfill {
    /// Name of the schedule
    pub name: String,
    /// First time
    #[arg(allow_hyphen_values = true)]
    pub from: TimeValue,
    /// Last time
    #[arg(allow_hyphen_values = true)]
    pub to: TimeValue,
}

/// The reply to backfill.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct BackfillReply {
    /// The queue.
    pub queue: String,
    /// The schedule.
    pub name: String,
    /// The number of jobs enqueued.
    pub enqueued: u64,
    /// The number of instants whose job exists or is remembered.
    pub duplicates: u64,
    /// The jobs, in the order of their instants, at most 100.
    pub jobs: Vec<EnqueueReply>,
    /// `from` of the next page; null on the last page.
    pub next: Option<String>,
}

impl QueueRequest for Backfill {
    const OP: &'static str = "backfill";
    type Reply = BackfillReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<BackfillReply> {
        let name = ScheduleName::new(&self.name)?;
        let (from, to) = (self.from.text(), self.to.text());
        let (from, to) = (timestamp::parse(&from)?, timestamp::parse(&to)?);
        if from > to {
            let error = CoreError::invalid("backfill", "from is after to", "swap the two times");
            return Err(error.into());
        }
        let record = record(store, queue, &name).await?;
        let plan = Plan::new(&record.schedule.rule)?;
        let before = Timestamp::from_ms(from.as_ms().saturating_sub(1));
        let instants = plan.after(before).take_while(|at| *at <= to).take(PAGE + 1);
        let mut instants: Vec<_> = instants.collect();
        let next = instants.get(PAGE).copied().map(instant_text);
        instants.truncate(PAGE);
        let run = Run::Instants(instants);
        let ran = store.run_schedule(queue, &name, run).await?;
        let ran = ran.ok_or_else(|| Error::schedule_not_found(queue, &name))?;
        let jobs = ran.iter().filter_map(|ran| match ran {
            Ran::Enqueued(enqueued) => Some(EnqueueReply::new(queue, enqueued)),
            Ran::Overlap(_) => None,
        });
        let jobs: Vec<_> = jobs.collect();
        let duplicates = jobs.iter().filter(|job| job.duplicate).count() as u64;
        Ok(BackfillReply {
            queue: queue.to_string(),
            name: name.to_string(),
            enqueued: jobs.len() as u64 - duplicates,
            duplicates,
            jobs,
            next,
        })
    }
}
