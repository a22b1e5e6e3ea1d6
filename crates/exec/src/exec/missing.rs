//! A program that is not there is no fault of the jobs: after a few tries the worker slows down,
//! rather than burn the attempts of everything in the queue.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How many times in a row count as bad luck.
const FREE: u32 = 3;

/// The longest wait.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// How many times in a row the program could not be started.
#[derive(Debug, Default)]
pub(super) struct Missing(AtomicU32);

impl Missing {
    /// It was there.
    pub(super) fn found(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// It was not; how long to wait before the next job.
    pub(super) fn not_found(&self) -> Duration {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        wait(before.saturating_add(1))
    }
}

fn wait(times: u32) -> Duration {
    match times.checked_sub(FREE) {
        None | Some(0) => Duration::ZERO,
        Some(more) => Duration::from_secs(1 << (more - 1).min(10)).min(WAIT_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_to_its_bound_and_is_forgotten_once_the_program_is_there() {
        let missing = Missing::default();
        let waits: Vec<_> = (0..12).map(|_| missing.not_found().as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
        missing.found();
        assert_eq!(missing.not_found(), Duration::ZERO);
    }
}
