//! A job: what is asked for when it is enqueued, and what is known of it afterwards.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use crate::due::Due;
use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::name::{BootId, JobId, Kind, QueueName, UniqueKey};
use crate::priority::Priority;
use crate::retry::RetryPolicy;
use crate::text_enum::text_enum;
use crate::time::Timestamp;
use crate::token::Token;

/// A job to be enqueued. Its id is fixed here, so that a call may be repeated.
///
/// ```
/// # use windlass_core as windlass;
/// use std::time::Duration;
/// use windlass::{Due, JobId, NewJob, Priority, RetryPolicy};
///
/// let job = NewJob::new("dear Ann")
///     .id(JobId::new("letter-1")?)
///     .priority(Priority::new(2)?)
///     .delay(Duration::from_secs(60))
///     .retry(RetryPolicy::default().max_attempts(5))
///     .expires(Due::After(Duration::from_secs(3600)));
/// assert!(job.is_named);
/// # Ok::<(), windlass::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NewJob {
    /// The same id is the same job.
    pub id: JobId,
    /// The caller chose the id: it is remembered for `dedup_for` after the job's end.
    pub is_named: bool,
    /// Raw bytes, returned byte for byte.
    pub payload: Bytes,
    /// What sort of job it is.
    pub kind: Option<Kind>,
    /// 0 first, 9 last.
    pub priority: Priority,
    /// When it may run at the earliest.
    pub due: Due,
    /// What happens after a failed attempt.
    pub retry: RetryPolicy,
    /// How long one attempt may take; workers enforce it.
    pub timeout: Option<Duration>,
    /// When it is no longer worth running.
    pub expires: Option<Due>,
    /// At most one live job of the queue holds this key.
    pub unique_key: Option<UniqueKey>,
    /// Small facts beside the payload.
    pub headers: Headers,
    /// Somebody waits for the outcome: keep it even when there is no result.
    pub keep_outcome: bool,
}

impl NewJob {
    /// A job with a generated id and every default.
    pub fn new(payload: impl Into<Bytes>) -> Self {
        Self {
            id: JobId::generate(),
            is_named: false,
            payload: payload.into(),
            kind: None,
            priority: Priority::default(),
            due: Due::Now,
            retry: RetryPolicy::default(),
            timeout: None,
            expires: None,
            unique_key: None,
            headers: Headers::default(),
            keep_outcome: false,
        }
    }

    /// Chooses the id: enqueueing the same id again answers `duplicate`.
    #[must_use]
    pub fn id(mut self, id: JobId) -> Self {
        self.id = id;
        self.is_named = true;
        self
    }

    /// Says what sort of job it is.
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Sets the priority (5 unless said).
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Runs it no earlier than `delay` from now.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.due = Due::After(delay);
        self
    }

    /// Runs it no earlier than `at`.
    #[must_use]
    pub fn at(mut self, at: Timestamp) -> Self {
        self.due = Due::At(at);
        self
    }

    /// Sets what happens after a failed attempt.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Limits the time of one attempt (no limit unless said).
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Gives the job up when it has not started by then.
    #[must_use]
    pub fn expires(mut self, expires: Due) -> Self {
        self.expires = Some(expires);
        self
    }

    /// Holds a key that no other live job of the queue may hold.
    #[must_use]
    pub fn unique_key(mut self, key: UniqueKey) -> Self {
        self.unique_key = Some(key);
        self
    }

    /// Sets all headers.
    #[must_use]
    pub fn headers(mut self, headers: Headers) -> Self {
        self.headers = headers;
        self
    }

    /// Keeps the outcome for whoever waits for it.
    #[must_use]
    pub fn keep_outcome(mut self) -> Self {
        self.keep_outcome = true;
        self
    }
}

/// How safe an accepted job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DurabilityLevel {
    /// The store holds it in memory.
    Memory,
    /// This many replicas hold it as well.
    Replicated(u32),
    /// It is on disk.
    Synced,
}

impl fmt::Display for DurabilityLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Replicated(count) => write!(f, "replicated:{count}"),
            Self::Synced => f.write_str("synced"),
        }
    }
}

/// What became of one job handed to `enqueue`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Enqueued {
    /// It is stored.
    Accepted {
        /// Its id.
        id: JobId,
        /// Ready or scheduled.
        state: JobState,
        /// The durability reached.
        level: DurabilityLevel,
    },
    /// The id, or the unique key, belongs to a job that is already here or just ended.
    Duplicate {
        /// The id of the first job.
        id: JobId,
        /// The first job's state.
        state: JobState,
        /// The durability the first job has reached by now.
        level: DurabilityLevel,
    },
}

impl Enqueued {
    /// The id of the job this answer speaks of.
    pub fn id(&self) -> &JobId {
        match self {
            Self::Accepted { id, .. } | Self::Duplicate { id, .. } => id,
        }
    }

    /// The state of the job this answer speaks of.
    pub const fn state(&self) -> JobState {
        match self {
            Self::Accepted { state, .. } | Self::Duplicate { state, .. } => *state,
        }
    }

    /// How safe the job is that this answer speaks of.
    pub const fn level(&self) -> DurabilityLevel {
        match self {
            Self::Accepted { level, .. } | Self::Duplicate { level, .. } => *level,
        }
    }

    /// Whether another job was there first.
    pub const fn is_duplicate(&self) -> bool {
        matches!(self, Self::Duplicate { .. })
    }
}

text_enum! {
    /// Where a job is in its life.
    ///
    /// ```
    /// # use windlass_core as windlass;
    /// use windlass::JobState;
    ///
    /// assert_eq!(JobState::from_text("dead"), Some(JobState::Dead));
    /// assert!(JobState::Dead.is_final() && JobState::Ready.is_waiting());
    /// ```
    JobState {
        /// Waits for its due time.
        Scheduled = "scheduled",
        /// Waits for a worker.
        Ready = "ready",
        /// A worker holds a lease on it.
        Running = "running",
        /// Ended well.
        Succeeded = "succeeded",
        /// Ended badly; may be retried by hand.
        Dead = "dead",
        /// Ended because somebody asked.
        Cancelled = "cancelled",
    }
}

impl JobState {
    /// Whether the job has ended.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Dead | Self::Cancelled)
    }

    /// Whether the job waits: not yet started, not ended.
    pub const fn is_waiting(self) -> bool {
        matches!(self, Self::Scheduled | Self::Ready)
    }
}

text_enum! {
    /// Why a job is dead.
    #[non_exhaustive]
    Reason {
        /// The last allowed attempt failed.
        Exhausted = "exhausted",
        /// An attempt failed and said that trying again is useless.
        Permanent = "permanent",
        /// The next attempt would come after the retry deadline.
        Deadline = "deadline",
        /// It took its worker down too often.
        Poison = "poison",
        /// It did not start before its expiry.
        Expired = "expired",
    }
}

/// How far an attempt has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// 0 to 1.
    pub fraction: f64,
    /// What is being done.
    pub message: Option<String>,
    /// When the store heard of it.
    pub at: Timestamp,
}

impl Progress {
    /// Checks that a fraction lies between 0 and 1.
    pub fn check(fraction: f64) -> Result<()> {
        if (0.0..=1.0).contains(&fraction) {
            Ok(())
        } else {
            Err(Error::invalid(
                "progress",
                format!("{fraction} is out of range"),
                "use a fraction from 0 to 1",
            ))
        }
    }
}

/// Everything known of a stored job.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its id within the queue.
    pub id: JobId,
    /// Its queue.
    pub queue: QueueName,
    /// Where it is in its life.
    pub state: JobState,
    /// The caller chose its id.
    pub is_named: bool,
    /// What sort of job it is.
    pub kind: Option<Kind>,
    /// 0 first, 9 last.
    pub priority: Priority,
    /// The bytes it was enqueued with; absent in listings.
    pub payload: Option<Bytes>,
    /// Small facts beside the payload.
    pub headers: Headers,
    /// What happens after a failed attempt.
    pub retry: RetryPolicy,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// The key it holds while it lives.
    pub unique_key: Option<UniqueKey>,
    /// Somebody waits for the outcome.
    pub keep_outcome: bool,
    /// 1 + counted failures.
    pub attempt: u32,
    /// How often its lease ran out.
    pub expiries: u32,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When it fell or falls due.
    pub due_at: Timestamp,
    /// When it is no longer worth running.
    pub expires_at: Option<Timestamp>,
    /// When the latest claim handed it out.
    pub started_at: Option<Timestamp>,
    /// When a worker accepted it; for all but dispatched claims the moment of the claim.
    pub accepted_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The latest progress of a running job.
    pub progress: Option<Progress>,
    /// What a succeeded job left; absent in listings.
    pub result: Option<Bytes>,
    /// What the latest failed attempt said.
    pub error: Option<String>,
    /// Why a dead job is dead.
    pub reason: Option<Reason>,
    /// Who holds it, where a name is known.
    pub worker: Option<BootId>,
    /// The token of the claim that holds it.
    pub token: Option<Token>,
    /// Somebody asked the running job to stop.
    pub is_cancel_requested: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back() {
        for state in JobState::ALL {
            assert_eq!(JobState::from_text(state.as_str()), Some(*state));
        }
        assert_eq!(Reason::from_text("boredom"), None);
    }
}
