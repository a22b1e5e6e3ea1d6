//! Exponential backoff with full jitter, so that many clients do not retry at the same moment.

use std::time::Duration;

/// Upper bound of the first delay.
const FIRST: Duration = Duration::from_millis(5);

/// Returns a random delay for the retry after this many failures, at most `max`.
pub(crate) fn jittered(failures: u32, max: Duration) -> Duration {
    let bound = FIRST
        .saturating_mul(1 << failures.min(16))
        .min(max)
        .as_secs_f64();
    Duration::from_secs_f64(bound * fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_grows_up_to_its_bound_and_is_spread_over_it() {
        let max = Duration::from_millis(500);
        for failures in [0, 1, 5, 10, 100, u32::MAX] {
            let delays: Vec<_> = (0..1000).map(|_| jittered(failures, max)).collect();
            let bound = FIRST.saturating_mul(1 << failures.min(16)).min(max);
            assert!(delays.iter().all(|delay| *delay <= bound));
            assert!(delays.iter().any(|delay| *delay < bound / 4));
            assert!(delays.iter().any(|delay| *delay > bound * 3 / 4));
        }
    }
}
