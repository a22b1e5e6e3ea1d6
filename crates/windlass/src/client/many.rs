//! Enqueues many jobs in batches, with a result for each.

use std::future::Future;

use windlass_core::store::{Headers, Limits};
use windlass_core::{Enqueued, Error, ErrorKind, NewJob, QueueName, Result};

use super::enqueue::{Template, merge_headers, no_reply};
use super::{Client, JobHandle, Raw};
use crate::typed::TypedJob;

/// How many jobs go into one call: enough to amortize the round trip, few enough that other clients
/// do not wait long.
const BATCH_JOBS: usize = 1_000;

impl Client {
    /// Enqueues many jobs of one type in batches. Returns a result for each, in order: an invalid job
    /// does not affect the others. If a batch cannot be sent, the following ones are not tried.
    pub fn enqueue_many<J: TypedJob>(
        &self,
        jobs: impl IntoIterator<Item = J>,
    ) -> impl Future<Output = Vec<Result<JobHandle<J>>>> + Send + 'static {
        let template = Template::new::<J>();
        let jobs: Vec<Result<NewJob>> = jobs
            .into_iter()
            .map(|job| match &template {
                Ok(template) => template.job(&job),
                Err(error) => Err(error.clone()),
            })
            .collect();
        let client = self.clone();
        async move {
            match template {
                Ok(template) => client.enqueue_all(&template.queue, jobs).await,
                // Every job has the same error.
                Err(_) => jobs
                    .into_iter()
                    .map(|job| Err(job.err().unwrap_or_else(no_reply)))
                    .collect(),
            }
        }
    }

    /// Enqueues many jobs of raw bytes, like [`enqueue_many`](Self::enqueue_many).
    pub async fn enqueue_many_raw(
        &self,
        queue: &str,
        jobs: Vec<NewJob>,
    ) -> Result<Vec<Result<JobHandle<Raw>>>> {
        let queue = QueueName::new(queue)?;
        let jobs = jobs.into_iter().map(Ok).collect();
        Ok(self.enqueue_all(&queue, jobs).await)
    }

    async fn enqueue_all<J>(
        &self,
        queue: &QueueName,
        jobs: Vec<Result<NewJob>>,
    ) -> Vec<Result<JobHandle<J>>> {
        let jobs: Vec<_> = jobs.into_iter().map(|job| self.prepared(job?)).collect();
        let mut sent: Vec<Result<Enqueued>> = Vec::new();
        let mut failed = None;
        for batch in batches(&jobs) {
            let count = batch.len();
            match &failed {
                Some(error) => sent.extend((0..count).map(|_| Err(not_tried(error)))),
                None => match self.store().enqueue(queue, batch).await {
                    Ok(replies) => sent.extend(replies.into_iter().map(Ok)),
                    Err(error) => {
                        sent.extend((0..count).map(|_| Err(error.clone())));
                        failed = Some(error);
                    }
                },
            }
        }
        let mut sent = sent.into_iter();
        jobs.into_iter()
            .map(|job| {
                job?;
                let reply = sent.next().unwrap_or_else(|| Err(no_reply()))?;
                Ok(JobHandle::new(queue.clone(), reply))
            })
            .collect()
    }

    /// Sets the default headers of a job and checks it.
    fn prepared(&self, mut job: NewJob) -> Result<NewJob> {
        job.headers = merge_headers(self.default_headers(Headers::default()), &job.headers)?;
        Limits::default().check_job(&job)?;
        Ok(job)
    }
}

/// Splits the valid jobs into batches within the limits of a store.
fn batches(jobs: &[Result<NewJob>]) -> Vec<Vec<NewJob>> {
    let limits = Limits::default();
    let mut batches = Vec::new();
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for job in jobs.iter().flatten() {
        let size = job.payload.len() + job.headers.bytes();
        if batch.len() == BATCH_JOBS || bytes + size > limits.batch_bytes_max {
            batches.push(std::mem::take(&mut batch));
            bytes = 0;
        }
        batch.push(job.clone());
        bytes += size;
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

fn not_tried(error: &Error) -> Error {
    // The outcome of an earlier batch may be unknown, but this one was not sent.
    let kind = match error.kind() {
        ErrorKind::OutcomeUnknown => ErrorKind::StoreUnreachable,
        kind => kind,
    };
    let what = format!("not sent, because an earlier batch failed: {error}");
    Error::new(kind, what, "enqueue it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_stay_within_the_limits_and_keep_the_order() {
        let large = vec![0; 1024 * 1024];
        let mut jobs: Vec<Result<NewJob>> = (0..1_500).map(|_| Ok(NewJob::new("x"))).collect();
        jobs.extend((0..20).map(|_| Ok(NewJob::new(large.clone()))));
        jobs.insert(3, Err(no_reply()));

        let made = batches(&jobs);

        let limits = Limits::default();
        assert!(made.iter().all(|batch| limits.check_batch(batch).is_ok()));
        assert!(made.len() >= 3 && made.len() <= 5, "{}", made.len());
        let ids: Vec<_> = made.iter().flatten().map(|job| &job.id).collect();
        let given: Vec<_> = jobs.iter().flatten().map(|job| &job.id).collect();
        assert_eq!(ids, given);
    }

    #[test]
    fn a_batch_that_was_not_sent_is_not_called_unknown() {
        let unknown = Error::new(ErrorKind::OutcomeUnknown, "no reply", "retry");
        assert!(unknown.is_unknown());
        assert!(!not_tried(&unknown).is_unknown());
    }
}
