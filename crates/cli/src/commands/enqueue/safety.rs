//! Whether jobs are as safe as the store's URL asks: they are stored either way, and people are told.
//! With --json each answer has the level that it reached.

use windlass::DurabilityLevel;
use windlass::store::Enqueued;

use crate::output::Output;

/// The least safe of the jobs so far, beside what was asked.
#[derive(Debug)]
pub(super) struct Safety {
    asked: DurabilityLevel,
    least: DurabilityLevel,
}

impl Safety {
    pub(super) const fn new(asked: DurabilityLevel) -> Self {
        Self {
            asked,
            least: asked,
        }
    }

    pub(super) fn take(&mut self, enqueued: &[Enqueued]) -> &Self {
        for one in enqueued {
            self.least = self.least.min(one.level());
        }
        self
    }

    pub(super) fn tell(&self, output: &mut Output) {
        let Self { asked, least } = self;
        if least < asked {
            output.talk(&format!(
                "stored, but with durability {least} where the store's URL asks for {asked}; `windlass doctor` says why"
            ));
        }
    }
}
