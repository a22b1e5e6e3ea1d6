//! Why an attempt did not end well, and what comes next.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use windlass_core::{Due, Timestamp};
use windlass_worker::{RetryWhen, Outcome};

type Cause = Box<dyn StdError + Send + Sync>;

/// Why an attempt did not end well. `?` makes one of every error: tried again as the job's retry
/// policy says. The other ways are said by name.
///
/// ```
/// use windlass::JobError;
///
/// async fn charge(card: &str) -> Result<(), JobError> {
///     if card.is_empty() {
///         return Err(JobError::permanent("there is no card"));
///     }
///     let _amount: u32 = "12".parse()?; // again by policy
///     Ok(())
/// }
/// ```
///
/// It is no [`std::error::Error`] itself, so that it can be made of any of them. An error type of
/// your own decides by itself where it has `impl From<YourError> for JobError` and is no
/// `std::error::Error` either.
#[must_use = "it says something only when the handler returns it"]
pub struct JobError(Verdict);

enum Verdict {
    Failed { cause: Cause, retry: RetryWhen },
    Snooze(Due),
    Release,
}

impl JobError {
    /// The attempt failed; the job's retry policy says what comes next. Takes what `?` does not: a
    /// text, or a boxed error.
    pub fn new(cause: impl Into<Cause>) -> Self {
        Self::failed(cause, RetryWhen::ByPolicy)
    }

    /// The attempt failed, and trying again is useless: the job is dead.
    pub fn permanent(cause: impl Into<Cause>) -> Self {
        Self::failed(cause, RetryWhen::Never)
    }

    /// The attempt failed; the next comes after `delay`, while attempts are left.
    pub fn retry_after(delay: Duration, cause: impl Into<Cause>) -> Self {
        Self::failed(cause, RetryWhen::At(Due::After(delay)))
    }

    /// The attempt failed; the next comes at `at`, while attempts are left.
    pub fn retry_at(at: Timestamp, cause: impl Into<Cause>) -> Self {
        Self::failed(cause, RetryWhen::At(Due::At(at)))
    }

    /// Not now: again after `delay`, and this attempt does not count.
    pub fn snooze(delay: Duration) -> Self {
        Self(Verdict::Snooze(Due::After(delay)))
    }

    /// Not now: again at `at`, and this attempt does not count.
    pub fn snooze_until(at: Timestamp) -> Self {
        Self(Verdict::Snooze(Due::At(at)))
    }

    /// Somebody else should do it: back to the front at once, and this attempt does not count.
    pub fn release() -> Self {
        Self(Verdict::Release)
    }

    fn failed(cause: impl Into<Cause>, retry: RetryWhen) -> Self {
        let cause = cause.into();
        Self(Verdict::Failed { cause, retry })
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for JobError {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

impl From<JobError> for Outcome {
    fn from(error: JobError) -> Self {
        match error.0 {
            Verdict::Failed { cause, retry } => Self::Failed {
                error: told(cause.as_ref()),
                retry,
            },
            Verdict::Snooze(due) => Self::Snooze(due),
            Verdict::Release => Self::Release,
        }
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Verdict::Failed { cause, .. } => f.write_str(&told(cause.as_ref())),
            Verdict::Snooze(_) => f.write_str("put off"),
            Verdict::Release => f.write_str("given back"),
        }
    }
}

impl fmt::Debug for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Verdict::Failed { cause, retry } => f
                .debug_struct("JobError")
                .field("cause", cause)
                .field("again", retry)
                .finish(),
            Verdict::Snooze(due) => f.debug_tuple("JobError::Snooze").field(due).finish(),
            Verdict::Release => f.write_str("JobError::Release"),
        }
    }
}

/// An error and everything beneath it in one line. Some errors repeat their cause in their own
/// text; it is not said twice.
fn told(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use windlass_core::{Error, ErrorKind};

    use super::*;

    fn parse_error() -> std::num::ParseIntError {
        "x".parse::<u32>().unwrap_err()
    }

    #[test]
    fn any_error_is_tried_again_by_policy_and_tells_its_whole_chain() {
        let error = Error::new(ErrorKind::Internal, "the middle", "").caused_by(parse_error());
        let error = Error::new(ErrorKind::Internal, "the top", "").caused_by(error);

        let outcome = Outcome::from(JobError::from(error));

        let told = "the top: the middle: invalid digit found in string";
        assert_eq!(outcome, Outcome::failed(told));
    }

    #[test]
    fn a_cause_that_is_in_the_text_already_is_not_said_twice() {
        let cause = parse_error();
        let text = format!("bad amount: {cause}");
        let error = Error::new(ErrorKind::Internal, text.clone(), "").caused_by(cause);
        assert_eq!(JobError::from(error).to_string(), text);
    }

    #[test]
    fn each_way_says_what_comes_next() {
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
        assert_eq!(again(JobError::retry_at(at, "x")), RetryWhen::At(Due::At(at)));
        for (error, outcome) in [
            (JobError::snooze(delay), Outcome::Snooze(Due::After(delay))),
            (JobError::snooze_until(at), Outcome::Snooze(Due::At(at))),
            (JobError::release(), Outcome::Release),
        ] {
            assert_eq!(Outcome::from(error), outcome);
        }
    }
}
