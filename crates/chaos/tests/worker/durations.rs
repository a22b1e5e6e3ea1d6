//! Percentiles of durations.

use std::fmt;
use std::time::Duration;

/// Sorted durations.
#[derive(Debug)]
pub(crate) struct Durations(Vec<Duration>);

impl Durations {
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The given percentile.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let index = (self.0.len() * percent).div_ceil(100).max(1) - 1;
        self.0.get(index).copied().unwrap_or_default()
    }
}

impl fmt::Display for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, most] = [50, 99, 100].map(|percent| self.percentile(percent).as_millis());
        write!(
            f,
            "p50 {p50} ms, p99 {p99} ms, longest {most} ms of {}",
            self.count()
        )
    }
}
