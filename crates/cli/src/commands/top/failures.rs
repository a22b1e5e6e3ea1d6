//! The newest failures. A store lists dead jobs oldest first, so each queue is read from a position that moves
//! on with its dead jobs.

use std::cmp::Reverse;
use std::collections::HashMap;

use windlass::store::{Cursor, Filter};
use windlass::{Job, JobState, QueueName, Result, Store};
use windlass_api::{JobReply, QueueReply};

/// The most queues that are read per refresh; with more, they take turns.
const QUEUES_MAX: usize = 8;

/// Jobs per page.
const PAGE: usize = 50;

/// The most pages of a queue per refresh. More than two are read only to reach the newest dead jobs.
const PAGES_MAX: usize = 100;

/// How many failures are shown.
const FAILURES_MAX: usize = 100;

#[derive(Debug, Default)]
pub(super) struct FailureReader {
    queues: HashMap<QueueName, QueueFailures>,
    turn: usize,
}

#[derive(Debug, Default)]
struct QueueFailures {
    /// The start of the last page but one.
    from: Option<Cursor>,
    failures: Vec<JobReply>,
}

impl FailureReader {
    /// Reads the failures of some queues, and returns those of all.
    pub(super) async fn read(
        &mut self,
        store: &dyn Store,
        queues: &[QueueReply],
    ) -> Result<Vec<JobReply>> {
        let may_fail = queues.iter().filter(|it| it.dead + it.scheduled > 0);
        let names = may_fail
            .map(|it| QueueName::new(&it.queue))
            .collect::<Result<Vec<_>>>()?;
        self.queues.retain(|name, _| names.contains(name));
        let turns = names.iter().cycle().skip(self.turn % names.len().max(1));
        for name in turns.take(QUEUES_MAX.min(names.len())) {
            self.queues
                .entry(name.clone())
                .or_default()
                .read(store, name)
                .await?;
        }
        self.turn = self.turn.wrapping_add(QUEUES_MAX);
        let all = self.queues.values().flat_map(|it| &it.failures);
        let mut all: Vec<_> = all.cloned().collect();
        all.sort_by_cached_key(|job| Reverse((failed_at(job).cloned(), job.id.clone())));
        all.truncate(FAILURES_MAX);
        Ok(all)
    }
}

/// When the job died or, before that, when its failed attempt started. RFC 3339 sorts by time.
fn failed_at(job: &JobReply) -> Option<&String> {
    job.finished_at.as_ref().or(job.started_at.as_ref())
}

impl QueueFailures {
    async fn read(&mut self, store: &dyn Store, queue: &QueueName) -> Result<()> {
        let dead = self.newest_dead(store, queue).await?;
        let scheduled = Filter {
            state: Some(JobState::Scheduled),
            ..Filter::default()
        };
        let scheduled = store.list(queue, &scheduled, None, PAGE).await?;
        let jobs = dead.into_iter().chain(scheduled.items);
        // A job without either was delayed.
        let failed = jobs.filter(|job| job.error.is_some() || job.reason.is_some());
        self.failures = failed.map(|job| JobReply::from(&job)).collect();
        Ok(())
    }

    async fn newest_dead(&mut self, store: &dyn Store, queue: &QueueName) -> Result<Vec<Job>> {
        let filter = Filter {
            state: Some(JobState::Dead),
            ..Filter::default()
        };
        let mut jobs = Vec::new();
        let mut from = self.from.take();
        for _ in 0..PAGES_MAX {
            let page = store.list(queue, &filter, from.clone(), PAGE).await?;
            jobs.extend(page.items);
            jobs.drain(..jobs.len().saturating_sub(2 * PAGE));
            // The last page may be empty, or be emptied by a retry: start one page before it.
            let Some(next) = page.next else { break };
            self.from = from.replace(next);
        }
        Ok(jobs)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use windlass::memory::MemoryStore;
    use windlass::store::{Change, ClaimRequest, Clock, JobLease, ManualClock, Retry, Target};
    use windlass::{NewJob, Timestamp};
    use windlass_api::request::{Queues, StoreRequest};

    use super::*;

    const JOBS: usize = 3 * PAGE + 7;

    async fn kill_all(store: &MemoryStore, clock: &ManualClock, queue: &QueueName) {
        while let Some(claim) = store.claim(queue, ClaimRequest::single(1)).await.unwrap() {
            clock.advance(Duration::from_secs(1));
            let lease = JobLease::new(claim.jobs[0].id.clone(), claim.token);
            let failure = lease.failure("no stamp\nmore").retry(Retry::Permanent);
            store.fail(queue, vec![failure]).await.unwrap();
        }
    }

    #[tokio::test]
    async fn the_newest_of_many_dead_jobs_come_first_also_after_some_are_gone() {
        let clock = Arc::new(ManualClock::new(Timestamp::from_ms(1_000_000)));
        let store = MemoryStore::new(Arc::clone(&clock) as Arc<dyn Clock>);
        let mail = QueueName::new("mail").unwrap();
        let job =
            |number| NewJob::new("x").id(windlass::JobId::new(format!("{number:04}")).unwrap());
        store
            .enqueue(&mail, (0..JOBS).map(job).collect())
            .await
            .unwrap();
        kill_all(&store, &clock, &mail).await;
        let mut reader = FailureReader::default();
        let queues = Queues {}.execute(&store).await.unwrap();

        for _ in 0..2 {
            let failures = reader.read(&store, &queues).await.unwrap();
            assert_eq!(failures[0].id, format!("{:04}", JOBS - 1));
            assert_eq!(failures[0].error.as_deref(), Some("no stamp\nmore"));
            assert!(failures.len() >= PAGE);
        }

        let all_but_few = (3..JOBS).map(|number| job(number).id).collect();
        store
            .change(&mail, Change::Delete, &Target::Ids(all_but_few), None)
            .await
            .unwrap();
        reader.read(&store, &queues).await.unwrap();
        let failures = reader.read(&store, &queues).await.unwrap();
        assert_eq!(failures[0].id, "0002");
    }
}
