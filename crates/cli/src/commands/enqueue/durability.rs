//! Notes on stderr if jobs were stored with a lower durability than the store URL requires. With
//! `--json` each reply has the level that was reached.

use windlass::DurabilityLevel;
use windlass::store::Enqueued;

use crate::output::Output;

/// The required level, and the lowest level of the jobs so far.
#[derive(Debug)]
pub(super) struct DurabilityCheck {
    required: DurabilityLevel,
    lowest: DurabilityLevel,
}

impl DurabilityCheck {
    pub(super) const fn new(required: DurabilityLevel) -> Self {
        Self {
            required,
            lowest: required,
        }
    }

    pub(super) fn record(&mut self, enqueued: &[Enqueued]) -> &Self {
        for job in enqueued {
            self.lowest = self.lowest.min(job.level());
        }
        self
    }

    pub(super) fn report(&self, output: &mut Output) {
        let Self { required, lowest } = self;
        if lowest < required {
            output.note(&format!(
                "stored with durability {lowest}, but the store URL requires {required}; run `windlass doctor` to find out why"
            ));
        }
    }
}
