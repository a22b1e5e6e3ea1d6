//! The error of a handler, which decides what happens next.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use windlass_core::store::SnoozeScope;
use windlass_core::{Due, Timestamp};
use windlass_worker::{Outcome, RetryWhen};

type Cause = Box<dyn StdError + Send + Sync>;

/// The error of a handler. `?` converts any error into one that is retried according to the job's
/// retry policy; the constructors choose other behavior.
///
/// ```
/// use windlass::JobError;
///
/// async fn charge(card: &str) -> Result<(), JobError> {
///     if card.is_empty() {
///         return Err(JobError::permanent("no card"));
///     }
///     let _amount: u32 = "12".parse()?; // retried by policy
///     Ok(())
/// }
/// ```
///
/// It does not implement [`std::error::Error`], so that it can be converted from any error. To decide
/// per error, implement `From<YourError> for JobError` for a type that does not implement
/// `std::error::Error` either.
#[derive(Debug)]
#[must_use = "an error has no effect unless the handler returns it"]
pub struct JobError(Outcome);

impl JobError {
    /// The attempt failed; the job's retry policy decides what happens next. Accepts what `?` does not:
    /// a string, or a boxed error.
    pub fn new(cause: impl Into<Cause>) -> Self {
        Self::failed(cause, RetryWhen::ByPolicy)
    }

    /// The attempt failed and retrying cannot help: the job becomes dead.
    pub fn permanent(cause: impl Into<Cause>) -> Self {
        Self::failed(cause, RetryWhen::Never)
    }

    /// The attempt failed; retries after `delay` if attempts are left.
    pub fn retry_after(delay: Duration, cause: impl Into<Cause>) -> Self {
        Self::failed(cause, RetryWhen::At(Due::After(delay)))
    }

    /// The attempt failed; retries at `at` if attempts are left.
    pub fn retry_at(at: Timestamp, cause: impl Into<Cause>) -> Self {
        Self::failed(cause, RetryWhen::At(Due::At(at)))
    }

    /// Runs the job again after `delay`; this attempt does not count.
    pub fn snooze(delay: Duration) -> Self {
        Self(Outcome::snooze(delay))
    }

    /// Runs the job again at `at`; this attempt does not count.
    pub fn snooze_until(at: Timestamp) -> Self {
        let (due, scope) = (Due::At(at), SnoozeScope::Job);
        Self(Outcome::Snooze { due, scope })
    }

    /// Starts no job of this job's group for `delay`, in any worker; this attempt does not count. For a
    /// service that answers `429 Too Many Requests`. A job without a group is snoozed alone.
    ///
    /// ```
    /// # use windlass::JobError;
    /// use std::time::Duration;
    ///
    /// fn check(status: u16, retry_after: Option<u64>) -> Result<(), JobError> {
    ///     if status == 429 {
    ///         let seconds = retry_after.unwrap_or(60);
    ///         return Err(JobError::snooze_group(Duration::from_secs(seconds)));
    ///     }
    ///     Ok(())
    /// }
    /// # assert!(check(200, None).is_ok() && check(429, Some(5)).is_err());
    /// ```
    pub fn snooze_group(delay: Duration) -> Self {
        Self(Outcome::snooze_group(Due::After(delay)))
    }

    /// Starts no job of this job's group before `at`, like [`snooze_group`](Self::snooze_group).
    pub fn snooze_group_until(at: Timestamp) -> Self {
        Self(Outcome::snooze_group(Due::At(at)))
    }

    /// Starts no job of the queue for `delay`, in any worker; this attempt does not count.
    pub fn snooze_queue(delay: Duration) -> Self {
        Self(Outcome::snooze_queue(Due::After(delay)))
    }

    /// Starts no job of the queue before `at`; this attempt does not count.
    pub fn snooze_queue_until(at: Timestamp) -> Self {
        Self(Outcome::snooze_queue(Due::At(at)))
    }

    /// Returns the job to the front of its queue for another worker; this attempt does not count.
    pub fn release() -> Self {
        Self(Outcome::Release)
    }

    fn failed(cause: impl Into<Cause>, retry: RetryWhen) -> Self {
        let error = error_chain(cause.into().as_ref());
        Self(Outcome::Failed { error, retry })
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for JobError {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

impl From<JobError> for Outcome {
    fn from(error: JobError) -> Self {
        error.0
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Outcome::Failed { error, .. } => error,
            other => other.as_str(),
        })
    }
}

/// Formats an error and its sources in one line. A source that an error already includes in its text
/// is not repeated.
fn error_chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use windlass_core::{Error, ErrorKind};

    use super::*;

    fn snooze(at: Timestamp, scope: SnoozeScope) -> Outcome {
        let due = Due::At(at);
        Outcome::Snooze { due, scope }
    }

    fn parse_error() -> std::num::ParseIntError {
        "x".parse::<u32>().unwrap_err()
    }

    #[test]
    fn any_error_is_retried_by_policy_and_shows_its_sources() {
        let error = Error::new(ErrorKind::Internal, "the middle", "").caused_by(parse_error());
        let error = Error::new(ErrorKind::Internal, "the top", "").caused_by(error);

        let outcome = Outcome::from(JobError::from(error));

        let text = "the top: the middle: invalid digit found in string";
        assert_eq!(outcome, Outcome::failed(text));
    }

    #[test]
    fn a_source_that_the_text_includes_is_not_repeated() {
        let cause = parse_error();
        let text = format!("bad amount: {cause}");
        let error = Error::new(ErrorKind::Internal, text.clone(), "").caused_by(cause);
        assert_eq!(JobError::from(error).to_string(), text);
    }

    #[test]
    fn each_constructor_decides_what_happens_next() {
        let (delay, at) = (Duration::from_secs(3), Timestamp::from_ms(7));
        let again = |error: JobError| match Outcome::from(error) {
            Outcome::Failed { retry, .. } => retry,
            other => panic!("{other:?}"),
        };
        assert_eq!(again(JobError::new("x")), RetryWhen::ByPolicy);
        assert_eq!(again(JobError::permanent("x")), RetryWhen::Never);
        assert_eq!(
            again(JobError::retry_after(delay, "x")),
            RetryWhen::At(Due::After(delay))
        );
        assert_eq!(
            again(JobError::retry_at(at, "x")),
            RetryWhen::At(Due::At(at))
        );
        for (error, outcome) in [
            (JobError::snooze(delay), Outcome::snooze(delay)),
            (JobError::snooze_until(at), snooze(at, SnoozeScope::Job)),
            (
                JobError::snooze_group_until(at),
                snooze(at, SnoozeScope::Group),
            ),
            (
                JobError::snooze_queue_until(at),
                snooze(at, SnoozeScope::Queue),
            ),
            (
                JobError::snooze_group(delay),
                Outcome::snooze_group(Due::After(delay)),
            ),
            (
                JobError::snooze_queue(delay),
                Outcome::snooze_queue(Due::After(delay)),
            ),
            (JobError::release(), Outcome::Release),
        ] {
            assert_eq!(Outcome::from(error), outcome);
        }
    }
}
