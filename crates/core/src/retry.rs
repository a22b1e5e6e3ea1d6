//! Retry policies. Pure arithmetic, with the same result in every store.

use std::time::Duration;

use crate::due::Due;
use crate::error::{Error, Result};
use crate::job::Reason;
use crate::time::{Now, Timestamp, as_ms};

/// The longest delay of a policy: a year, which every store computes exactly.
const DELAY_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Retries after failed attempts with exponential backoff: `first × 2^n`, at most `max`.
///
/// ```
/// # use windlass_core as windlass;
/// use std::time::Duration;
/// use windlass::RetryPolicy;
///
/// let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3600));
/// let backoff = RetryPolicy::exponential(second, hour).max_attempts(40);
/// let fixed = RetryPolicy::fixed(10 * second);
/// assert_eq!(RetryPolicy::never().max_attempts, 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The total number of attempts (default: 20).
    pub max_attempts: u32,
    /// The delay after the first failure (default: 1s).
    pub delay_first: Duration,
    /// The longest delay (default: 1h).
    pub delay_max: Duration,
    /// Whether the delay is chosen at random from `0..=delay`, so that retries are spread out.
    pub has_jitter: bool,
    /// No attempt starts after this time.
    pub until: Option<Due>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 20,
            delay_first: Duration::from_secs(1),
            delay_max: Duration::from_secs(60 * 60),
            has_jitter: true,
            until: None,
        }
    }
}

impl RetryPolicy {
    /// Creates a policy with one attempt and no retries.
    pub fn never() -> Self {
        Self::default().max_attempts(1)
    }

    /// Creates a policy with the same delay after every failure, without jitter.
    pub fn fixed(delay: Duration) -> Self {
        Self {
            delay_first: delay,
            delay_max: delay,
            has_jitter: false,
            ..Self::default()
        }
    }

    /// Creates a policy whose delay doubles from `first` up to `max`, with jitter.
    pub fn exponential(first: Duration, max: Duration) -> Self {
        Self {
            delay_first: first,
            delay_max: max,
            ..Self::default()
        }
    }

    /// Sets the total number of attempts.
    #[must_use]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// Sets the time after which no attempt starts.
    #[must_use]
    pub fn until(mut self, until: Due) -> Self {
        self.until = Some(until);
        self
    }

    /// Returns the policy with its deadline as a time of the store.
    #[must_use]
    pub fn resolve(mut self, now: Now) -> Self {
        self.until = self.until.map(|until| Due::At(until.resolve(now)));
        self
    }

    /// Returns the delay before the next attempt after attempt number `attempt` failed.
    pub fn delay(&self, attempt: u32, jitter: Jitter) -> Duration {
        let doublings = attempt.saturating_sub(1).min(40);
        let first_ms = u128::from(as_ms(self.delay_first));
        let base_ms = (first_ms << doublings).min(u128::from(as_ms(self.delay_max)));
        let ms = if self.has_jitter {
            (base_ms * (u128::from(jitter.0) + 1)) >> 16
        } else {
            base_ms
        };
        Duration::from_millis(u64::try_from(ms).unwrap_or(u64::MAX))
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.max_attempts == 0 {
            return Err(Error::invalid(
                "retry policy",
                "max_attempts is 0; minimum 1",
                "allow at least 1 attempt",
            ));
        }
        if self.delay_first > DELAY_MAX || self.delay_max > DELAY_MAX {
            return Err(Error::invalid(
                "retry policy",
                "delay is too long; maximum 365d",
                "use a shorter delay",
            ));
        }
        self.until
            .map_or(Ok(()), |until| until.check("retry deadline"))
    }
}

/// A random factor, chosen by the caller so that stores stay deterministic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jitter(pub u16);

impl Jitter {
    /// Returns a random factor.
    pub fn random() -> Self {
        Self(fastrand::u16(..))
    }
}

/// What happens after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The job's policy decides.
    ByPolicy(Jitter),
    /// Retry at a time chosen by the handler. The number of attempts is still limited.
    At(Due),
    /// Do not retry: the job is dead.
    Permanent,
}

impl Retry {
    /// Returns when the next attempt is due after attempt number `attempt` failed, or why the job is
    /// dead.
    pub fn next_due(
        self,
        policy: &RetryPolicy,
        attempt: u32,
        now: impl Into<Now>,
    ) -> Result<Timestamp, Reason> {
        let now = now.into();
        let due = match self {
            Self::ByPolicy(jitter) => now.after(policy.delay(attempt, jitter)),
            Self::At(due) => due.resolve(now),
            Self::Permanent => return Err(Reason::Permanent),
        };
        let deadline = policy
            .until
            .map(|until| until.resolve(Timestamp::default()));
        if attempt >= policy.max_attempts {
            Err(Reason::Exhausted)
        } else if deadline.is_some_and(|deadline| due > deadline) {
            Err(Reason::Deadline)
        } else {
            Ok(due)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Jitter = Jitter(u16::MAX);

    #[test]
    fn delays_double_up_to_the_longest() {
        let policy = RetryPolicy::default();
        let seconds: Vec<_> = [1, 2, 3, 12, 13, 99]
            .map(|attempt| policy.delay(attempt, FULL).as_secs())
            .into_iter()
            .collect();
        assert_eq!(seconds, [1, 2, 4, 2048, 3600, 3600]);
    }

    #[test]
    fn jitter_spreads_over_the_whole_delay() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.delay(1, Jitter(0)), Duration::ZERO);
        assert_eq!(policy.delay(1, Jitter(32_767)), Duration::from_millis(500));
        assert_eq!(
            RetryPolicy::fixed(Duration::from_secs(7))
                .delay(9, Jitter(0))
                .as_secs(),
            7
        );
    }

    #[test]
    fn a_failure_is_final_if_permanent_or_if_attempts_or_time_run_out() {
        let now = Timestamp::from_ms(1_000);
        let at = |ms| Retry::At(Due::At(Timestamp::from_ms(ms)));
        let policy = RetryPolicy::default()
            .max_attempts(3)
            .until(Due::At(Timestamp::from_ms(5_000)));

        assert_eq!(
            at(5_000).next_due(&policy, 2, now),
            Ok(Timestamp::from_ms(5_000))
        );
        assert_eq!(at(5_001).next_due(&policy, 2, now), Err(Reason::Deadline));
        assert_eq!(at(2_000).next_due(&policy, 3, now), Err(Reason::Exhausted));
        assert_eq!(
            Retry::Permanent.next_due(&policy, 1, now),
            Err(Reason::Permanent)
        );
    }
}
