//! Jobs: new jobs, stored jobs and their states.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use crate::attempt::AttemptRecord;
use crate::due::Due;
use crate::duplicate::{OnDuplicate, UniqueUntil};
use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::name::{BootId, GroupName, JobId, Kind, QueueName, ScheduleName, UniqueKey};
use crate::priority::Priority;
use crate::retry::RetryPolicy;
use crate::text_enum::text_enum;
use crate::time::Timestamp;
use crate::token::Token;

/// A job to enqueue. The id is set here, so that an enqueue can be repeated safely.
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
    /// The id. Enqueueing the same id again is a duplicate.
    pub id: JobId,
    /// Whether the caller chose the id. Such an id is remembered for `dedup_for` after the job finished.
    pub is_named: bool,
    /// The payload, returned byte for byte.
    pub payload: Bytes,
    /// The kind, which selects the handler in a worker.
    pub kind: Option<Kind>,
    /// The priority, from 0 (first) to 9 (last).
    pub priority: Priority,
    /// The group, whose jobs share limits.
    pub group: Option<GroupName>,
    /// The earliest time the job may run.
    pub due: Due,
    /// The retry policy.
    pub retry: RetryPolicy,
    /// The time limit of one attempt, enforced by the worker.
    pub timeout: Option<Duration>,
    /// If the job has not started by then, it becomes dead.
    pub expires: Option<Due>,
    /// At most one unfinished job in the queue can have this key.
    pub unique_key: Option<UniqueKey>,
    /// How long the job holds the key (default: until it ends).
    pub unique_until: UniqueUntil,
    /// The key stays held at least this long after the enqueue, even if the job ends earlier.
    pub unique_for: Option<Duration>,
    /// What happens if a waiting job has the id or the unique key (default: it is kept).
    pub on_duplicate: OnDuplicate,
    /// Postponing never moves a due time further than this after the job was enqueued.
    pub postpone_max: Option<Duration>,
    /// The headers.
    pub headers: Headers,
    /// Whether to keep the job after it succeeded without a result, for a caller that waits.
    pub keep_outcome: bool,
}

impl NewJob {
    /// Creates a job with a generated id and default options.
    pub fn new(payload: impl Into<Bytes>) -> Self {
        Self {
            id: JobId::generate(),
            is_named: false,
            payload: payload.into(),
            kind: None,
            priority: Priority::default(),
            group: None,
            due: Due::Now,
            retry: RetryPolicy::default(),
            timeout: None,
            expires: None,
            unique_key: None,
            unique_until: UniqueUntil::End,
            unique_for: None,
            on_duplicate: OnDuplicate::Keep,
            postpone_max: None,
            headers: Headers::default(),
            keep_outcome: false,
        }
    }

    /// Whether it differs from `other` at most in id and payload: stores describe such jobs once.
    pub fn has_options_of(&self, other: &Self) -> bool {
        let without = |job: &Self| Self {
            id: self.id.clone(),
            payload: Bytes::new(),
            ..job.clone()
        };
        without(self) == without(other)
    }

    /// Sets the id. Enqueueing the same id again returns a duplicate.
    #[must_use]
    pub fn id(mut self, id: JobId) -> Self {
        self.id = id;
        self.is_named = true;
        self
    }

    /// Sets the kind.
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Sets the priority (default: 5).
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the group, whose jobs share limits (default: no group).
    #[must_use]
    pub fn group(mut self, group: GroupName) -> Self {
        self.group = Some(group);
        self
    }

    /// Delays the job by `delay` from now.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.due = Due::After(delay);
        self
    }

    /// Delays the job until `at`.
    #[must_use]
    pub fn at(mut self, at: Timestamp) -> Self {
        self.due = Due::At(at);
        self
    }

    /// Sets the retry policy.
    #[must_use]
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the time limit of one attempt (default: no limit).
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the time by which the job must have started (default: no expiry).
    #[must_use]
    pub fn expires(mut self, expires: Due) -> Self {
        self.expires = Some(expires);
        self
    }

    /// Sets a key that only one unfinished job in the queue can have.
    #[must_use]
    pub fn unique_key(mut self, key: UniqueKey) -> Self {
        self.unique_key = Some(key);
        self
    }

    /// Sets how long the job holds its unique key (default: until it ends).
    #[must_use]
    pub fn unique_until(mut self, until: UniqueUntil) -> Self {
        self.unique_until = until;
        self
    }

    /// Holds the unique key for at least `time` after the enqueue, even if the job ends earlier.
    /// Cancelling or deleting the job frees it.
    #[must_use]
    pub fn unique_for(mut self, time: Duration) -> Self {
        self.unique_for = Some(time);
        self
    }

    /// Sets what happens if a waiting job has the id or the unique key (default: it is kept).
    #[must_use]
    pub fn on_duplicate(mut self, on_duplicate: OnDuplicate) -> Self {
        self.on_duplicate = on_duplicate;
        self
    }

    /// Limits how far a due time can be postponed: to `max` after the job was enqueued.
    #[must_use]
    pub fn postpone_max(mut self, max: Duration) -> Self {
        self.postpone_max = Some(max);
        self
    }

    /// Sets the headers.
    #[must_use]
    pub fn headers(mut self, headers: Headers) -> Self {
        self.headers = headers;
        self
    }

    /// Keeps the job after it finished, even without a result, for a caller that waits.
    #[must_use]
    pub fn keep_outcome(mut self) -> Self {
        self.keep_outcome = true;
        self
    }
}

text_enum! {
    /// The state of a job.
    ///
    /// ```
    /// # use windlass_core as windlass;
    /// use windlass::JobState;
    ///
    /// assert_eq!(JobState::from_text("dead"), Some(JobState::Dead));
    /// assert!(JobState::Dead.is_final() && JobState::Ready.is_waiting());
    /// ```
    JobState {
        /// Waiting for the previous job of its schedule to end.
        Pending = "pending",
        /// Waiting for its due time.
        Scheduled = "scheduled",
        /// Waiting for a worker.
        Ready = "ready",
        /// Leased to a worker.
        Running = "running",
        /// Finished successfully.
        Succeeded = "succeeded",
        /// Failed permanently. An operator can retry it.
        Dead = "dead",
        /// Cancelled.
        Cancelled = "cancelled",
    }
}

impl JobState {
    /// Returns whether the job has finished: succeeded, dead or cancelled.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Dead | Self::Cancelled)
    }

    /// Returns whether the job is waiting: pending, scheduled or ready.
    pub const fn is_waiting(self) -> bool {
        matches!(self, Self::Pending | Self::Scheduled | Self::Ready)
    }
}

text_enum! {
    /// Why a job is dead.
    #[non_exhaustive]
    Reason {
        /// The last allowed attempt failed.
        Exhausted = "exhausted",
        /// An attempt failed with a permanent error.
        Permanent = "permanent",
        /// The next attempt would start after the retry deadline.
        Deadline = "deadline",
        /// Its lease expired too often, probably because it crashes its worker.
        Poison = "poison",
        /// It did not start before its expiry.
        Expired = "expired",
    }
}

/// The progress of a running job.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The fraction done.
    pub fraction: Fraction,
    /// A message for operators.
    pub message: Option<String>,
    /// When it was reported.
    pub at: Timestamp,
}

/// A fraction from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Fraction(f64);

impl Fraction {
    /// Creates a fraction; fails if it is out of range.
    pub fn new(fraction: f64) -> Result<Self> {
        if (0.0..=1.0).contains(&fraction) {
            Ok(Self(fraction))
        } else {
            Err(Error::invalid(
                "progress",
                format!("{fraction} is out of range"),
                "use a fraction from 0 to 1",
            ))
        }
    }

    /// Returns the fraction as a number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// A stored job.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The id, unique in the queue.
    pub id: JobId,
    /// The queue.
    pub queue: QueueName,
    /// The state.
    pub state: JobState,
    /// Whether the caller chose the id.
    pub is_named: bool,
    /// The kind, which selects the handler in a worker.
    pub kind: Option<Kind>,
    /// The priority, from 0 (first) to 9 (last).
    pub priority: Priority,
    /// The group, whose jobs share limits.
    pub group: Option<GroupName>,
    /// The payload. `None` in listings.
    pub payload: Option<Bytes>,
    /// The headers.
    pub headers: Headers,
    /// The retry policy.
    pub retry: RetryPolicy,
    /// The time limit of one attempt.
    pub timeout: Option<Duration>,
    /// The unique key, in use until the job finishes. `None` after a job with
    /// [`UniqueUntil::Start`] started.
    pub unique_key: Option<UniqueKey>,
    /// How long the job holds the key.
    pub unique_until: UniqueUntil,
    /// The key stays held at least this long after the enqueue.
    pub unique_for: Option<Duration>,
    /// The schedule that enqueued the job.
    pub schedule: Option<ScheduleName>,
    /// Whether to keep the job after it succeeded without a result.
    pub keep_outcome: bool,
    /// The number of the current or next attempt, starting at 1.
    pub attempt: u32,
    /// How often a lease on this job expired.
    pub expiries: u32,
    /// When the job was enqueued.
    pub created_at: Timestamp,
    /// When the job became or becomes due.
    pub due_at: Timestamp,
    /// If the job has not started by then, it becomes dead.
    pub expires_at: Option<Timestamp>,
    /// When the job was last claimed.
    pub started_at: Option<Timestamp>,
    /// When a worker accepted the job: the time of the claim, except in dispatch mode.
    pub accepted_at: Option<Timestamp>,
    /// When the job finished.
    pub finished_at: Option<Timestamp>,
    /// The latest progress, while running.
    pub progress: Option<Progress>,
    /// The result of a succeeded job. `None` in listings.
    pub result: Option<Bytes>,
    /// The error of the last failed attempt.
    pub error: Option<String>,
    /// The last attempts that failed or lost their lease, oldest first, at most 10. Empty in listings.
    pub attempts: Vec<AttemptRecord>,
    /// Why the job is dead.
    pub reason: Option<Reason>,
    /// The worker that runs the job, if known.
    pub worker: Option<BootId>,
    /// The token of the current claim.
    pub token: Option<Token>,
    /// When the lease of the running job ends, unless it is renewed. `None` in listings.
    pub lease_until: Option<Timestamp>,
    /// Whether the cancellation of the running job was requested.
    pub is_cancel_requested: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn every_state_is_parsed_from_its_text() {
        for state in JobState::ALL {
            assert_eq!(JobState::from_text(state.as_str()), Some(*state));
        }
        assert_eq!(Reason::from_text("boredom"), None);
    }

    #[test]
    fn progress_beyond_its_bounds_is_refused() {
        for fraction in [-0.1, 1.1, f64::NAN] {
            let refused = Fraction::new(fraction).map_err(|error| error.kind());
            assert_eq!(refused, Err(ErrorKind::Invalid), "{fraction}");
        }
    }
}
