//! A histogram of durations in fixed buckets, so that those of partitions and minutes can be added.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::time::as_ms;

/// The last bucket holds everything above the one before.
const LAST: u8 = 38;

/// Durations by bucket. The bounds are 1, 2 and 5 ms, then ten times as much, and so on.
///
/// ```
/// # use std::time::Duration;
/// # use windlass_core::store::Histogram;
/// let mut waits = Histogram::default();
/// for ms in [3, 40, 4] {
///     waits.note(Duration::from_millis(ms));
/// }
/// assert_eq!(waits.percentile(50), Some(Duration::from_millis(5)));
/// assert_eq!(waits.percentile(99), Some(Duration::from_millis(50)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram(BTreeMap<u8, u64>);

impl Histogram {
    pub(super) const NONE: Self = Self(BTreeMap::new());

    /// The upper bound of a bucket in milliseconds.
    const fn bound(bucket: u8) -> u64 {
        [1, 2, 5][(bucket % 3) as usize] * 10_u64.pow((bucket / 3) as u32)
    }

    /// The bucket of a duration.
    fn bucket(ms: u64) -> u8 {
        let fits = |bucket: &u8| ms <= Self::bound(*bucket);
        (0..LAST).find(fits).unwrap_or(LAST)
    }

    /// Counts a duration.
    pub fn note(&mut self, duration: Duration) {
        *self.0.entry(Self::bucket(as_ms(duration))).or_default() += 1;
    }

    /// Adds the counts of another histogram.
    pub fn add(&mut self, other: &Self) {
        for (bucket, count) in &other.0 {
            let sum = self.0.entry(*bucket).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.0
            .values()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns the bound below which this percentage of the durations is; `None` without any.
    pub fn percentile(&self, percent: u64) -> Option<Duration> {
        let wanted = u128::from(self.count()) * u128::from(percent);
        let mut seen = 0;
        let reaches = |(_, count): &(&u8, &u64)| {
            seen += u128::from(**count) * 100;
            seen >= wanted
        };
        let (bucket, _) = self.0.iter().find(reaches)?;
        Some(Duration::from_millis(Self::bound(*bucket)))
    }

    /// Returns the bound below which all durations are; `None` without any.
    pub fn max(&self) -> Option<Duration> {
        self.percentile(100)
    }

    /// Returns the bound in milliseconds and the count of each bucket that is not empty, in order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0
            .iter()
            .map(|(bucket, count)| (Self::bound(*bucket), *count))
    }

    /// Creates a histogram from what [`Histogram::buckets`] returns.
    pub fn from_buckets(buckets: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let buckets = buckets.into_iter();
        Self(
            buckets
                .map(|(ms, count)| (Self::bucket(ms), count))
                .collect(),
        )
    }

    /// Writes the buckets that are not empty, each after a space.
    pub(super) fn write(&self) -> String {
        let mut text = String::new();
        for (bucket, count) in &self.0 {
            // Writing to a string cannot fail.
            let _ = write!(text, " {bucket}:{count}");
        }
        text
    }

    /// Reads buckets, in any order; `None` if one is not valid.
    pub(super) fn read<'a>(mut fields: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut buckets = BTreeMap::new();
        fields.try_for_each(|field| {
            let (bucket, count) = field.split_once(':')?;
            let bucket = bucket.parse().ok().filter(|bucket| *bucket <= LAST)?;
            buckets.insert(bucket, count.parse().ok()?);
            Some(())
        })?;
        Some(Self(buckets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        let buckets = [0, 1, 2, 3, 5, 6, 10, 11, 1000, 1001, u64::MAX].map(Histogram::bucket);
        assert_eq!(buckets, [0, 0, 1, 2, 2, 3, 3, 4, 9, 10, LAST]);
    }

    #[test]
    fn percentiles_are_bounds_of_buckets() {
        let mut waits = Histogram::from_buckets([(1, 98), (50, 1)]);
        waits.add(&Histogram::from_buckets([(5000, 1)]));
        let percentiles = [50, 98, 99, 100].map(|percent| waits.percentile(percent));
        let bounds = [1, 1, 50, 5000].map(|ms| Some(Duration::from_millis(ms)));
        assert_eq!(
            (percentiles, waits.max(), waits.count()),
            (bounds, bounds[3], 100)
        );
        assert_eq!(Histogram::NONE.max(), None);
    }
}
