//! The record of a job's attempts, and the groups of errors of a queue.

use windlass_core::attempt::AttemptRecord;
use windlass_core::error_group::{HourCounts, example, normalize};
use windlass_core::limits::ERROR_GROUPS_MAX;
use windlass_core::store::{AttemptEnd, ErrorGroup, Fingerprint, Kind};
use windlass_core::time::Now;
use windlass_core::{JobId, Timestamp};

use crate::queue::Queue;

/// What identifies a group: the kind, and the normalized message.
pub(crate) type GroupKey = (Option<Kind>, String);

/// A group of errors.
#[derive(Debug)]
pub(crate) struct StoredGroup {
    example: String,
    last_job: JobId,
    count: u64,
    first_seen: Timestamp,
    last_seen: Timestamp,
    hours: HourCounts,
}

impl Queue {
    /// Records the attempt of a running job that failed or expired.
    pub(crate) fn record_attempt(&mut self, id: &JobId, how: AttemptEnd, error: Option<&str>) {
        let now = self.now.ms();
        let job = self.job(id);
        let mut errors = job.stored_errors();
        let attempt = AttemptRecord {
            attempt: job.attempt,
            started_at: job.started_at.unwrap_or_default(),
            ended_at: now,
            worker: job.worker.clone(),
            how,
            error: None,
        };
        errors.add(attempt, error);
        job.set_stored_errors(errors);
    }

    /// Counts an error in its group.
    pub(crate) fn count_error(&mut self, id: &JobId, error: &str) {
        let now = self.now.ms();
        let key = (self.jobs[id].kind.clone(), normalize(error));
        if !self.error_groups.contains_key(&key) && self.error_groups.len() >= ERROR_GROUPS_MAX {
            let oldest = self.error_groups.iter();
            let oldest = oldest.min_by_key(|(key, group)| (group.last_seen, *key));
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.map(|key| self.error_groups.remove(&key));
        }
        let group = self.error_groups.entry(key).or_insert_with(|| StoredGroup {
            example: String::new(),
            last_job: id.clone(),
            count: 0,
            first_seen: now,
            last_seen: now,
            hours: HourCounts::default(),
        });
        example(error).clone_into(&mut group.example);
        group.last_job = id.clone();
        group.count += 1;
        group.last_seen = now;
        group.hours.add(now);
    }

    pub(crate) fn error_groups(&self, now: Now) -> Vec<ErrorGroup> {
        let groups = self.error_groups.iter();
        ErrorGroup::merge(groups.map(|((kind, message), group)| ErrorGroup {
            kind: kind.clone(),
            message: message.clone(),
            example: group.example.clone(),
            last_job: group.last_job.clone(),
            count: group.count,
            first_seen: group.first_seen,
            last_seen: group.last_seen,
            hours: group.hours.last_day(now.ms()),
        }))
    }

    pub(crate) fn clear_error_group(&mut self, fingerprint: Fingerprint) -> bool {
        let before = self.error_groups.len();
        self.error_groups.retain(|(kind, message), _| {
            Fingerprint::of_normalized(kind.as_ref(), message) != fingerprint
        });
        let is_cleared = self.error_groups.len() < before;
        if is_cleared {
            self.mark_changed();
        }
        is_cleared
    }
}
