//! When something falls due, as callers say it.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::limits::AHEAD_MAX;
use crate::time::Timestamp;

/// When something falls due, as the caller says it; the store's clock decides what it means.
///
/// ```
/// # use windlass_core as windlass;
/// use std::time::Duration;
/// use windlass::{Due, Timestamp};
///
/// let now = Timestamp::from_ms(1_000);
/// assert_eq!(Due::After(Duration::from_secs(1)).resolve(now), Timestamp::from_ms(2_000));
/// assert_eq!(Due::At(Timestamp::from_ms(5)).resolve(now), now); // what is past is now
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Due {
    /// At once.
    #[default]
    Now,
    /// This long after the store has taken the request.
    After(Duration),
    /// At this moment of the store's clock; a moment in the past is now.
    At(Timestamp),
}

impl Due {
    /// The moment meant, on the store's clock.
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Now => now,
            Self::After(delay) => now.plus(delay),
            Self::At(at) => at.max(now),
        }
    }

    pub(crate) fn check(self, part: &str) -> Result<()> {
        let (is_far, help) = match self {
            Self::Now => (false, ""),
            Self::After(delay) => (delay > AHEAD_MAX, "use at most 100 years"),
            // Beyond the year 10000 a time is a mistake, and no calendar prints it.
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
    fn a_past_moment_means_now() {
        let now = Timestamp::from_ms(1_000);
        assert_eq!(Due::At(Timestamp::from_ms(5)).resolve(now), now);
        assert_eq!(
            Due::After(Duration::from_secs(1)).resolve(now),
            Timestamp::from_ms(2_000)
        );
    }
}
