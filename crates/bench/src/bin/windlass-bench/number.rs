//! Formats numbers and their spread.

use windlass_bench::Spread;

/// `12 300 (11 900–12 600)`; only the median if all values look the same.
pub(crate) fn spread(spread: &Spread) -> String {
    let [median, min, max] = [spread.median, spread.min, spread.max].map(shown);
    if min == max {
        return median;
    }
    format!("{median} ({min}–{max})")
}

/// Three significant digits, thousands separated by spaces.
pub(crate) fn shown(value: f64) -> String {
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
        let shown = |values: &[f64]| Spread::of(values.iter().copied()).map(|it| spread(&it));
        let wide = shown(&[12_340.0, 11_870.0, 12_611.0]);
        assert_eq!(wide.as_deref(), Some("12 300 (11 900–12 600)"));
        assert_eq!(shown(&[0.5123]).as_deref(), Some("0.512"));
        let even = shown(&[1.0, 2.0, 4.0, 9.0]);
        assert_eq!(even.as_deref(), Some("3.00 (1.00–9.00)"));
        assert_eq!(shown(&[]), None);
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
