//! Due times.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::limits::FUTURE_MAX;
use crate::time::{Now, Timestamp};

/// A due time, resolved by the clock of the store.
///
/// ```
/// # use windlass_core as windlass;
/// use std::time::Duration;
/// use windlass::{Due, Timestamp};
///
/// let now = Timestamp::from_ms(1_000);
/// assert_eq!(Due::After(Duration::from_secs(1)).resolve(now), Timestamp::from_ms(2_000));
/// assert_eq!(Due::At(Timestamp::from_ms(5)).resolve(now), now); // a past time means now
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Due {
    /// Immediately.
    #[default]
    Now,
    /// This long after the store received the request.
    After(Duration),
    /// At this time. A time in the past means now.
    At(Timestamp),
}

impl Due {
    /// Returns the due time, given the current time of the store.
    pub fn resolve(self, now: impl Into<Now>) -> Timestamp {
        let now = now.into();
        match self {
            Self::Now => now.ms(),
            Self::After(delay) => now.after(delay),
            Self::At(at) => at.max(now.ms()),
        }
    }

    pub(crate) fn check(self, part: &str) -> Result<()> {
        let (is_far, help) = match self {
            Self::Now => (false, ""),
            Self::After(delay) => (delay > FUTURE_MAX, "use at most 100 years"),
            // Calendar formats end with the year 9999; a later time is a mistake.
            Self::At(at) => (
                at.as_ms() >= 253_402_300_800_000,
                "use a time before the year 10000",
            ),
        };
        if is_far {
            return Err(Error::invalid(part, "too far in the future", help));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_past_time_means_now() {
        let now = Timestamp::from_ms(1_000);
        assert_eq!(Due::At(Timestamp::from_ms(5)).resolve(now), now);
        assert_eq!(
            Due::After(Duration::from_secs(1)).resolve(now),
            Timestamp::from_ms(2_000)
        );
    }
}
