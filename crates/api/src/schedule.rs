//! The JSON form of a schedule: its definition, and its state.

mod definition;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::schedule::{KNOWN_FOREVER, instant_text};
use windlass_core::store::{
    Occurrence, PlannedInstant, ScheduleEnd, ScheduleRecord, ScheduleTotals, SkipReason, Times,
};
use windlass_core::time::as_ms;
use windlass_core::{Error, JobId, QueueName, Result, Timestamp, duration};
use windlass_schedule::Plan;

use crate::timestamp;
use crate::word::{self, Word};

pub use definition::PutSchedule;

/// How many instants a reply has.
const NEXT_MAX: usize = 10;

/// A schedule and its state.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleReply {
    /// The queue.
    pub queue: String,
    /// The name.
    pub name: String,
    /// What put did: `created`, `changed` or `unchanged`. Only in its reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "word::read_optional")]
    pub result: Option<Word>,
    /// The cron pattern.
    pub cron: Option<String>,
    /// The time zone of the pattern.
    pub zone: Option<String>,
    /// The interval.
    pub every: Option<String>,
    /// Whether it is paused.
    pub paused: bool,
    /// The next instants, up to 10 of those in the next 32 days, or the first one after them.
    pub next: Vec<String>,
    /// How many instants enqueued a job.
    pub fired: u64,
    /// How many instants no process settled in time.
    pub missed: u64,
    /// How many instants were skipped for another reason.
    pub skipped: u64,
    /// The latest job, until it ends.
    pub current: Option<String>,
    /// The job that waits for the end of the current one.
    pub waiting: Option<String>,
    /// How the latest job that ended did so.
    pub last_end: Option<ScheduleEndReply>,
    /// The latest 20 occurrences, oldest first.
    pub history: Vec<OccurrenceReply>,
    /// When it was created.
    pub created_at: String,
    /// Changes with each change of the definition.
    pub revision: u64,
    /// The definition, as put accepts it.
    pub definition: PutSchedule,
    /// What few callers need, if the request has `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<FullSchedule>,
}

/// How a job of a schedule ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleEndReply {
    /// The job.
    pub job: String,
    /// Its final state.
    #[serde(deserialize_with = "word::read")]
    pub state: Word,
    /// When it ended.
    pub at: String,
}

/// An instant that was settled, or a job enqueued by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OccurrenceReply {
    /// The instant.
    pub instant: String,
    /// When it fired, or was skipped.
    pub fired_at: String,
    /// The job; null if it was skipped.
    pub job: Option<String>,
    /// Why it was skipped: `missed`, `overlap`, `paused` or `duplicate`.
    #[serde(deserialize_with = "word::read_optional")]
    pub skipped: Option<Word>,
}

/// What few callers need of a schedule. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FullSchedule {
    /// Instants up to this one are settled.
    pub settled_until_ms: u64,
    /// The instants are complete up to this time.
    pub known_until_ms: u64,
    /// The instants, each with its jitter.
    pub instants_ms: Vec<(u64, u64)>,
}

impl ScheduleReply {
    /// Creates the reply, with the field `full` if `is_full`.
    pub fn new(queue: &QueueName, record: &ScheduleRecord, is_full: bool) -> Self {
        let (cron, zone, every) = match &record.schedule.rule.times {
            Times::Cron { pattern, zone } => (Some(pattern.clone()), Some(zone.clone()), None),
            Times::Every { period, .. } => (None, None, Some(duration::format(*period))),
        };
        let text = |id: &JobId| id.to_string();
        Self {
            queue: queue.to_string(),
            name: record.schedule.name.to_string(),
            result: None,
            cron,
            zone,
            every,
            paused: record.is_paused,
            next: next(record),
            fired: record.total.fired,
            missed: record.total.missed,
            skipped: record.total.skipped,
            current: record.current.as_ref().map(text),
            waiting: record.waiting.as_ref().map(text),
            last_end: record.last_end.as_ref().map(ScheduleEndReply::from),
            history: record.history.iter().map(OccurrenceReply::from).collect(),
            created_at: timestamp::format(record.created_at),
            revision: record.revision,
            definition: PutSchedule::from(record),
            full: is_full.then(|| FullSchedule::from(record)),
        }
    }

    /// Converts a reply with the field `full` back.
    pub fn into_record(self) -> Result<ScheduleRecord> {
        let (schedule, _) = self.definition.into_schedule()?;
        let id = |text: Option<String>| text.map(JobId::new).transpose();
        let full = self.full.ok_or_else(|| invalid("missing field full"))?;
        let instant = |(at, jitter)| PlannedInstant {
            at: Timestamp::from_ms(at),
            jitter: Duration::from_millis(jitter),
        };
        let history = self
            .history
            .into_iter()
            .map(OccurrenceReply::into_occurrence);
        Ok(ScheduleRecord {
            schedule,
            revision: self.revision,
            created_at: timestamp::parse(&self.created_at)?,
            is_paused: self.paused,
            settled_until: Timestamp::from_ms(full.settled_until_ms),
            instants: full.instants_ms.into_iter().map(instant).collect(),
            known_until: Timestamp::from_ms(full.known_until_ms),
            total: ScheduleTotals {
                fired: self.fired,
                missed: self.missed,
                skipped: self.skipped,
            },
            current: id(self.current)?,
            waiting: id(self.waiting)?,
            last_end: self.last_end.map(ScheduleEndReply::into_end).transpose()?,
            history: history.collect::<Result<_>>()?,
        })
    }
}

/// Returns the next instants. A store knows none of a rare schedule, such as a yearly one.
fn next(record: &ScheduleRecord) -> Vec<String> {
    let known = record.instants.iter().map(|instant| instant.at);
    let later = || {
        let plan = Plan::new(&record.schedule.rule).ok()?;
        plan.after(record.known_until).next()
    };
    let is_rare = record.instants.is_empty() && record.known_until < KNOWN_FOREVER;
    let later = is_rare.then(later).flatten();
    let next = known.chain(later).take(NEXT_MAX.min(left(record)));
    next.map(instant_text).collect()
}

/// Returns how often a schedule may still fire.
pub(crate) fn left(record: &ScheduleRecord) -> usize {
    let left = |times: u64| times.saturating_sub(record.total.fired);
    let left = record.schedule.times.map(left);
    left.and_then(|left| usize::try_from(left).ok())
        .unwrap_or(usize::MAX)
}

impl From<&ScheduleEnd> for ScheduleEndReply {
    fn from(end: &ScheduleEnd) -> Self {
        Self {
            job: end.id.to_string(),
            state: end.state.as_str(),
            at: timestamp::format(end.at),
        }
    }
}

impl ScheduleEndReply {
    fn into_end(self) -> Result<ScheduleEnd> {
        Ok(ScheduleEnd {
            id: JobId::new(self.job)?,
            state: crate::job::job_state(self.state)?,
            at: timestamp::parse(&self.at)?,
        })
    }
}

impl From<&Occurrence> for OccurrenceReply {
    fn from(occurrence: &Occurrence) -> Self {
        let firing = occurrence.firing.as_ref();
        Self {
            instant: instant_text(occurrence.instant),
            fired_at: timestamp::format(occurrence.at),
            job: firing.ok().map(ToString::to_string),
            skipped: firing.err().map(|reason| reason.as_str()),
        }
    }
}

impl OccurrenceReply {
    fn into_occurrence(self) -> Result<Occurrence> {
        let skipped = self.skipped.and_then(SkipReason::from_text);
        let firing = match (self.job, skipped) {
            (Some(id), None) => Ok(JobId::new(id)?),
            (None, Some(reason)) => Err(reason),
            _ => {
                return Err(invalid(
                    "an occurrence has neither a job nor a known reason",
                ));
            }
        };
        Ok(Occurrence {
            instant: timestamp::parse(&self.instant)?,
            at: timestamp::parse(&self.fired_at)?,
            firing,
        })
    }
}

impl From<&ScheduleRecord> for FullSchedule {
    fn from(record: &ScheduleRecord) -> Self {
        let pair = |instant: &PlannedInstant| (instant.at.as_ms(), as_ms(instant.jitter));
        Self {
            settled_until_ms: record.settled_until.as_ms(),
            known_until_ms: record.known_until.as_ms(),
            instants_ms: record.instants.iter().map(pair).collect(),
        }
    }
}

fn invalid(why: &str) -> Error {
    Error::invalid("schedule", why, "update this client")
}
