//! The roles of actors, one file each, and what they share.

pub mod calls;
pub mod drainer;
pub mod enqueuer;
pub mod event_log;
pub mod grouped;
pub mod producer;
pub mod racer;
pub mod runtime_worker;
pub mod scheduled;
pub mod stop;
pub mod waiter;
pub mod worker;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::store::{ClaimedJob, DurabilityLevel};
use windlass_core::{JobLease, LeaseTime, QueueName, Result, Store};

use self::calls::CallTimes;
use self::event_log::EventLog;
use crate::event::{Event, JobOrder};
use crate::{LEASE, payload};

/// The longest delay before a retry.
const PAUSE_MAX_US: u64 = 10_000;

/// What an actor works with.
#[derive(Debug, Clone)]
pub struct ActorContext {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The queue.
    pub queue: QueueName,
    /// Where it logs events.
    pub events: EventLog,
    /// Durations of its calls, and their limit.
    pub calls: CallTimes,
    /// The durability level an enqueue must reach to count as accepted.
    pub level: DurabilityLevel,
    /// The lease of its claims.
    pub lease: LeaseTime,
    /// Whether a failover may undo claims and completions that were not replicated.
    pub may_roll_back: bool,
}

impl ActorContext {
    /// A context without a limit on calls, which accepts any durability level.
    pub fn new(store: Arc<dyn Store>, queue: QueueName, events: EventLog) -> Self {
        Self {
            store,
            queue,
            events,
            calls: CallTimes::default(),
            level: DurabilityLevel::Memory,
            lease: LeaseTime::nearest(LEASE),
            may_roll_back: false,
        }
    }

    /// Makes a call, and retries it on transient errors. Every call may be repeated: the store returns
    /// the same reply.
    pub async fn retry<T, F>(&self, call: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        loop {
            if let Some(reply) = self.once(call()).await? {
                return Ok(reply);
            }
            sleep(Duration::from_micros(fastrand::u64(..PAUSE_MAX_US))).await;
        }
    }

    /// Makes a call once; `None` on a transient error.
    pub async fn once<T>(&self, call: impl Future<Output = Result<T>>) -> Result<Option<T>> {
        self.skip_transient(self.calls.measured(&self.events, call).await)
    }

    /// Like [`Self::once`], for a call that may additionally wait for `wait`.
    pub async fn wait<T>(
        &self,
        wait: Duration,
        call: impl Future<Output = Result<T>>,
    ) -> Result<Option<T>> {
        self.skip_transient(self.calls.bounded(&self.events, wait, call).await)
    }

    /// Logs a claimed job, and checks its payload.
    fn claimed(&self, lease: JobLease, job: &ClaimedJob) {
        self.events.log(Event::Claimed(lease.clone()));
        self.events.log(Event::Ordered(lease, JobOrder::from(job)));
        if job.payload != payload::of(&job.id) {
            self.events
                .violation(format!("the payload of {} is corrupt", job.id));
        }
    }

    fn skip_transient<T>(&self, reply: Result<T>) -> Result<Option<T>> {
        match reply {
            Err(error) if error.is_transient() => {
                self.events.store_error(&error);
                Ok(None)
            }
            reply => reply.map(Some),
        }
    }
}
