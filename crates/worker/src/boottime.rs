//! The clock of leases: unlike that of timers it runs on while the machine sleeps.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Time since the machine started, its sleep included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BootTime(u64);

impl BootTime {
    /// A moment that never comes.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    pub(crate) fn now() -> Self {
        let now = clock_gettime(CLOCK);
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        let nanos = u64::try_from(now.tv_nsec).unwrap_or_default();
        Self(seconds * 1_000_000 + nanos / 1_000)
    }

    pub(crate) const fn from_us(us: u64) -> Self {
        Self(us)
    }

    pub(crate) const fn as_us(self) -> u64 {
        self.0
    }

    pub(crate) fn plus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)),
        )
    }

    /// How long after `earlier` this is; zero when it is not after.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// How much further this clock must have gone than that of timers: more than the two are read apart.
const SLEPT_MIN: Duration = Duration::from_secs(1);

/// A moment by both clocks: that of timers stands still while the machine sleeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) time: BootTime,
    timer: Instant,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self {
            timer: Instant::now(),
            time: BootTime::now(),
        }
    }

    /// Whether the machine has slept since.
    pub(crate) fn has_slept(&self) -> bool {
        let passed = BootTime::now().since(self.time);
        passed > self.timer.elapsed() + SLEPT_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_slept_when_only_the_clock_of_leases_went_on() {
        let timer = Instant::now();
        let slept = Moment {
            time: BootTime::from_us(0),
            timer,
        };

        assert!(slept.has_slept());
        assert!(!Moment::now().has_slept());
    }
}
