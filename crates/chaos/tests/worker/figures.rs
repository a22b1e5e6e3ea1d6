//! Figures of what took how long.

use std::fmt;
use std::time::Duration;

/// How long something took, many times.
#[derive(Debug)]
pub(crate) struct Figures(Vec<Duration>);

impl Figures {
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// What so many in a hundred do not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let place = (self.0.len() * percent).div_ceil(100).max(1) - 1;
        self.0.get(place).copied().unwrap_or_default()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, most] = [50, 99, 100].map(|percent| self.percentile(percent).as_millis());
        write!(
            f,
            "p50 {p50} ms, p99 {p99} ms, longest {most} ms of {}",
            self.count()
        )
    }
}
