//! The jobs of one claim.

use std::sync::Arc;

use crate::boot_time::BootTime;
use crate::run::attempt::Attempt;

/// The jobs of one claim that are still held.
#[derive(Debug)]
pub(super) struct HeldClaim {
    pub(super) number: u64,
    pub(super) left: usize,
    /// How many were dropped without reporting an outcome. The store releases them when renewals
    /// stop naming the claim.
    pub(super) dropped: usize,
    pub(super) attempts: Vec<Option<Arc<Attempt>>>,
}

impl HeldClaim {
    pub(super) fn first(&self) -> Option<&Arc<Attempt>> {
        self.attempts.iter().flatten().next()
    }

    /// When its lease expires locally: one time for all its jobs.
    pub(super) fn expiry(&self) -> Option<BootTime> {
        self.first().map(|attempt| attempt.expiry.time())
    }

    pub(super) fn forget(&mut self, attempts: &[Arc<Attempt>], is_reported: bool) {
        for attempt in attempts {
            let held = self.attempts.get_mut(attempt.index);
            if held.is_some_and(|held| held.take().is_some()) {
                self.left -= 1;
                self.dropped += usize::from(!is_reported);
            }
        }
    }
}
