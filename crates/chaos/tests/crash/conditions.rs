//! What a run of a crash test does besides kills and stops, drawn from its seed.

use std::time::Duration;

use windlass_chaos::LEASE;
use windlass_core::store::Setting;

/// The lease on a slow link, where one claim may take a second.
const SLOW_LEASE: Duration = Duration::from_millis(1_500);

/// The conditions of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conditions {
    /// One job in this many has the largest payload; 0 for none.
    pub(crate) large_every: usize,
    /// Waiting claims in one process, besides the workers.
    pub(crate) waiters: usize,
    /// The partitions of the queue, in a store that supports them.
    pub(crate) partitions: u32,
    /// The rate of the link to the server in bytes per second, which all processes share; 0 for a fast one.
    pub(crate) link: u32,
}

impl Conditions {
    /// Draws each condition independently.
    pub(crate) fn draw(seed: u64) -> Self {
        // Not the numbers that the plan of the faults draws.
        let mut rng = fastrand::Rng::with_seed(seed ^ 0xc0_4d17);
        let rate = u32::try_from(seed % 9).unwrap();
        let mut either = |usual, other| if rng.bool() { usual } else { other };
        Self {
            large_every: either(0, 300) as usize,
            waiters: either(0, 500) as usize,
            partitions: either(1, 8),
            link: either(0, 4_000_000 + 1_000_000 * rate),
        }
    }

    /// Without a link to a server.
    pub(crate) fn local(self) -> Self {
        Self { link: 0, ..self }
    }

    /// The lease of the workers.
    pub(crate) fn lease(&self) -> Duration {
        if self.link > 0 { SLOW_LEASE } else { LEASE }
    }

    /// The settings of the queue.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        vec![format!("partitions={}", self.partitions).parse().unwrap()]
    }
}
