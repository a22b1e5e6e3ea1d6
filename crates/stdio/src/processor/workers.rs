//! What workers say: `worker_idle`, `job_accepted`, `worker_busy` and `job_finished`.
//!
//! A worker shows who it is, not a token: the token of the job it was offered is looked up, and the
//! store compares it. A worker whose job went to another in between is told so.

use serde::{Deserialize, Serialize};
use windlass_api::Error;
use windlass_core::{
    Job, JobId, JobLease, JobState, LeaseStatus, OutcomeStatus, Progress, QueueName, Renewal,
    Result, WorkerRecord,
};

use super::Processor;
use super::envelope::{Origin, Payload};
use super::jobs::JobAnswer;
use super::registry::Sender;
use super::topic::Op;
use crate::reply::{Answer, fields};

/// How far a worker has come, as it says so.
#[derive(Debug, Default, Deserialize)]
struct Status {
    progress: Option<f64>,
    message: Option<String>,
}

#[derive(Serialize)]
struct IdleAnswer<'a> {
    queue_name: &'a str,
    worker: &'a str,
    /// Jobs that it had accepted and gave back by being idle.
    released: Vec<String>,
}

impl Processor {
    /// Does what a worker's message asks for, and notes that the worker lives even where that is
    /// refused.
    pub(super) async fn heard_from(
        &self,
        op: Op,
        queue: &QueueName,
        (origin, path): (&Origin, Option<&str>),
        payload: &Payload<'_>,
    ) -> Answer {
        let sender = Sender::of(origin, path)?;
        let known = self.worker(&sender).await?;
        if op == Op::WorkerIdle {
            let released = self.release_held(queue, &sender, known.as_ref()).await?;
            self.note(&sender, known, queue, None).await?;
            return fields(&IdleAnswer {
                queue_name: queue.as_str(),
                worker: sender.boot.as_str(),
                released,
            });
        }
        let id = payload.job()?;
        let answer = match op {
            Op::JobAccepted => self.job_accepted(queue, &id, &sender).await,
            Op::WorkerBusy => match status(payload) {
                Ok(status) => self.worker_busy(queue, &id, &sender, status).await,
                Err(error) => Err(error.into()),
            },
            _ => self.job_finished(queue, &id, &sender, payload).await,
        };
        // Who says that it is at work has no hand free, whether the job is its own or not.
        let runs = op != Op::JobFinished;
        self.note(&sender, known, queue, runs.then_some(&id))
            .await?;
        answer
    }

    /// The jobs of a queue that an idle worker had accepted go back; one that is only offered to it
    /// may be on its way, and stays.
    async fn release_held(
        &self,
        queue: &QueueName,
        sender: &Sender,
        known: Option<&WorkerRecord>,
    ) -> Result<Vec<String>, Error> {
        let mut released = Vec::new();
        for id in self.held_by(queue, sender, known).await? {
            let Ok((hold, job)) = self.hold(queue, &id, sender).await else {
                continue;
            };
            if job.accepted_at.is_some() {
                self.store.release(queue, vec![hold]).await?;
                released.push(id.to_string());
            }
        }
        Ok(released)
    }

    async fn job_accepted(&self, queue: &QueueName, id: &JobId, sender: &Sender) -> Answer {
        let (hold, job) = self.hold(queue, id, sender).await?;
        if job.is_cancel_requested && job.accepted_at.is_none() {
            self.store.release(queue, vec![hold]).await?;
            return Err(deleted(id));
        }
        let lease = self.options.worker_expiry;
        match self.store.accept(queue, hold, lease).await? {
            LeaseStatus::Valid => fields(&JobAnswer::new(queue, id, "accepted")),
            LeaseStatus::Lost => Err(not_theirs(id, sender)),
        }
    }

    async fn worker_busy(
        &self,
        queue: &QueueName,
        id: &JobId,
        sender: &Sender,
        status: Status,
    ) -> Answer {
        let (hold, job) = self.hold(queue, id, sender).await?;
        let lease = self.options.worker_expiry;
        // Whoever is at work has accepted, even if that was never heard.
        let held = if job.accepted_at.is_none() {
            self.store.accept(queue, hold.clone(), lease).await?
        } else {
            let token = hold.token;
            let renewal = Renewal::Single { token };
            let renewed = self.store.renew(queue, renewal, lease).await?;
            if renewed.lost.is_empty() {
                LeaseStatus::Valid
            } else {
                LeaseStatus::Lost
            }
        };
        let held = match (held, status.progress) {
            (LeaseStatus::Valid, Some(fraction)) => {
                let message = status.message;
                self.store.progress(queue, hold, fraction, message).await?
            }
            (held, _) => held,
        };
        match held {
            LeaseStatus::Valid => fields(&JobAnswer {
                progress: status.progress,
                cancel: Some(job.is_cancel_requested),
                ..JobAnswer::new(queue, id, "processing")
            }),
            LeaseStatus::Lost => Err(not_theirs(id, sender)),
        }
    }

    /// Ends a job; what the worker said of it is the result.
    async fn job_finished(
        &self,
        queue: &QueueName,
        id: &JobId,
        sender: &Sender,
        payload: &Payload<'_>,
    ) -> Answer {
        let (hold, _) = self.hold(queue, id, sender).await?;
        let completion = hold.completion().result(payload.text.to_owned());
        let completed = self.store.complete(queue, vec![completion], None).await?;
        match completed.statuses.first() {
            Some(OutcomeStatus::Completed) => fields(&JobAnswer::new(queue, id, "finished")),
            _ => Err(not_theirs(id, sender)),
        }
    }

    /// The hold of a worker on a job it was offered, as long as it is its own.
    async fn hold(
        &self,
        queue: &QueueName,
        id: &JobId,
        sender: &Sender,
    ) -> Result<(JobLease, Job), Error> {
        let job = self.store.get(queue, id).await?;
        let job = job.ok_or_else(|| Error::job_not_found(queue, id))?;
        if job.state.is_final() {
            return Err(ended(id, job.state));
        }
        match job.token {
            Some(token) if job.worker.as_ref() == Some(&sender.boot) => {
                Ok((JobLease::new(id.clone(), token), job))
            }
            _ => Err(not_theirs(id, sender)),
        }
    }
}

/// What is said of progress, checked before anything is done: under `status`, or beside it.
fn status(payload: &Payload<'_>) -> Result<Status> {
    let within: Status = payload.fields.get("status")?.unwrap_or_default();
    let status = Status {
        progress: within.progress.or(payload.fields.get("progress")?),
        message: within.message,
    };
    status.progress.map_or(Ok(()), Progress::check)?;
    Ok(status)
}

fn not_theirs(id: &JobId, sender: &Sender) -> Error {
    Error::new(
        "lease_lost",
        format!(
            "job {id:?} is not the job of worker {:?} any more, or never was; nothing changed",
            sender.boot
        ),
        "stop it and send worker_idle; another worker may have it",
    )
}

fn ended(id: &JobId, state: JobState) -> Error {
    Error::new(
        "wrong_state",
        format!("job {id:?} has ended: it is {state}"),
        "send worker_idle to be given another",
    )
}

fn deleted(id: &JobId) -> Error {
    Error::new(
        "cancelled",
        format!("job {id:?} was deleted while it was on its way"),
        "send worker_idle to be given another",
    )
}
