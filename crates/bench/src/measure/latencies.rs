//! Wait times in a histogram with three significant digits.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;

use super::{Round, real};

/// The upper bound of the histogram: an hour, in microseconds.
const LONGEST_US: u64 = 3_600_000_000;

/// Wait times, recorded by many tasks.
#[derive(Debug)]
pub(crate) struct Latencies(Mutex<Histogram<u64>>);

impl Latencies {
    pub(crate) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_US, 3);
        Self(Mutex::new(histogram.expect("valid bounds")))
    }

    pub(crate) fn record(&self, wait: Duration) {
        let wait = u64::try_from(wait.as_micros()).unwrap_or(LONGEST_US);
        self.lock().saturating_record(wait);
    }

    /// A quantile in milliseconds.
    pub(crate) fn quantile_ms(&self, quantile: f64) -> f64 {
        real(self.lock().value_at_quantile(quantile)) / 1e3
    }

    pub(crate) fn max_ms(&self) -> f64 {
        real(self.lock().max()) / 1e3
    }

    /// Records p50, p99 and the maximum below a name.
    pub(crate) fn record_to(&self, round: &mut Round, name: &str) {
        round.record(format!("{name}.p50"), self.quantile_ms(0.5));
        round.record(format!("{name}.p99"), self.quantile_ms(0.99));
        round.record(format!("{name}.max"), self.max_ms());
    }

    fn lock(&self) -> MutexGuard<'_, Histogram<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_a_hundred_waits_is_beyond_p50_and_within_max() {
        let waits = Latencies::new();
        for ms in 1..=100 {
            waits.record(Duration::from_millis(ms));
        }
        assert!((49.9..50.2).contains(&waits.quantile_ms(0.5)));
        assert!((98.9..99.3).contains(&waits.quantile_ms(0.99)));
        assert!((99.9..100.2).contains(&waits.max_ms()));
    }
}
