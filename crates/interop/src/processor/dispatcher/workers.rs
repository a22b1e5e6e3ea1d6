//! Messages of workers: `worker_idle`, `job_accepted`, `worker_busy` and `job_finished`.
//!
//! Workers send their id instead of a lease token: the processor looks up the token of the job, and
//! the store checks it. A worker whose job was given to another one gets the error `lease_lost`.

use serde::{Deserialize, Serialize};
use windlass_api::{Code, Error};
use windlass_core::store::{Fraction, LeaseStatus, WorkerRecord};
use windlass_core::{Job, JobId, JobLease, JobState, OutcomeStatus, QueueName, Renewal, Result};

use super::Processor;
use super::envelope::{Origin, Payload};
use super::jobs::JobReply;
use super::registry::Sender;
use super::reply::{ReplyResult, fields};
use super::topic::Op;

/// The progress a worker reports.
#[derive(Debug, Default, Deserialize)]
struct Status {
    progress: Option<f64>,
    message: Option<String>,
}

#[derive(Serialize)]
struct IdleReply<'a> {
    queue_name: &'a str,
    worker: &'a str,
    /// Accepted jobs that were released because the worker is idle.
    released: Vec<String>,
}

impl Processor {
    /// Executes a message of a worker. Records that the worker is alive even if the message is
    /// rejected.
    pub(super) async fn worker_message(
        &self,
        op: Op,
        queue: &QueueName,
        (origin, path): (&Origin, Option<&str>),
        payload: &Payload<'_>,
    ) -> ReplyResult {
        let sender = Sender::new(origin, path)?;
        let known = self.worker(&sender).await?;
        if op == Op::WorkerIdle {
            let released = self
                .release_accepted(queue, &sender, known.as_ref())
                .await?;
            self.record_heartbeat(&sender, known, queue, None).await?;
            return fields(&IdleReply {
                queue_name: queue.as_str(),
                worker: sender.boot.as_str(),
                released,
            });
        }
        let id = payload.job()?;
        let reply = match op {
            Op::JobAccepted => self.job_accepted(queue, &id, &sender).await,
            Op::WorkerBusy => match status(payload) {
                Ok(status) => self.worker_busy(queue, &id, &sender, status).await,
                Err(error) => Err(error.into()),
            },
            _ => self.job_finished(queue, &id, &sender, payload).await,
        };
        // A worker that reports work is busy, even if it no longer owns the job.
        let is_busy = op != Op::JobFinished;
        self.record_heartbeat(&sender, known, queue, is_busy.then_some(&id))
            .await?;
        reply
    }

    /// Releases the accepted jobs of an idle worker. An offered job is kept: its assignment may still
    /// be on the way.
    async fn release_accepted(
        &self,
        queue: &QueueName,
        sender: &Sender,
        known: Option<&WorkerRecord>,
    ) -> Result<Vec<String>, Error> {
        let mut released = Vec::new();
        for id in self.jobs_of(queue, sender, known).await? {
            let Ok((lease, job)) = self.find_lease(queue, &id, sender).await else {
                continue;
            };
            if job.accepted_at.is_some() {
                self.store.release(queue, vec![lease]).await?;
                released.push(id.to_string());
            }
        }
        Ok(released)
    }

    async fn job_accepted(&self, queue: &QueueName, id: &JobId, sender: &Sender) -> ReplyResult {
        let (lease, job) = self.find_lease(queue, id, sender).await?;
        if job.is_cancel_requested && job.accepted_at.is_none() {
            self.store.release(queue, vec![lease]).await?;
            return Err(deleted(id));
        }
        let expiry = self.options.worker_expiry;
        match self.store.accept(queue, lease, expiry).await? {
            LeaseStatus::Valid => fields(&JobReply::new(queue, id, "accepted")),
            LeaseStatus::Lost => Err(lease_lost(id, sender)),
        }
    }

    async fn worker_busy(
        &self,
        queue: &QueueName,
        id: &JobId,
        sender: &Sender,
        (progress, message): (Option<Fraction>, Option<String>),
    ) -> ReplyResult {
        let (lease, job) = self.find_lease(queue, id, sender).await?;
        let expiry = self.options.worker_expiry;
        // A busy worker has accepted its job, even if that message was lost.
        let lease_status = if job.accepted_at.is_none() {
            self.store.accept(queue, lease.clone(), expiry).await?
        } else {
            let token = lease.token;
            let renewal = Renewal::Single { token };
            let renewed = self.store.renew(queue, renewal, expiry).await?;
            if renewed.lost.is_empty() {
                LeaseStatus::Valid
            } else {
                LeaseStatus::Lost
            }
        };
        let lease_status = match (lease_status, progress) {
            (LeaseStatus::Valid, Some(fraction)) => {
                self.store.progress(queue, lease, fraction, message).await?
            }
            (lease_status, _) => lease_status,
        };
        match lease_status {
            LeaseStatus::Valid => fields(&JobReply {
                progress: progress.map(Fraction::get),
                cancel: Some(job.is_cancel_requested),
                ..JobReply::new(queue, id, "processing")
            }),
            LeaseStatus::Lost => Err(lease_lost(id, sender)),
        }
    }

    /// Completes a job. The payload of the message becomes the result.
    async fn job_finished(
        &self,
        queue: &QueueName,
        id: &JobId,
        sender: &Sender,
        payload: &Payload<'_>,
    ) -> ReplyResult {
        let (lease, _) = self.find_lease(queue, id, sender).await?;
        let completion = lease.completion().result(payload.text.to_owned());
        let completed = self.store.complete(queue, vec![completion], None).await?;
        match completed.statuses.first() {
            Some(OutcomeStatus::Completed) => fields(&JobReply::new(queue, id, "finished")),
            _ => Err(lease_lost(id, sender)),
        }
    }

    /// Returns the lease of a worker on a job. Fails if the job belongs to another worker.
    async fn find_lease(
        &self,
        queue: &QueueName,
        id: &JobId,
        sender: &Sender,
    ) -> Result<(JobLease, Job), Error> {
        let job = self.store.get(queue, id).await?;
        let job = job.ok_or_else(|| Error::job_not_found(queue, id))?;
        if job.state.is_final() {
            return Err(finished(id, job.state));
        }
        match job.token {
            Some(token) if job.worker.as_ref() == Some(&sender.boot) => {
                Ok((JobLease::new(id.clone(), token), job))
            }
            _ => Err(lease_lost(id, sender)),
        }
    }
}

/// Returns the reported progress, from `status` or from the top level. It is checked before any
/// change is made.
fn status(payload: &Payload<'_>) -> Result<(Option<Fraction>, Option<String>)> {
    let nested: Status = payload.fields.get("status")?.unwrap_or_default();
    let progress = nested.progress.or(payload.fields.get("progress")?);
    let progress = progress.map(Fraction::new).transpose()?;
    Ok((progress, nested.message))
}

fn lease_lost(id: &JobId, sender: &Sender) -> Error {
    Error::new(
        Code::LeaseLost,
        format!(
            "job {id:?} is not leased to worker {:?}; nothing changed",
            sender.boot
        ),
        "stop the job and send worker_idle; another worker may be running it",
    )
}

fn finished(id: &JobId, state: JobState) -> Error {
    Error::new(
        Code::WrongState,
        format!("job {id:?} is already {state}"),
        "send worker_idle to get another job",
    )
}

fn deleted(id: &JobId) -> Error {
    Error::new(
        Code::Cancelled,
        format!("job {id:?} was deleted before it was accepted"),
        "send worker_idle to get another job",
    )
}
