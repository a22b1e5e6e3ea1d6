//! Counts what happens to groups.

use windlass_core::dump::QueueDump;
use windlass_core::limits::SUSPECT_AFTER;
use windlass_core::store::GroupLimits;
use windlass_core::{JobId, JobState};

use super::Coverage;

impl Coverage {
    /// Counts the features of the groups of a state.
    pub(super) fn note_groups(&mut self, dump: &QueueDump) {
        let job = |id: &JobId| dump.jobs.iter().find(|job| job.id == *id);
        for group in &dump.groups {
            let record = &group.record;
            let first = group.line.first().and_then(job);
            let max = record.limits.max_running(&dump.settings);
            let holder_in = |is_so: fn(JobState) -> bool| {
                let mut holders = group.holders.iter().filter_map(job);
                holders.any(|job| is_so(job.state))
            };
            let marks = [
                (
                    "state group full",
                    first.is_some() && max.is_some_and(|max| record.slots >= u64::from(max)),
                ),
                (
                    "state group closed",
                    first.is_some() && record.opens_at.is_some(),
                ),
                (
                    "state group rests",
                    first.is_some() && record.resting_until.is_some(),
                ),
                ("state group paused", first.is_some() && record.is_paused),
                (
                    "state group waits for a suspect",
                    first.is_some_and(|job| job.expiries >= SUSPECT_AFTER),
                ),
                (
                    "state slot of a waiting job",
                    holder_in(JobState::is_waiting),
                ),
                (
                    "state slot of a dead job",
                    holder_in(|state| state == JobState::Dead),
                ),
                (
                    "state limits of a group",
                    record.limits != GroupLimits::default(),
                ),
            ];
            for (what, _) in marks.into_iter().filter(|(_, is_so)| *is_so) {
                self.count(what);
            }
        }
    }
}
