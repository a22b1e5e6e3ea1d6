//! Schedules, and the deletion of a queue, which its schedules prevent.

use windlass_api::request::{
    DeleteQueue, DeleteSchedule, GetSchedule, PauseSchedule, ResumeSchedule, Schedules,
};
use windlass_api::{Code, PutSchedule, ScheduleReply};
use windlass_core::store::{
    Cursor, Page, QueueDeletion, ScheduleChange, SchedulePut, ScheduleRecord,
};
use windlass_core::{Error, ErrorKind, QueueName, Result, Schedule, ScheduleName, Store};

use crate::call::Failed;
use crate::remote::{RemoteStore, found, unsupported};

impl RemoteStore {
    /// Puts a schedule. The server computes its instants.
    pub(crate) async fn send_schedule(
        &self,
        queue: &QueueName,
        schedule: Schedule,
        is_paused: Option<bool>,
    ) -> Result<SchedulePut> {
        schedule.check()?;
        let request = PutSchedule {
            paused: is_paused,
            ..PutSchedule::from(&schedule)
        };
        let changed = match self.call(queue, request).await?.result {
            Some("created") => None,
            Some("changed") => Some(true),
            Some("unchanged") => Some(false),
            _ => return Err(unsupported()),
        };
        let refill = None;
        Ok(SchedulePut { changed, refill })
    }

    pub(crate) async fn read_schedule(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
    ) -> Result<Option<ScheduleRecord>> {
        let request = GetSchedule {
            name: name.to_string(),
            full: Some(true),
        };
        let reply = found(self.call(queue, request).await)?;
        reply.map(ScheduleReply::into_record).transpose()
    }

    pub(crate) async fn read_schedules(
        &self,
        queue: &QueueName,
        from: Option<Cursor>,
        limit: usize,
    ) -> Result<Page<ScheduleRecord>> {
        let request = Schedules {
            limit: Some(limit),
            cursor: from.map(|from| from.0),
            full: Some(true),
        };
        let reply = self.call(queue, request).await?;
        let records = reply.schedules.into_iter().map(ScheduleReply::into_record);
        Ok(Page {
            items: records.collect::<Result<_>>()?,
            next: reply.next.map(Cursor),
        })
    }

    pub(crate) async fn send_schedule_change(
        &self,
        queue: &QueueName,
        name: &ScheduleName,
        change: ScheduleChange,
    ) -> Result<bool> {
        let name = name.to_string();
        Ok(match change {
            ScheduleChange::Pause => {
                found(self.call(queue, PauseSchedule { name }).await)?.is_some()
            }
            ScheduleChange::Resume => {
                found(self.call(queue, ResumeSchedule { name }).await)?.is_some()
            }
            ScheduleChange::Delete => {
                found(self.call(queue, DeleteSchedule { name }).await)?.is_some()
            }
        })
    }

    pub(crate) async fn send_delete_queue(&self, queue: &QueueName) -> Result<QueueDeletion> {
        match self.call(queue, DeleteQueue::default()).await {
            Ok(_) => Ok(QueueDeletion::Deleted),
            Err(Failed::Refused(error)) if error.code == Code::Conflict => {
                // The code is the same for both reasons.
                let stats = self.stats(queue).await?.unwrap_or_default();
                Ok(if stats.jobs() == 0 && stats.schedules > 0 {
                    QueueDeletion::HasSchedules
                } else {
                    QueueDeletion::HasJobs
                })
            }
            Err(Failed::Refused(error)) if error.code == Code::NotFound => {
                Ok(QueueDeletion::NotFound)
            }
            Err(failed) => Err(failed.into()),
        }
    }
}

/// The error for a refill: a server computes the instants of its schedules, and never asks for any.
pub(crate) fn server_refills() -> Error {
    let why = "the server computes the instants of its schedules";
    let help = "put the schedule, or run maintenance: both compute them on the server";
    Error::new(ErrorKind::StoreUnsupported, why, help)
}
