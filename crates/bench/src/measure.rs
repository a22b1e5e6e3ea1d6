//! Metrics of a round, and their summary over all rounds.

mod latencies;
mod metrics;
mod spread;

pub(crate) use latencies::Latencies;
pub use metrics::Metric;
pub(crate) use metrics::{Metrics, Round};
pub use spread::Spread;

/// Converts a count to a float.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of jobs stay far below 2^53"
)]
pub(crate) fn real(count: u64) -> f64 {
    count as f64
}

/// The ratio of two values; `None` if the divisor is missing or zero.
pub(crate) fn over(value: f64, divisor: Option<f64>) -> Option<f64> {
    divisor
        .filter(|divisor| *divisor > 0.0)
        .map(|divisor| value / divisor)
}
