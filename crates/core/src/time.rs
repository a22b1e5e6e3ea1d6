//! Time. Only the clock of the store counts; it is read once per transaction and never goes backwards by
//! a small step.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time, in milliseconds since the Unix epoch.
///
/// ```
/// # use windlass_core as windlass;
/// use std::time::{Duration, SystemTime};
/// use windlass::Timestamp;
///
/// let tomorrow = SystemTime::now() + Duration::from_secs(24 * 60 * 60);
/// let at = Timestamp::from(tomorrow);
/// assert_eq!(at.plus(Duration::from_secs(1)).since(at), Duration::from_secs(1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Creates a timestamp from milliseconds since the Unix epoch.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Returns the milliseconds since the Unix epoch.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Adds a duration, saturating at the maximum.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(as_ms(duration)))
    }

    /// Returns the time since `earlier`, or zero if it is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl From<SystemTime> for Timestamp {
    /// Rounds up to whole milliseconds. Times before 1970 become 0.
    fn from(time: SystemTime) -> Self {
        Self(as_ms(time.duration_since(UNIX_EPOCH).unwrap_or_default()))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// Returns a duration in milliseconds, rounded up, so that a delay is never too short.
pub fn as_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The clock of a store.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Returns the microseconds since the Unix epoch.
    fn now_us(&self) -> u64;
}

/// The system clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the only place that reads the system clock"
    )]
    fn now_us(&self) -> u64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }
}

/// A clock that moves only when advanced, for tests and simulation.
///
/// ```
/// use std::time::Duration;
/// use windlass_core::{Clock, ManualClock, Timestamp};
///
/// let clock = ManualClock::new(Timestamp::from_ms(7));
/// clock.advance(Duration::from_millis(1));
/// assert_eq!(clock.now_us(), 8_000);
/// ```
#[derive(Debug)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// Creates a clock that shows `start`.
    pub fn new(start: Timestamp) -> Self {
        Self(AtomicU64::new(start.as_ms() * 1000))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let by_us = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        self.0.fetch_add(by_us, Ordering::SeqCst);
    }

    /// Moves the clock back, like a host whose clock was corrected.
    pub fn step_back(&self, by: Duration) {
        let by_us = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        self.0.fetch_sub(by_us, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_us(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// The largest step back that is ignored. After a larger one, the store adopts the new time.
pub const STEP_BACK_MAX: Duration = Duration::from_secs(5);

/// The current time of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Microseconds since the Unix epoch; also the new high-water mark.
    pub us: u64,
    /// Whether the clock was set back. If so, shorten every lease to now + its duration.
    pub stepped_back: bool,
}

impl Now {
    /// Computes the current time from `clock` and the high-water `mark`, both in microseconds.
    ///
    /// If the clock is up to 5 s behind, the mark is used, so that time does not go backwards. If it
    /// is further behind, the new time is adopted; otherwise a clock that was once wrong would stop
    /// the queue for hours.
    pub fn guard(mark: u64, clock: u64) -> Self {
        let step_us = u64::try_from(STEP_BACK_MAX.as_micros()).unwrap_or(u64::MAX);
        if clock >= mark {
            Self {
                us: clock,
                stepped_back: false,
            }
        } else if mark - clock <= step_us {
            Self {
                us: mark,
                stepped_back: false,
            }
        } else {
            Self {
                us: clock,
                stepped_back: true,
            }
        }
    }

    /// Returns the time in milliseconds, rounded down.
    pub const fn ms(self) -> Timestamp {
        Timestamp(self.us / 1000)
    }

    /// Returns the time after a delay, rounded up, so that it is never early. No delay means now.
    pub fn after(self, delay: Duration) -> Timestamp {
        if delay.is_zero() {
            return self.ms();
        }
        Timestamp(self.us.div_ceil(1000)).plus(delay)
    }
}

impl From<Timestamp> for Now {
    fn from(time: Timestamp) -> Self {
        Self {
            us: time.0.saturating_mul(1000),
            stepped_back: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_steps_back_are_ignored_and_large_ones_adopted() {
        assert_eq!(
            Now::guard(10, 20),
            Now {
                us: 20,
                stepped_back: false
            }
        );
        assert_eq!(
            Now::guard(5_000_010, 10),
            Now {
                us: 5_000_010,
                stepped_back: false
            }
        );
        assert_eq!(
            Now::guard(5_000_011, 10),
            Now {
                us: 10,
                stepped_back: true
            }
        );
    }

    #[test]
    fn a_delay_is_never_shorter_than_asked() {
        let now = Now::guard(0, 10_001);
        assert_eq!(now.ms(), Timestamp(10));
        assert_eq!(now.after(Duration::from_millis(5)), Timestamp(16));
        assert_eq!(now.after(Duration::ZERO), Timestamp(10));
        let now = Now::from(Timestamp(10));
        assert_eq!(now.after(Duration::from_millis(5)), Timestamp(15));
    }

    #[test]
    fn durations_round_up_to_whole_milliseconds() {
        assert_eq!(as_ms(Duration::from_micros(1)), 1);
        assert_eq!(as_ms(Duration::from_millis(7)), 7);
        assert_eq!(as_ms(Duration::MAX), u64::MAX);
    }
}
