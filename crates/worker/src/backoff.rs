//! How long to wait before the next try of a call that failed for now.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(2);

/// Waits that double from 20 ms to 2 s, each drawn from its upper half.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The wait after one more failure.
    pub(crate) fn next(&mut self) -> Duration {
        let wait = FIRST
            .saturating_mul(1 << self.failures.min(10))
            .min(LONGEST);
        self.failures += 1;
        wait / 2 + wait.mul_f64(fastrand::f64() / 2.0)
    }

    /// Whether this is the first failure in a row: the one worth a log line.
    pub(crate) const fn is_fresh(&self) -> bool {
        self.failures == 0
    }

    /// Whether a caller in a hurry has tried often enough.
    pub(crate) const fn is_spent(&self) -> bool {
        self.failures > 3
    }

    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}
