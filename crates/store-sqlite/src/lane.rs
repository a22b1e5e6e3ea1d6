//! The lanes of ready jobs: claims take jobs by lane, then by position.

use windlass_core::Priority;
use windlass_core::limits::SUSPECT_AFTER;

/// The lane of a job that holds a slot of its group, and of one that does not, in groups that are ordered lanes.
pub(crate) const HOLDER: i64 = 0;
pub(crate) const NO_HOLDER: i64 = 1;

/// The two lanes of a priority, in claim order: its suspects, then all others. Those of the default priority are
/// 0 and 1, which SQLite stores in no space.
pub(crate) fn lanes(priority: Priority) -> [i64; 2] {
    let suspects = (i64::from(priority.level()) - i64::from(Priority::default().level())) * 2;
    [suspects, suspects + 1]
}

/// The lane of a ready job without a group, or in a group that is not an ordered lane.
pub(crate) fn lane_of(priority: Priority, expiries: u32) -> i64 {
    let [suspects, others] = lanes(priority);
    if expiries >= SUSPECT_AFTER {
        suspects
    } else {
        others
    }
}
