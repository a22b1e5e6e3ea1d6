//! A line of an import: a job or a schedule, new or exported.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::ScheduleRecord;
use windlass_core::{Error, QueueName, Result, Store};

use crate::enqueue::EnqueueRequest;
use crate::fields::{self, Fields};
use crate::request::{ApiResult, QueueRequest};
use crate::schedule::PutSchedule;
use crate::word::Word;

/// A line of an import.
#[derive(Debug)]
pub enum ImportLine {
    /// A job to enqueue.
    Job(Box<EnqueueRequest>),
    /// A schedule to put.
    Schedule(Box<PutSchedule>),
}

impl ImportLine {
    /// Parses one JSON object: a job, or a schedule as [`ExportedSchedule`] has it.
    pub fn parse(text: &str) -> Result<Self> {
        // Jobs first: most lines are jobs, and this parses them once.
        match EnqueueRequest::from_json(text) {
            Ok(job) => Ok(Self::Job(Box::new(job))),
            Err(_) if is_schedule(text) => schedule(text),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether a line that is not a new job is a schedule. In an exported job, `schedule` is a name.
fn is_schedule(text: &str) -> bool {
    Fields::parse(text).is_ok_and(|fields| fields.has("schedule") && !fields.has("created_at"))
}

fn schedule(text: &str) -> Result<ImportLine> {
    let ExportedSchedule { schedule } = fields::read(text)?;
    if schedule.queue.is_some() {
        let why = "its queue is that of the import";
        return Err(Error::invalid("schedule", why, "omit the field queue"));
    }
    // Reports an invalid definition with its line, before anything is stored.
    schedule.clone().into_schedule()?;
    Ok(ImportLine::Schedule(Box::new(schedule)))
}

/// A schedule as a line of an export.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportedSchedule {
    /// Its definition, with `paused` if it is paused.
    pub schedule: PutSchedule,
}

impl ExportedSchedule {
    /// Exports a schedule. Returns `None` if it fired as often as it may, because an import would start it again.
    pub fn new(record: &ScheduleRecord) -> Option<Self> {
        let schedule = || PutSchedule::from(record);
        (!record.has_ended()).then(|| Self {
            schedule: schedule(),
        })
    }
}

/// The reply to an imported schedule.
#[derive(Debug, Clone, Serialize)]
pub struct ImportedSchedule {
    /// The schedule.
    pub schedule: String,
    /// The queue.
    pub queue: String,
    /// `created`, `changed` or `unchanged`.
    pub result: Word,
}

impl ImportedSchedule {
    /// Puts a schedule.
    pub async fn put(
        schedule: PutSchedule,
        store: &dyn Store,
        queue: &QueueName,
    ) -> ApiResult<Self> {
        let reply = schedule.execute(store, queue).await?;
        Ok(Self {
            schedule: reply.name,
            queue: reply.queue,
            result: reply.result.unwrap_or("changed"),
        })
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::Timestamp;

    use super::*;

    #[test]
    fn a_line_is_a_job_or_a_schedule() {
        let job = r#"{"id":"a@2026-01-31T08:05:00Z","state":"ready","schedule":"a","created_at":"2026-01-31T08:05:00.000Z"}"#;
        for (line, is_schedule) in [
            (r#"{"payload":"x"}"#, false),
            (job, false),
            (r#"{"schedule":{"name":"a","every":"1m"}}"#, true),
        ] {
            let parsed = ImportLine::parse(line).expect(line);
            assert_eq!(
                matches!(parsed, ImportLine::Schedule(_)),
                is_schedule,
                "{line}"
            );
        }
    }

    #[test]
    fn a_schedule_that_has_ended_is_not_exported() {
        let json = r#"{"name":"a","every":"1m","times":2}"#;
        let (schedule, _) = fields::read::<PutSchedule>(json)
            .and_then(PutSchedule::into_schedule)
            .expect("valid");
        let mut record = ScheduleRecord::new(schedule, Timestamp::default());
        for (fired, is_exported) in [(1, true), (2, false)] {
            record.total.fired = fired;
            assert_eq!(ExportedSchedule::new(&record).is_some(), is_exported);
        }
    }

    #[test]
    fn an_invalid_schedule_is_reported_when_its_line_is_parsed() {
        for (line, expected) in [
            (r#"{"schedule":{"name":"a"}}"#, "neither cron nor every"),
            (
                r#"{"schedule":{"name":"a","every":"1m","tz":"x"}}"#,
                "unknown field `tz`",
            ),
            (
                r#"{"schedule":{"name":"a","every":"1m"},"id":"b"}"#,
                "unknown field `id`",
            ),
            (
                r#"{"schedule":{"queue":"q","name":"a","every":"1m"}}"#,
                "its queue",
            ),
            (r#"{"schedule":"a","payload":"x"}"#, "invalid"),
        ] {
            let error = ImportLine::parse(line).expect_err(line).to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
