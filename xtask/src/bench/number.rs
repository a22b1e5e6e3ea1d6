//! Medians with their spread, and numbers as people read them.

/// What several rounds gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) least: f64,
    pub(super) median: f64,
    pub(super) most: f64,
}

impl Spread {
    /// Of these figures; nothing when there are none.
    pub(super) fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let (least, most) = (*figures.first()?, *figures.last()?);
        let middle = figures.len() / 2;
        let median = if figures.len() % 2 == 1 {
            figures[middle]
        } else {
            f64::midpoint(figures[middle - 1], figures[middle])
        };
        Some(Self {
            least,
            median,
            most,
        })
    }

    /// `12 300 (11 900–12 600)`; the median alone when there was but one figure.
    pub(super) fn shown(&self) -> String {
        let (least, most) = (shown(self.least), shown(self.most));
        if least == most {
            return shown(self.median);
        }
        format!("{} ({least}–{most})", shown(self.median))
    }
}

/// Three digits that matter, thousands apart.
pub(super) fn shown(figure: f64) -> String {
    if figure == 0.0 {
        return "0".to_owned();
    }
    if figure < 100.0 {
        let digits = match figure {
            tiny if tiny < 0.01 => 5,
            small if small < 1.0 => 3,
            small if small < 10.0 => 2,
            _ => 1,
        };
        return format!("{figure:.digits$}");
    }
    let mut unit = 1.0;
    while figure / unit >= 1_000.0 {
        unit *= 10.0;
    }
    let digits = format!("{:.0}", (figure / unit).round() * unit);
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
        let spread = Spread::of([12_340.0, 11_870.0, 12_611.0]).expect("three figures");
        assert_eq!(spread.shown(), "12 300 (11 900–12 600)");
        assert_eq!(Spread::of([0.5123]).expect("one").shown(), "0.512");
        let even = Spread::of([1.0, 2.0, 4.0, 9.0]).expect("four figures");
        assert_eq!(even.shown(), "3.00 (1.00–9.00)");
        assert!(Spread::of([]).is_none());
    }

    #[test]
    fn no_more_digits_are_shown_than_matter() {
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
