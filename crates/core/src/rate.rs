//! Rates: how many jobs a queue may hand out per period.
//!
//! The algorithm is GCRA, which needs one number per limit: the time at which the next hand-out would be
//! on schedule. It never allows more than `count` hand-outs in any half-open period, whatever the burst, and
//! the time at which a closed limit opens is exact.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::duration;
use crate::error::{Error, Result};
use crate::limits::FUTURE_MAX;
use crate::time::{Now, Timestamp};

/// At most `count` hand-outs in any `period`, as in `100/1m`.
///
/// ```
/// use windlass_core::rate::Rate;
///
/// let rate: Rate = "2/1s".parse()?;
/// let limit = rate.limit(1);
/// let now = 1_000_000; // in microseconds
/// assert_eq!(limit.allowed(0, now), 1);
/// let next = limit.hand_out(0, now, 1);
/// assert_eq!(limit.allowed(next, now), 0);
/// assert_eq!(limit.opens_at(next), now + 500_000);
/// # Ok::<(), windlass_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    count: u32,
    period: Duration,
}

impl Rate {
    /// Creates a rate of `count` hand-outs per `period`.
    pub fn new(count: u32, period: Duration) -> Result<Self> {
        let invalid = |why: &str| Err(Error::invalid("rate", why, "use a rate such as 100/1m"));
        if count == 0 {
            return invalid("the number is 0");
        }
        if period.is_zero() || period > FUTURE_MAX {
            return invalid("the period is 0 or longer than 100 years");
        }
        if period.as_micros() < u128::from(count) {
            return invalid("more than one per microsecond");
        }
        Ok(Self { count, period })
    }

    /// Returns the number of hand-outs per period.
    pub const fn count(self) -> u32 {
        self.count
    }

    /// Returns the period.
    pub const fn period(self) -> Duration {
        self.period
    }

    /// Returns the limit with a burst: the number of hand-outs that may follow each other at once, at most
    /// the number of the rate.
    pub fn limit(self, burst: u32) -> RateLimit {
        let burst = u64::from(burst.clamp(1, self.count));
        let period_us = u64::try_from(self.period.as_micros()).unwrap_or(u64::MAX);
        let interval_us = period_us.div_ceil(u64::from(self.count) - burst + 1);
        RateLimit {
            period_us,
            interval_us,
            tolerance_us: (burst - 1).saturating_mul(interval_us),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, duration::format(self.period))
    }
}

impl FromStr for Rate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = |why: &str| Error::invalid("rate", why, "use a rate such as 100/1m");
        let (count, period) = text.split_once('/').ok_or_else(|| invalid("missing /"))?;
        let count = count.trim().parse();
        let count = count.map_err(|_| invalid("the number is not a whole number in range"))?;
        Self::new(count, duration::parse_named("period of a rate", period)?)
    }
}

/// A rate with its burst. The number of a limit (`next`) and all times are microseconds of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The period.
    pub period_us: u64,
    /// The time between two hand-outs on schedule.
    pub interval_us: u64,
    /// How far ahead of schedule a hand-out may be.
    pub tolerance_us: u64,
}

impl RateLimit {
    /// Returns how far ahead of now a burst moves the number of the limit.
    pub fn burst_us(&self) -> u64 {
        self.tolerance_us.saturating_add(self.interval_us)
    }

    /// Returns when a closed rate with this number opens.
    pub(crate) fn closed_until(&self, next_us: u64, now: Now) -> Option<Timestamp> {
        let opens_us = self.opens_at(self.followed(next_us, now));
        (opens_us > now.us).then(|| Timestamp::from_ms(opens_us.div_ceil(1000)))
    }

    /// Returns the number after a clock that was set back, which the next transaction follows.
    pub(crate) fn followed(&self, next_us: u64, now: Now) -> u64 {
        if now.stepped_back {
            self.cut(next_us, now.us)
        } else {
            next_us
        }
    }

    /// Returns how many hand-outs are allowed now.
    pub fn allowed(&self, next: u64, now: u64) -> u64 {
        let ahead = next.saturating_sub(now);
        match self.tolerance_us.checked_sub(ahead) {
            Some(left) => left / self.interval_us + 1,
            None => 0,
        }
    }

    /// Returns the number of the limit after `count` hand-outs now.
    pub fn hand_out(&self, next: u64, now: u64, count: u64) -> u64 {
        next.max(now)
            .saturating_add(count.saturating_mul(self.interval_us))
    }

    /// Returns the time from which a hand-out is allowed.
    pub fn opens_at(&self, next: u64) -> u64 {
        next.saturating_sub(self.tolerance_us)
    }

    /// Returns the number of the limit after the clock was set back to `now`, or after another rate: a closed limit opens
    /// after one period at most, and no period has more than its number.
    pub fn cut(&self, next: u64, now: u64) -> u64 {
        let latest = self.period_us.saturating_add(self.tolerance_us);
        next.min(now.saturating_add(latest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read_back_as_written() {
        for text in ["100/1m", "1/1d", "7/1h30m", "1000/1ms"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for bad in [
            "", "100", "0/1m", "5/0s", "x/1m", "-1/1m", "1001/1ms", "5/1", "1/99999d",
        ] {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
    }

    #[test]
    fn no_half_open_period_has_more_hand_outs_than_the_rate() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let (count, period) = (rng.u32(1..40), rng.u64(1_000..3_000_000));
            let rate = Rate::new(count, Duration::from_micros(period)).unwrap();
            let limit = rate.limit(rng.u32(1..=count + 3));
            let (mut next, mut now, mut times) = (0, 1_000_000_000, Vec::new());
            for _ in 0..400 {
                now += match rng.u8(..4) {
                    0 => 0,
                    1 => limit.opens_at(next).saturating_sub(now),
                    2 => rng.u64(..period / 4),
                    _ => rng.u64(..period * 2),
                };
                let taken = limit.allowed(next, now).min(rng.u64(..50));
                if taken > 0 {
                    next = limit.hand_out(next, now, taken);
                    times.extend(std::iter::repeat_n(now, usize::try_from(taken).unwrap()));
                }
            }
            for window in times.windows(count as usize + 1) {
                assert!(window[count as usize] - window[0] >= period, "{limit:?}");
            }
        }
    }

    #[test]
    fn a_whole_rate_is_reached() {
        let limit = Rate::new(10, Duration::from_secs(1)).unwrap().limit(1);
        let (mut next, mut taken) = (0, 0);
        for ms in 0..1_000 {
            let now = 1_000_000_000 + ms * 1_000;
            let allowed = limit.allowed(next, now);
            if allowed > 0 {
                next = limit.hand_out(next, now, allowed);
            }
            taken += allowed;
        }
        assert_eq!(taken, 10);
    }
}
