//! Small draws from a seeded source.

use std::time::Duration;

use fastrand::Rng;

/// One of a few values.
pub(super) fn pick<'a, T>(rng: &mut Rng, values: &'a [T]) -> &'a T {
    &values[rng.usize(..values.len())]
}

/// True `percent` times of a hundred.
pub(super) fn percent(rng: &mut Rng, percent: u8) -> bool {
    rng.u8(..100) < percent
}

/// A duration within bounds, in milliseconds.
pub(super) fn ms(rng: &mut Rng, range: std::ops::RangeInclusive<u64>) -> Duration {
    Duration::from_millis(rng.u64(range))
}
