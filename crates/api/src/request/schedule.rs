//! Schedules: put, get, list, delete, pause and resume.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::limits::PAGE;
use windlass_core::store::{Cursor, ScheduleChange, ScheduleRecord};
use windlass_core::{Error as CoreError, QueueName, ScheduleName, Store};

use super::{ApiResult, QueueRequest};
use crate::error::Error;
use crate::schedule::{PutSchedule, ScheduleReply};
use crate::word::Word;

impl QueueRequest for PutSchedule {
    const OP: &'static str = "put_schedule";
    type Reply = ScheduleReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<ScheduleReply> {
        let (schedule, is_paused) = self.into_schedule()?;
        let name = schedule.name.clone();
        let put = windlass_schedule::put(store, queue, schedule, is_paused).await?;
        let mut reply = read(store, queue, &name, false).await?;
        reply.result = Some(put_result(put.changed));
        Ok(reply)
    }
}

/// What put did.
pub(super) const fn put_result(changed: Option<bool>) -> Word {
    match changed {
        None => "created",
        Some(true) => "changed",
        Some(false) => "unchanged",
    }
}

pub(super) async fn record(
    store: &dyn Store,
    queue: &QueueName,
    name: &ScheduleName,
) -> ApiResult<ScheduleRecord> {
    let record = store.schedule(queue, name).await?;
    record.ok_or_else(|| Error::schedule_not_found(queue, name))
}

async fn read(
    store: &dyn Store,
    queue: &QueueName,
    name: &ScheduleName,
    is_full: bool,
) -> ApiResult<ScheduleReply> {
    let record = record(store, queue, name).await?;
    Ok(ScheduleReply::new(queue, &record, is_full))
}

/// Returns a schedule with its next instants and its history.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct GetSchedule {
    /// Name of the schedule
    pub name: String,
    /// Whether to reply with the field `full` (default: false).
    #[arg(skip)]
    pub full: Option<bool>,
}

impl QueueRequest for GetSchedule {
    const OP: &'static str = "schedule";
    type Reply = ScheduleReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<ScheduleReply> {
        let name = ScheduleName::new(&self.name)?;
        read(store, queue, &name, self.full.unwrap_or(false)).await
    }
}

/// Lists a page of schedules, ordered by name.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Schedules {
    /// The maximum number of schedules, up to 100 (default: 100).
    pub limit: Option<usize>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// Whether to reply with the field `full` of each schedule (default: false).
    pub full: Option<bool>,
}

/// A page of schedules.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SchedulesReply {
    /// The schedules.
    pub schedules: Vec<ScheduleReply>,
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
}

impl QueueRequest for Schedules {
    const OP: &'static str = "schedules";
    type Reply = SchedulesReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<SchedulesReply> {
        let limit = self.limit.unwrap_or(PAGE);
        if limit == 0 {
            let error = CoreError::invalid("limit", "0 is too small; minimum 1", "use 1 to 100");
            return Err(error.into());
        }
        let from = self.cursor.map(Cursor);
        let page = store.schedules(queue, from, limit.min(PAGE)).await?;
        let is_full = self.full.unwrap_or(false);
        let reply = |record: &ScheduleRecord| ScheduleReply::new(queue, record, is_full);
        Ok(SchedulesReply {
            schedules: page.items.iter().map(reply).collect(),
            next: page.next.map(|next| next.0),
        })
    }
}

async fn change(
    store: &dyn Store,
    queue: &QueueName,
    name: &str,
    change: ScheduleChange,
) -> ApiResult<ScheduleName> {
    let name = ScheduleName::new(name)?;
    if store.change_schedule(queue, &name, change).await? {
        return Ok(name);
    }
    Err(Error::schedule_not_found(queue, &name))
}

/// Deletes a schedule and its history, but not its jobs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct DeleteSchedule {
    /// Name of the schedule
    pub name: String,
}

/// The reply to `delete_schedule`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DeleteScheduleReply {
    /// The queue.
    pub queue: String,
    /// The schedule.
    pub name: String,
    /// Always true.
    pub deleted: bool,
}

impl QueueRequest for DeleteSchedule {
    const OP: &'static str = "delete_schedule";
    type Reply = DeleteScheduleReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<DeleteScheduleReply> {
        let name = change(store, queue, &self.name, ScheduleChange::Delete).await?;
        Ok(DeleteScheduleReply {
            queue: queue.to_string(),
            name: name.to_string(),
            deleted: true,
        })
    }
}

/// Pauses a schedule: its instants pass without firing, and are not caught up.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct PauseSchedule {
    /// Name of the schedule
    pub name: String,
}

impl QueueRequest for PauseSchedule {
    const OP: &'static str = "pause_schedule";
    type Reply = ScheduleReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<ScheduleReply> {
        let name = change(store, queue, &self.name, ScheduleChange::Pause).await?;
        read(store, queue, &name, false).await
    }
}

/// Resumes a paused schedule.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct ResumeSchedule {
    /// Name of the schedule
    pub name: String,
}

impl QueueRequest for ResumeSchedule {
    const OP: &'static str = "resume_schedule";
    type Reply = ScheduleReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<ScheduleReply> {
        let name = change(store, queue, &self.name, ScheduleChange::Resume).await?;
        read(store, queue, &name, false).await
    }
}
