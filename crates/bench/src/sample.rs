//! Many measurements of one thing.

/// Measurements, in any order.
#[derive(Debug, Default)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The value below which a share of the measurements lies.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index between 0 and the length"
    )]
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let at = (share * last as f64).round() as usize;
        sorted.get(at).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }
}
