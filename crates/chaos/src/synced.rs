//! Which answers came before the disk had what they promise.

use std::collections::BTreeSet;

use windlass_core::JobId;

use crate::event::{Event, Line};

/// What one run of an enqueuer under the preloaded library shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Synced {
    /// Jobs that were answered.
    pub answers: usize,
    /// Syncs of the log.
    pub syncs: usize,
    /// Jobs answered with no sync of the log that began after they were asked for.
    pub unsynced: Vec<JobId>,
}

/// Judges the lines of one process, in the order they were written.
pub fn judge(lines: &[Line]) -> Synced {
    let mut seen = Synced::default();
    // Asked, and no sync has begun since; then begun; then ended.
    let mut asked: BTreeSet<&JobId> = BTreeSet::new();
    let mut syncing: BTreeSet<&JobId> = BTreeSet::new();
    let mut safe: BTreeSet<&JobId> = BTreeSet::new();
    for line in lines {
        match &line.event {
            Event::Asking(ids) => asked.extend(ids),
            Event::Syncing(file) if is_log(file) => syncing.append(&mut asked),
            Event::Synced(file) if is_log(file) => {
                seen.syncs += 1;
                safe.append(&mut syncing);
            }
            Event::Accepted(id) => {
                seen.answers += 1;
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
        judge(&Ledger::read(&[("enqueuer", text)]).lives[0].lines)
            .unsynced
            .len()
    }

    #[test]
    fn only_a_sync_of_the_log_within_the_call_counts() {
        let log = "syncing jobs.db-wal\nsynced jobs.db-wal";
        assert_eq!(unsynced(&format!("1 asking a\n{log}\n2 accepted a")), 0);
        assert_eq!(unsynced(&format!("{log}\n1 asking a\n2 accepted a")), 1);
        assert_eq!(unsynced(&format!("1 asking a\n2 accepted a\n{log}")), 1);
        let main_file = log.replace("-wal", "");
        assert_eq!(
            unsynced(&format!("1 asking a\n{main_file}\n2 accepted a")),
            1
        );
    }

    #[test]
    fn a_sync_that_had_begun_before_the_call_does_not_count() {
        assert_eq!(
            unsynced("syncing jobs.db-wal\n1 asking a\nsynced jobs.db-wal\n2 accepted a"),
            1
        );
    }
}
