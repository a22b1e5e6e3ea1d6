//! Figures: how they are taken and what is made of several.

mod figures;
mod latencies;
mod spread;

pub use figures::Figure;
pub(crate) use figures::{Figures, Round};
pub(crate) use latencies::Latencies;
pub use spread::Spread;

/// A count as a figure.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of jobs stay far below 2^53"
)]
pub(crate) fn real(count: u64) -> f64 {
    count as f64
}

/// One figure over another; nothing where there is nothing to divide by.
pub(crate) fn over(part: f64, whole: Option<f64>) -> Option<f64> {
    whole.filter(|whole| *whole > 0.0).map(|whole| part / whole)
}
