//! Where a case works: one open store, one queue, one clock that moves only when told.

mod verbs;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::dump::QueueDump;
use windlass_core::limits::LEASE_DEFAULT;
use windlass_core::{
    BootId, Claim, Clock, Enqueued, JobId, JobLease, JobState, ManualClock, NewJob, QueueName,
    Result, Store, Timestamp,
};

use crate::soundness;
use crate::store_under_test::StoreUnderTest;

/// Where every clock starts: the beginning of a minute, so that counts per minute are foreseeable.
const START: Timestamp = Timestamp::from_ms(28_333_334 * 60_000);

/// One open store with a queue of its own, and the small moves of which cases are made.
pub struct Fixture {
    /// The store under test.
    pub store: Arc<dyn Store>,
    /// Its only clock.
    pub clock: Arc<ManualClock>,
    /// A queue that no other case uses.
    pub queue: QueueName,
    opened: StoreUnderTest,
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture")
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

impl Fixture {
    /// Opens a store for the case named `case`.
    pub async fn open<F, O>(open: F, case: &str) -> Self
    where
        F: FnOnce(Arc<ManualClock>) -> O,
        O: Future<Output = StoreUnderTest>,
    {
        let clock = Arc::new(ManualClock::new(START));
        let opened = open(Arc::clone(&clock)).await;
        let queue = queue(case);
        Self {
            store: Arc::clone(&opened.store),
            clock,
            queue,
            opened,
        }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Lets a lease of the default length run out.
    pub fn outlast_lease(&self) {
        self.advance(LEASE_DEFAULT);
    }

    /// What the clock shows.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.clock.now_us() / 1000)
    }

    /// Everything the store holds of the case's queue; `None` before it exists.
    pub async fn dump(&self) -> Result<Option<QueueDump>> {
        self.opened.dump.dump(&self.queue).await
    }

    /// Everything the store holds of the case's queue.
    pub async fn snapshot(&self) -> Result<QueueDump> {
        let dump = self.dump().await?;
        Ok(dump.expect("the case has made its queue"))
    }

    /// The ids of ready jobs in the order they will be claimed.
    pub async fn ready(&self) -> Result<Vec<String>> {
        let lanes = self.snapshot().await?.ready;
        let ids = lanes
            .into_iter()
            .flat_map(|(suspects, others)| suspects.into_iter().chain(others));
        Ok(ids.map(|id| id.to_string()).collect())
    }

    /// The ids of jobs in `state`, in their order.
    pub async fn in_state(&self, state: JobState) -> Result<Vec<String>> {
        let jobs = self.snapshot().await?.jobs;
        let ids = jobs.into_iter().filter(|job| job.state == state);
        Ok(ids.map(|job| job.id.to_string()).collect())
    }

    /// Panics when the queue contradicts itself; every case ends with this.
    pub async fn assert_sound(&self) -> Result<()> {
        if let Some(dump) = self.dump().await? {
            let faults = soundness::faults(&dump);
            assert!(
                faults.is_empty(),
                "the queue contradicts itself:\n{}",
                faults.join("\n")
            );
        }
        Ok(())
    }
}

/// A job whose id and payload are both `name`.
pub fn named(name: &str) -> NewJob {
    NewJob::new(name.to_owned()).id(id(name))
}

/// `count` named jobs: `j000`, `j001` and so on, their names in the order of their numbers.
pub fn numbered(count: usize) -> Vec<NewJob> {
    (0..count).map(|n| named(&format!("j{n:03}"))).collect()
}

/// The id written `text`.
pub fn id(text: &str) -> JobId {
    JobId::new(text).expect("cases use valid ids")
}

/// The queue named `text`.
pub fn queue(text: &str) -> QueueName {
    QueueName::new(text).expect("cases use valid queue names")
}

/// The worker's life named `text`.
pub fn boot(text: &str) -> BootId {
    BootId::new(text).expect("cases use valid worker ids")
}

/// The hold of a claim on its job number `index`.
pub fn hold(claim: &Claim, index: usize) -> JobLease {
    JobLease::new(claim.jobs[index].id.clone(), claim.token)
}

/// The job that was there first, where an answer speaks of one.
pub fn duplicate_of(answer: &Enqueued) -> Option<(JobId, JobState)> {
    answer
        .is_duplicate()
        .then(|| (answer.id().clone(), answer.state()))
}

/// The holds of a claim on all its jobs.
pub fn holds(claim: &Claim) -> Vec<JobLease> {
    (0..claim.jobs.len())
        .map(|index| hold(claim, index))
        .collect()
}

/// The ids of a claim's jobs.
pub fn ids(claim: &Claim) -> Vec<&str> {
    claim.jobs.iter().map(|job| job.id.as_str()).collect()
}

/// So many seconds.
pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// So many milliseconds.
pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// All of a duration but its last millisecond.
pub const fn almost(duration: Duration) -> Duration {
    duration.saturating_sub(ms(1))
}
