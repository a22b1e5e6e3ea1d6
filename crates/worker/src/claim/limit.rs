//! How many jobs a claim asks for: half as many after a claim whose reply did not arrive, because the
//! reply may be too large for the link.

use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_core::limits::CLAIM_MAX;

/// How often a claim is sent without a reply before it is given up.
pub(crate) const CLAIM_TRIES: usize = 2;

/// The most jobs that a claim of a queue asks for.
#[derive(Debug)]
pub(crate) struct ClaimLimit(AtomicUsize);

impl ClaimLimit {
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(CLAIM_MAX))
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// A claim for this many jobs was given up.
    pub(crate) fn halve(&self, asked: usize) {
        self.0.fetch_min((asked / 2).max(1), Ordering::Relaxed);
    }

    /// A claim was answered with jobs. Slow, because the next size may be the one that fails.
    pub(crate) fn grow(&self) {
        let grown = |limit: usize| (limit < CLAIM_MAX).then_some(limit + 1);
        // Fails at the maximum.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_halves_down_to_one_job_and_grows_back() {
        let limit = ClaimLimit::new();
        limit.halve(50);
        assert_eq!(limit.get(), 25);
        for _ in 0..9 {
            limit.halve(limit.get());
        }
        assert_eq!(limit.get(), 1);
        for _ in 0..2 * CLAIM_MAX {
            limit.grow();
        }
        assert_eq!(limit.get(), CLAIM_MAX);
    }
}
