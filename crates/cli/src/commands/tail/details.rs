//! What a line of `tail` shows of a job. Reads are limited, so that a busy queue is not read job by job.

use std::collections::{HashMap, HashSet};

use futures_util::future::join_all;
use serde::Serialize;
use windlass::store::Notification;
use windlass::{Job, JobId, JobState, QueueName, Store};

/// The most jobs that are read for one batch of events. There are at most ten batches per second.
const READS_MAX: usize = 20;

/// How many jobs are read at the same time.
const READS_AT_ONCE: usize = 5;

/// No more jobs are read for a batch after this many bytes of payloads and results.
const READ_BYTES_MAX: usize = 1024 * 1024;

/// How many unfinished jobs are remembered.
const REMEMBERED_MAX: usize = 10_000;

type Key = (QueueName, JobId);

/// The details of a job; those that are not known are missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Details {
    /// The current or next attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    /// Why the job is dead.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The first line of the error of the last failed attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Details {
    /// `attempt 2 of 25, letter, worker 5c1f…: connection refused`.
    pub(super) fn text(&self) -> String {
        let attempt = match (self.attempt, self.max_attempts) {
            (Some(attempt), Some(max)) => Some(format!("attempt {attempt} of {max}")),
            _ => None,
        };
        let worker = self
            .worker
            .as_ref()
            .map(|worker| format!("worker {worker}"));
        let known = [attempt, self.kind.clone(), worker];
        let known: Vec<_> = known.into_iter().flatten().collect();
        let why = self.error.as_deref().or(self.reason);
        let parts = [Some(known.join(", ")), why.map(ToOwned::to_owned)];
        let parts: Vec<_> = parts
            .into_iter()
            .flatten()
            .filter(|it| !it.is_empty())
            .collect();
        parts.join(": ")
    }
}

/// Reads jobs, and remembers them for their later events: a job that succeeds is usually not kept.
#[derive(Debug, Default)]
pub(super) struct DetailReader {
    remembered: HashMap<Key, Details>,
    skipped: usize,
}

impl DetailReader {
    /// Reads the jobs of some events, up to the limits. An error leaves their details unknown.
    pub(super) async fn read(
        &mut self,
        store: &dyn Store,
        batch: &[Notification],
    ) -> HashMap<Key, Job> {
        let mut wanted = Vec::new();
        let mut is_wanted = HashSet::new();
        for notification in batch {
            if let Notification::Event(queue, id, state) = notification {
                let key = (queue.clone(), id.clone());
                let is_known = matches!(state, JobState::Succeeded | JobState::Cancelled)
                    && self.remembered.contains_key(&key);
                if !is_known && is_wanted.insert(key.clone()) {
                    wanted.push(key);
                }
            }
        }
        let mut jobs = HashMap::new();
        let (mut reads, mut bytes) = (0, 0);
        for chunk in wanted.chunks(READS_AT_ONCE) {
            if reads >= READS_MAX || bytes >= READ_BYTES_MAX {
                break;
            }
            reads += chunk.len();
            let replies = join_all(chunk.iter().map(|(queue, id)| store.get(queue, id))).await;
            for (key, reply) in chunk.iter().zip(replies) {
                if let Ok(Some(job)) = reply {
                    let contents = [&job.payload, &job.result].into_iter().flatten();
                    bytes += contents.map(|it| it.len()).sum::<usize>();
                    jobs.insert(key.clone(), job);
                }
            }
        }
        self.skipped += wanted.len() - reads;
        jobs
    }

    /// Returns the number of jobs that were not read since the last call, if there are any.
    pub(super) fn take_skipped(&mut self) -> Option<usize> {
        Some(std::mem::take(&mut self.skipped)).filter(|count| *count > 0)
    }

    /// Returns the details for an event. `job` is as it was read, which may be later than the event.
    pub(super) fn of(
        &mut self,
        queue: &QueueName,
        id: &JobId,
        state: JobState,
        job: Option<&Job>,
    ) -> Details {
        if self.remembered.len() >= REMEMBERED_MAX {
            self.remembered.clear();
        }
        let key = (queue.clone(), id.clone());
        let mut details = self.remembered.remove(&key).unwrap_or_default();
        if let Some(job) = job {
            details.kind = job.kind.as_ref().map(ToString::to_string);
            details.max_attempts = Some(job.retry.max_attempts);
            if job.state == state {
                details.attempt = Some(job.attempt);
                details.reason = job.reason.map(windlass::store::Reason::as_str);
                details.error = job.error.as_deref().map(first_line);
                if let Some(worker) = &job.worker {
                    details.worker = Some(worker.to_string());
                }
            }
        }
        if !state.is_final() && details != Details::default() {
            self.remembered.insert(key, details.clone());
        }
        if state == JobState::Ready {
            details.worker = None;
        }
        if matches!(state, JobState::Running | JobState::Succeeded) {
            details.error = None;
        }
        details
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use windlass::NewJob;
    use windlass::memory::MemoryStore;
    use windlass::store::{ClaimRequest, JobLease, Kind, SystemClock};

    use super::*;

    fn mail() -> QueueName {
        QueueName::new("mail").unwrap()
    }

    fn event(id: &JobId, state: JobState) -> Notification {
        Notification::Event(mail(), id.clone(), state)
    }

    async fn line(
        reader: &mut DetailReader,
        store: &dyn Store,
        id: &JobId,
        state: JobState,
    ) -> String {
        let jobs = reader.read(store, &[event(id, state)]).await;
        let job = jobs.get(&(mail(), id.clone()));
        reader.of(&mail(), id, state, job).text()
    }

    #[tokio::test]
    async fn a_job_is_described_at_each_event_even_after_it_is_gone() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        let id = JobId::new("a").unwrap();
        let job = NewJob::new("x")
            .id(id.clone())
            .kind(Kind::new("letter").unwrap());
        let mut reader = DetailReader::default();
        store.enqueue(&mail(), vec![job]).await.unwrap();

        let ready = line(&mut reader, &store, &id, JobState::Ready).await;
        let claim = store
            .claim(&mail(), ClaimRequest::single(1))
            .await
            .unwrap()
            .unwrap();
        let running = line(&mut reader, &store, &id, JobState::Running).await;
        let lease = JobLease::new(id.clone(), claim.token);
        let failed = vec![lease.failure("no stamp\nat line 3")];
        store.fail(&mail(), failed).await.unwrap();
        let failed = line(&mut reader, &store, &id, JobState::Scheduled).await;
        let gone = JobId::new("gone").unwrap();
        let unknown = line(&mut reader, &store, &gone, JobState::Succeeded).await;

        assert!(
            ready.starts_with("attempt 1 of ") && ready.ends_with(", letter"),
            "{ready}"
        );
        assert_eq!(running, ready);
        assert!(
            failed.starts_with("attempt 2 of ") && failed.ends_with(", letter: no stamp"),
            "{failed}"
        );
        assert_eq!(unknown, "");
        let succeeded = reader.of(&mail(), &id, JobState::Succeeded, None).text();
        assert!(succeeded.ends_with(", letter"), "{succeeded}");
    }

    #[tokio::test]
    async fn many_events_lead_to_few_reads() {
        let store = MemoryStore::new(Arc::new(SystemClock));
        let jobs: Vec<_> = (0..100).map(|_| NewJob::new("x")).collect();
        let batch: Vec<_> = jobs
            .iter()
            .map(|job| event(&job.id, JobState::Ready))
            .collect();
        store.enqueue(&mail(), jobs).await.unwrap();
        let mut reader = DetailReader::default();

        let read = reader.read(&store, &batch).await;

        assert_eq!(read.len(), READS_MAX);
        assert_eq!(reader.take_skipped(), Some(100 - READS_MAX));
        assert_eq!(reader.take_skipped(), None);
    }
}
