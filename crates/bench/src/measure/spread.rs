//! Summary of a metric over several rounds.

use serde::{Deserialize, Serialize};

/// Median and range of a metric over several rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

impl Spread {
    /// Summarizes values; `None` without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        } else {
            sorted[middle]
        };
        Some(Self {
            median: rounded(median),
            min: rounded(min),
            max: rounded(max),
        })
    }
}

/// Rounds to five significant digits, more than a run can resolve.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 4.0 - value.abs().log10().floor();
    let scale = 10f64.powf(digits);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(values: &[f64]) -> (f64, f64, f64) {
        let spread = Spread::of(values.iter().copied()).unwrap();
        (spread.median, spread.min, spread.max)
    }

    fn near(a: (f64, f64, f64), b: (f64, f64, f64)) -> bool {
        [(a.0, b.0), (a.1, b.1), (a.2, b.2)]
            .iter()
            .all(|(a, b)| (a - b).abs() < 1e-9)
    }

    #[test]
    fn the_median_is_the_middle_of_the_sorted_rounds() {
        assert!(near(spread(&[3.0, 1.0, 9.0]), (3.0, 1.0, 9.0)));
        assert!(near(spread(&[4.0, 1.0, 2.0, 9.0]), (3.0, 1.0, 9.0)));
        assert!(near(
            spread(&[0.000_123_456_7]),
            (0.000_123_46, 0.000_123_46, 0.000_123_46)
        ));
    }
}
