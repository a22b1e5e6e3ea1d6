//! The set-up of a case: an open store, a queue and a manual clock.

mod groups;
mod schedules;
mod verbs;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::dump::QueueDump;
use windlass_core::limits::LEASE_DEFAULT;
use windlass_core::{
    BootId, Claim, Clock, Enqueued, JobId, JobLease, JobState, ManualClock, NewJob, Priority,
    QueueName, Result, Store, Timestamp,
};

pub use self::groups::{group_name, grouped};
pub use self::schedules::{every, schedule_name, skips};
use crate::soundness;
use crate::store_under_test::StoreUnderTest;

/// The start of every clock: the beginning of a minute, so that counts per minute are predictable.
const START: Timestamp = Timestamp::from_ms(28_333_334 * 60_000);

/// An open store with a separate queue, and helpers for cases.
pub struct Fixture {
    /// The store under test.
    pub store: Arc<dyn Store>,
    /// Its only clock.
    pub clock: Arc<ManualClock>,
    /// A queue that no other case uses.
    pub queue: QueueName,
    under_test: StoreUnderTest,
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
        let under_test = open(Arc::clone(&clock)).await;
        let queue = queue(case);
        Self {
            store: Arc::clone(&under_test.store),
            clock,
            queue,
            under_test,
        }
    }

    /// Enqueues the job `name` with a priority.
    pub async fn enqueue_at(&self, level: u8, name: &str) -> Result<()> {
        let job = named(name).priority(Priority::new(level)?);
        self.enqueue(job).await.map(drop)
    }

    /// Returns whether the promise of a case applies to the store.
    pub fn promises(&self, case: &str) -> bool {
        !self.under_test.except.contains(&case)
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Lets a lease of the default duration expire.
    pub fn outlast_lease(&self) {
        self.advance(LEASE_DEFAULT);
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.clock.now_us() / 1000)
    }

    /// Dumps the queue of the case; `None` before it exists.
    pub async fn dump(&self) -> Result<Option<QueueDump>> {
        self.under_test.dump.dump(&self.queue).await
    }

    /// Dumps the queue of the case.
    pub async fn snapshot(&self) -> Result<QueueDump> {
        let dump = self.dump().await?;
        Ok(dump.expect("the queue exists"))
    }

    /// Returns the ids of ready jobs in claim order.
    pub async fn ready(&self) -> Result<Vec<String>> {
        let lanes = self.snapshot().await?.ready;
        let ids = lanes
            .into_iter()
            .flat_map(|(suspects, others)| suspects.into_iter().chain(others));
        Ok(ids.map(|id| id.to_string()).collect())
    }

    /// Returns the ids of jobs in `state`, ordered.
    pub async fn in_state(&self, state: JobState) -> Result<Vec<String>> {
        let jobs = self.snapshot().await?.jobs;
        let ids = jobs.into_iter().filter(|job| job.state == state);
        Ok(ids.map(|job| job.id.to_string()).collect())
    }

    /// Panics if the queue violates an invariant. Every case ends with this.
    pub async fn assert_sound(&self) -> Result<()> {
        if let Some(dump) = self.dump().await? {
            let problems = soundness::problems(&dump);
            assert!(
                problems.is_empty(),
                "the queue is inconsistent:\n{}",
                problems.join("\n")
            );
        }
        Ok(())
    }
}

/// Creates a job whose id and payload are both `name`.
pub fn named(name: &str) -> NewJob {
    NewJob::new(name.to_owned()).id(id(name))
}

/// Creates `count` jobs named `j000`, `j001` and so on.
pub fn numbered(count: usize) -> Vec<NewJob> {
    (0..count).map(|n| named(&format!("j{n:03}"))).collect()
}

/// Creates a job id.
pub fn id(text: &str) -> JobId {
    JobId::new(text).expect("cases use valid ids")
}

/// Creates a queue name.
pub fn queue(text: &str) -> QueueName {
    QueueName::new(text).expect("cases use valid queue names")
}

/// Creates a boot id.
pub fn boot(text: &str) -> BootId {
    BootId::new(text).expect("cases use valid worker ids")
}

/// The lease on one job: itself, or the one on the first job of a claim.
pub trait OneLease {
    /// Returns the lease.
    fn lease(self) -> JobLease;
}

impl OneLease for JobLease {
    fn lease(self) -> JobLease {
        self
    }
}

impl OneLease for &Claim {
    fn lease(self) -> JobLease {
        lease_of(self, 0)
    }
}

/// Returns the lease on the job with index `index` of a claim.
pub fn lease_of(claim: &Claim, index: usize) -> JobLease {
    JobLease::new(claim.jobs[index].id.clone(), claim.token)
}

/// Returns the existing job if the reply is a duplicate.
pub fn duplicate_of(reply: &Enqueued) -> Option<(JobId, JobState)> {
    reply
        .is_duplicate()
        .then(|| (reply.id().clone(), reply.state()))
}

/// Returns the leases on all jobs of a claim.
pub fn leases_of(claim: &Claim) -> Vec<JobLease> {
    (0..claim.jobs.len())
        .map(|index| lease_of(claim, index))
        .collect()
}

/// Returns the ids of the jobs of a claim.
pub fn ids(claim: &Claim) -> Vec<&str> {
    claim.jobs.iter().map(|job| job.id.as_str()).collect()
}

/// Returns `n` seconds.
pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Returns `n` milliseconds.
pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Returns a duration minus one millisecond.
pub const fn almost(duration: Duration) -> Duration {
    duration.saturating_sub(ms(1))
}
