//! Measured figures: their median, how far they spread, and how two sorts of them compare.

/// Figures of one kind, one per round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    pub(crate) fn push(&mut self, figure: f64) {
        self.0.push(figure);
    }

    pub(crate) fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// The figure below which this share of all lies.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted
            .get((last as f64 * share).round() as usize)
            .copied()
            .unwrap_or(f64::NAN)
    }

    /// The ratios to another sample, round by round.
    pub(crate) fn over(&self, other: &Self) -> Self {
        let ratios = self.0.iter().zip(&other.0).map(|(own, other)| own / other);
        Self(ratios.collect())
    }
}

/// The first number after the command, or a default: how large a run should be.
pub(crate) fn size_asked(default: usize) -> usize {
    std::env::args()
        .find_map(|word| word.parse().ok())
        .unwrap_or(default)
}
