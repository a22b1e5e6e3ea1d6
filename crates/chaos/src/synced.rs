//! Finds replies that were sent before the log was synced.

use std::collections::BTreeSet;

use windlass_core::JobId;

use crate::event::{Event, Line};

/// The result of one enqueuer run with the preloaded library.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SyncReport {
    /// Accepted jobs.
    pub replies: usize,
    /// Syncs of the log.
    pub syncs: usize,
    /// Jobs accepted without a sync of the log that began after their call.
    pub unsynced: Vec<JobId>,
}

/// Checks the lines of one process, in the order they were written.
pub fn check(lines: &[Line]) -> SyncReport {
    let mut seen = SyncReport::default();
    // Jobs before any sync, during a sync, and after it.
    let mut pending: BTreeSet<&JobId> = BTreeSet::new();
    let mut syncing: BTreeSet<&JobId> = BTreeSet::new();
    let mut safe: BTreeSet<&JobId> = BTreeSet::new();
    for line in lines {
        match &line.event {
            Event::Enqueuing(ids) => pending.extend(ids),
            Event::Syncing(file) if is_log(file) => syncing.append(&mut pending),
            Event::Synced(file) if is_log(file) => {
                seen.syncs += 1;
                safe.append(&mut syncing);
            }
            Event::Accepted(id) => {
                seen.replies += 1;
                if !safe.remove(id) {
                    seen.unsynced.push(id.clone());
                }
            }
            _ => {}
        }
    }
    seen
}

fn is_log(file: &str) -> bool {
    file.ends_with("-wal")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;

    fn unsynced(text: &str) -> usize {
        check(&Ledger::read(&[("enqueuer", text)]).processes[0].lines)
            .unsynced
            .len()
    }

    #[test]
    fn only_a_sync_of_the_log_within_the_call_counts() {
        let log = "syncing jobs.db-wal\nsynced jobs.db-wal";
        assert_eq!(unsynced(&format!("1 enqueuing a\n{log}\n2 accepted a")), 0);
        assert_eq!(unsynced(&format!("{log}\n1 enqueuing a\n2 accepted a")), 1);
        assert_eq!(unsynced(&format!("1 enqueuing a\n2 accepted a\n{log}")), 1);
        let main_file = log.replace("-wal", "");
        assert_eq!(
            unsynced(&format!("1 enqueuing a\n{main_file}\n2 accepted a")),
            1
        );
    }

    #[test]
    fn a_sync_that_had_begun_before_the_call_does_not_count() {
        assert_eq!(
            unsynced("syncing jobs.db-wal\n1 enqueuing a\nsynced jobs.db-wal\n2 accepted a"),
            1
        );
    }
}
