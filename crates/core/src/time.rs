//! Time is the store's: one clock, read once per step and guarded against going backwards.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment on the store's clock, in milliseconds since 1970.
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
    /// The moment `ms` milliseconds after 1970 began.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since 1970 began.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// This moment and `duration` more; stays at the last moment rather than wrap.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(as_ms(duration)))
    }

    /// How long after `earlier` this is; zero when it is not after.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl From<SystemTime> for Timestamp {
    /// The first whole millisecond that is not before `time`; what is before 1970 is its beginning.
    fn from(time: SystemTime) -> Self {
        Self(as_ms(time.duration_since(UNIX_EPOCH).unwrap_or_default()))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// Whole milliseconds of a duration, rounded up: a delay is never cut short.
pub fn as_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Where a store reads its time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Microseconds since 1970 began.
    fn now_us(&self) -> u64;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the machine's clock"
    )]
    fn now_us(&self) -> u64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }
}

/// A clock that moves only when told: for tests and simulation.
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
    /// A clock that stands at `start`.
    pub fn new(start: Timestamp) -> Self {
        Self(AtomicU64::new(start.as_ms() * 1000))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let by_us = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        self.0.fetch_add(by_us, Ordering::SeqCst);
    }

    /// Moves the clock back, as a badly set machine would.
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

/// How far behind its high-water mark a clock may be before the step back is believed.
pub const STEP_BACK_MAX: Duration = Duration::from_secs(5);

/// One reading of the clock, after the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Microseconds; also the new high-water mark.
    pub us: u64,
    /// The clock was set back: every lease end must be cut to now + its length.
    pub stepped_back: bool,
}

impl Now {
    /// Reads `clock` against the high-water `mark`, both in microseconds.
    ///
    /// A little behind (up to 5 s) the mark is used, so time never runs backwards; further behind
    /// the new time is adopted, or a clock once set wrong would stop the queue for hours.
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

    /// The reading in milliseconds.
    pub const fn ms(self) -> Timestamp {
        Timestamp(self.us / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guard_bridges_small_steps_and_believes_large_ones() {
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
    fn durations_round_up_to_whole_milliseconds() {
        assert_eq!(as_ms(Duration::from_micros(1)), 1);
        assert_eq!(as_ms(Duration::from_millis(7)), 7);
        assert_eq!(as_ms(Duration::MAX), u64::MAX);
    }
}
