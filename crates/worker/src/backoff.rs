//! How long to wait before retrying a call after a transient error.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(2);

/// Random between half and the full duration, so that workers do not synchronize.
pub(crate) fn jittered(duration: Duration) -> Duration {
    duration / 2 + duration.mul_f64(fastrand::f64() / 2.0)
}

/// Exponential backoff from 20 ms to 2 s, with jitter of up to half of each wait.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Records a failure and returns how long to wait.
    pub(crate) fn next(&mut self) -> Duration {
        let wait = FIRST
            .saturating_mul(1 << self.failures.min(10))
            .min(LONGEST);
        self.failures += 1;
        jittered(wait)
    }

    /// Whether a caller that is stopping now should stop retrying.
    pub(crate) const fn is_exhausted(&self) -> bool {
        self.failures > 3
    }

    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}
