//! What a run of a crash test does besides kills and stops, drawn from its seed.

use windlass_core::Setting;

/// The conditions of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conditions {
    /// One job in this many has the largest payload; 0 for none.
    pub(crate) large_every: usize,
    /// Waiting claims in one process, besides the workers.
    pub(crate) waiters: usize,
    /// The partitions of the queue, in a store that supports them.
    pub(crate) partitions: u32,
}

impl Conditions {
    /// Draws each condition independently.
    pub(crate) fn draw(seed: u64) -> Self {
        // Not the numbers that the plan of the faults draws.
        let mut rng = fastrand::Rng::with_seed(seed ^ 0xc0_4d17);
        let mut either = |usual, other| if rng.bool() { usual } else { other };
        Self {
            large_every: either(0, 300),
            waiters: either(0, 500),
            partitions: u32::try_from(either(1, 8)).unwrap(),
        }
    }

    /// The settings of the queue.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        vec![format!("partitions={}", self.partitions).parse().unwrap()]
    }
}
