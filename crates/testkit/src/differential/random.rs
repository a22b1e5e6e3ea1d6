//! Random values from a seeded generator.

use std::time::Duration;

use fastrand::Rng;

/// Returns one of the values.
pub(super) fn pick<'a, T>(rng: &mut Rng, values: &'a [T]) -> &'a T {
    &values[rng.usize(..values.len())]
}

/// Returns true with a probability of `percent`.
pub(super) fn percent(rng: &mut Rng, percent: u8) -> bool {
    rng.u8(..100) < percent
}

/// Returns a duration in a range of milliseconds.
pub(super) fn ms(rng: &mut Rng, range: std::ops::RangeInclusive<u64>) -> Duration {
    Duration::from_millis(rng.u64(range))
}
