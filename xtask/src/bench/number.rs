//! Medians with their spread, and number formatting.

/// Minimum, median and maximum of several rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) max: f64,
}

impl Spread {
    /// Returns `None` if there are no values.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Self { min, median, max })
    }

    /// `12 300 (11 900–12 600)`; only the median if all values look the same.
    pub(super) fn shown(&self) -> String {
        let (min, max) = (shown(self.min), shown(self.max));
        if min == max {
            return shown(self.median);
        }
        format!("{} ({min}–{max})", shown(self.median))
    }
}

/// Three significant digits, thousands separated by spaces.
pub(super) fn shown(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value < 100.0 {
        let digits = match value {
            tiny if tiny < 0.01 => 5,
            small if small < 1.0 => 3,
            small if small < 10.0 => 2,
            _ => 1,
        };
        return format!("{value:.digits$}");
    }
    let mut unit = 1.0;
    while value / unit >= 1_000.0 {
        unit *= 10.0;
    }
    let digits = format!("{:.0}", (value / unit).round() * unit);
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_shown_with_its_spread() {
        let spread = Spread::of([12_340.0, 11_870.0, 12_611.0]).expect("three values");
        assert_eq!(spread.shown(), "12 300 (11 900–12 600)");
        assert_eq!(Spread::of([0.5123]).expect("one").shown(), "0.512");
        let even = Spread::of([1.0, 2.0, 4.0, 9.0]).expect("four values");
        assert_eq!(even.shown(), "3.00 (1.00–9.00)");
        assert!(Spread::of([]).is_none());
    }

    #[test]
    fn only_significant_digits_are_shown() {
        let all = [
            0.0,
            0.000_123,
            0.0123,
            3.456,
            42.42,
            123.4,
            1_234_567.0,
            999.7,
        ];
        assert_eq!(
            all.map(shown),
            [
                "0",
                "0.00012",
                "0.012",
                "3.46",
                "42.4",
                "123",
                "1 230 000",
                "1 000"
            ]
        );
    }
}
