//! Pauses between two tries: longer each time, and of random length, so that a crowd spreads out.

use std::time::Duration;

/// The longest the first pause may be.
const FIRST: Duration = Duration::from_millis(5);

/// A pause of random length after this many failures.
pub(crate) fn jittered(failures: u32, longest: Duration) -> Duration {
    let bound = FIRST
        .saturating_mul(1 << failures.min(16))
        .min(longest)
        .as_secs_f64();
    Duration::from_secs_f64(bound * fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_grows_up_to_its_bound_and_is_spread_over_it() {
        let longest = Duration::from_millis(500);
        for failures in [0, 1, 5, 10, 100, u32::MAX] {
            let pauses: Vec<_> = (0..1000).map(|_| jittered(failures, longest)).collect();
            let bound = FIRST.saturating_mul(1 << failures.min(16)).min(longest);
            assert!(pauses.iter().all(|pause| *pause <= bound));
            assert!(pauses.iter().any(|pause| *pause < bound / 4));
            assert!(pauses.iter().any(|pause| *pause > bound * 3 / 4));
        }
    }
}
