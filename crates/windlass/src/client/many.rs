//! Many jobs at once: in batches that a store takes, with an answer for each.

use std::future::Future;

use windlass_core::{Enqueued, Error, ErrorKind, Headers, Limits, NewJob, QueueName, Result};

use super::enqueue::{Draft, laid_over, no_answer};
use super::{Client, JobHandle, Raw};
use crate::typed::TypedJob;

/// How many jobs go in one call: enough to make the way there cheap, few enough that nobody else
/// waits long for the store.
const BATCH_JOBS: usize = 1_000;

impl Client {
    /// Enqueues many jobs of one type. Each has its own answer, in their order: one that cannot be
    /// stored spoils no other. They go in batches; when one could not be sent, those after it
    /// are not tried.
    pub fn enqueue_many<J: TypedJob>(
        &self,
        jobs: impl IntoIterator<Item = J>,
    ) -> impl Future<Output = Vec<Result<JobHandle<J>>>> + Send + 'static {
        let drafts: Vec<_> = jobs.into_iter().map(|job| Draft::typed(&job)).collect();
        let client = self.clone();
        async move {
            match QueueName::new(J::QUEUE) {
                Ok(queue) => {
                    let jobs = drafts.into_iter().map(|draft| Ok(draft?.job));
                    client.enqueue_all(&queue, jobs.collect()).await
                }
                // Every draft has met the same fault.
                Err(_) => drafts
                    .into_iter()
                    .map(|draft| draft.and(Err(no_answer())))
                    .collect(),
            }
        }
    }

    /// Enqueues many jobs of raw bytes, as [`enqueue_many`](Self::enqueue_many) does.
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
        let mut broken = None;
        for batch in batches(&jobs) {
            let count = batch.len();
            match &broken {
                Some(error) => sent.extend((0..count).map(|_| Err(not_tried(error)))),
                None => match self.store().enqueue(queue, batch).await {
                    Ok(answers) => sent.extend(answers.into_iter().map(Ok)),
                    Err(error) => {
                        sent.extend((0..count).map(|_| Err(again(&error))));
                        broken = Some(error);
                    }
                },
            }
        }
        let mut sent = sent.into_iter();
        jobs.into_iter()
            .map(|job| {
                job?;
                let answer = sent.next().unwrap_or_else(|| Err(no_answer()))?;
                Ok(JobHandle::new(queue.clone(), answer))
            })
            .collect()
    }

    /// The job with its stamps, if a store would take it.
    fn prepared(&self, mut job: NewJob) -> Result<NewJob> {
        job.headers = laid_over(self.stamped(Headers::default()), &job.headers)?;
        Limits::default().check_job(&job)?;
        Ok(job)
    }
}

/// The sound jobs, in batches within the limits of a store.
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

/// The same error once more: each job of a batch is told.
fn again(error: &Error) -> Error {
    Error::new(error.kind(), error.to_string(), error.help().to_owned())
}

fn not_tried(error: &Error) -> Error {
    // Whatever became of the batch before, this one was not sent: repeating it is safe.
    let kind = match error.kind() {
        ErrorKind::OutcomeUnknown => ErrorKind::StoreUnreachable,
        kind => kind,
    };
    let what = format!("not sent, since jobs before it could not be: {error}");
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
        jobs.insert(3, Err(no_answer()));

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
        let unknown = Error::new(ErrorKind::OutcomeUnknown, "no answer came", "repeat it");
        assert!(again(&unknown).is_unknown());
        assert!(!not_tried(&unknown).is_unknown());
    }
}
