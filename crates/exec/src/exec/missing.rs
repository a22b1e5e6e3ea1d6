//! Slows the worker down when its program cannot be started, so that a missing program does not use up
//! the attempts of all jobs in the queue.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How many failures in a row cause no wait.
const FREE: u32 = 3;

/// The longest wait.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// How many times in a row the program could not be started.
#[derive(Debug, Default)]
pub(super) struct Missing(AtomicU32);

impl Missing {
    /// Records that the program was started.
    pub(super) fn found(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Records that it was not; returns how long to wait before the next job.
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
    fn the_wait_grows_to_its_limit_and_is_reset_when_the_program_starts() {
        let missing = Missing::default();
        let waits: Vec<_> = (0..12).map(|_| missing.not_found().as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
        missing.found();
        assert_eq!(missing.not_found(), Duration::ZERO);
    }
}
