//! Counts the features of a state.

use windlass_core::dump::QueueDump;
use windlass_core::schedule::KNOWN_FOREVER;
use windlass_core::{JobState, Timestamp};

use super::Coverage;

impl Coverage {
    /// Counts the features of a state.
    pub(in crate::differential) fn note_dump(&mut self, dump: &QueueDump) {
        for row in &dump.history {
            if row.waits.count() > 1 {
                self.count("state several waits in a minute");
            }
        }
        for job in dump.jobs.iter().filter(|job| job.state == JobState::Dead) {
            if let Some(reason) = job.reason {
                self.count(format!("dead {reason}"));
            }
        }
        for record in &dump.schedules {
            for occurrence in &record.history {
                match &occurrence.firing {
                    Ok(_) => self.count("state fired"),
                    Err(reason) => self.count(format!("state skipped {reason}")),
                }
            }
            if record.known_until == KNOWN_FOREVER {
                self.count("state schedule ended");
            }
        }
        self.note_groups(dump);
        let marks = [
            ("state queue rests", dump.stats.resting_ms.is_some()),
            ("state pending", dump.stats.pending > 0),
            (
                "state suspect waits",
                dump.ready.iter().any(|lanes| !lanes.0.is_empty()),
            ),
            ("state id remembered", !dump.tombstones.is_empty()),
            ("state key held", !dump.held_keys.is_empty()),
            ("state amendment remembered", !dump.amendments.is_empty()),
            (
                "state claim remembered",
                dump.claims.iter().any(|c| c.finished_at.is_some()),
            ),
            ("state paused", dump.stats.is_paused),
            (
                "state queue full",
                dump.stats.ready > 0
                    && (dump.settings.max_running)
                        .is_some_and(|max| dump.stats.running >= u64::from(max)),
            ),
            (
                "state rate closed",
                dump.stats.ready > 0 && dump.rate_next_us.is_some_and(|next| next > 0),
            ),
            (
                "state lease half reaped",
                dump.leases
                    .iter()
                    .any(|lease| lease.until == Timestamp::default()),
            ),
        ];
        for (what, is_so) in marks {
            if is_so {
                self.count(what);
            }
        }
    }
}
