//! Messages of job creators: `add_job` and `del_job`.

use serde::Serialize;
use windlass_api::{Code, Error};
use windlass_core::store::{Changed, Headers};
use windlass_core::{
    Change, Error as CoreError, JobId, JobState, NewJob, Priority, QueueName, Result, Target,
};

use super::Processor;
use super::envelope::Payload;
use super::reply::{ReplyResult, fields};

/// The reply to a message about a job.
#[derive(Serialize)]
pub(super) struct JobReply<'a> {
    pub(super) uuid: &'a str,
    pub(super) queue_name: &'a str,
    pub(super) state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) progress: Option<f64>,
    /// The job was deleted; its worker should stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cancel: Option<bool>,
}

impl<'a> JobReply<'a> {
    pub(super) fn new(queue: &'a QueueName, id: &'a JobId, state: &'static str) -> Self {
        Self {
            uuid: id.as_str(),
            queue_name: queue.as_str(),
            state,
            progress: None,
            cancel: None,
        }
    }
}

impl Payload<'_> {
    pub(super) fn queue(&self) -> Result<QueueName> {
        QueueName::new(self.fields.require::<String>("queue_name")?)
    }

    pub(super) fn job(&self) -> Result<JobId> {
        JobId::new(self.fields.require::<String>("uuid")?)
    }

    fn priority(&self) -> Result<Priority> {
        let level: Option<i64> = self.fields.get("priority")?;
        level.map_or(Ok(Priority::default()), Priority::try_from)
    }
}

impl Processor {
    /// Enqueues a job. Its payload is the payload of the message, byte for byte.
    pub(super) async fn add_job(&self, queue: &QueueName, payload: &Payload<'_>) -> ReplyResult {
        let id = payload.job()?;
        let mut headers = Headers::default();
        headers.set("content-type", "application/json")?;
        let job = NewJob::new(payload.text.to_owned())
            .id(id.clone())
            .priority(payload.priority()?)
            .headers(headers);
        let enqueued = self.store.enqueue(queue, vec![job]).await?;
        let first = enqueued.first().ok_or_else(Error::missing_reply)?;
        if first.is_duplicate() {
            return Err(duplicate(queue, &id, first.state()));
        }
        fields(&JobReply::new(queue, &id, "queued"))
    }

    /// Deletes a waiting or finished job. A running job is asked to stop.
    pub(super) async fn del_job(&self, queue: &QueueName, payload: &Payload<'_>) -> ReplyResult {
        let id = payload.job()?;
        let target = Target::Ids(vec![id.clone()]);
        let changes = self
            .store
            .change(queue, Change::Cancel, &target, None)
            .await?;
        let changed = changes.items.first().map(|job| &job.changed);
        let state = match changed {
            Some(Changed::WillStop) => "will_stop",
            Some(Changed::Done | Changed::WrongState(_)) => {
                self.store
                    .change(queue, Change::Delete, &target, None)
                    .await?;
                "deleted"
            }
            Some(Changed::Conflict(_) | Changed::NotFound) | None => {
                return Err(Error::job_not_found(queue, &id));
            }
        };
        fields(&JobReply::new(queue, &id, state))
    }
}

fn duplicate(queue: &QueueName, id: &JobId, state: JobState) -> Error {
    let error = CoreError::invalid(
        "job",
        format!("{id:?} already exists in queue {queue} and is {state}"),
        "add each job once, and give each job a unique uuid",
    );
    Error {
        code: Code::Duplicate,
        ..Error::from(error)
    }
}
