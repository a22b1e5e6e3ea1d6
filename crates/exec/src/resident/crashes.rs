//! Counts the crashes that each job was running in, to find the job that causes them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_core::{JobId, QueueName};
use windlass_worker::AttemptContext;

/// A job that was running in this many crashes is run exclusively.
const SUSPECT_AFTER: u32 = 2;

/// A job that was alone in its process at its fourth or a later crash is poison: two shared crashes make it a
/// suspect, and two alone prove it. The same number as the default of the setting `poison_after`.
const POISON_AFTER: u32 = 4;

/// How many jobs are tracked; beyond this, all counts are reset.
const JOBS_MAX: usize = 10_000;

/// The number of crashes per job.
#[derive(Debug, Default)]
pub(super) struct Crashes(Mutex<HashMap<(QueueName, JobId), u32>>);

impl Crashes {
    /// Whether the job must run exclusively.
    pub(super) fn is_suspect(&self, context: &AttemptContext) -> bool {
        let count = self.lock().get(&key(context)).copied();
        count.unwrap_or_default() >= SUSPECT_AFTER
    }

    /// Records a crash; returns whether the job is poison.
    pub(super) fn record(&self, context: &AttemptContext, was_alone: bool) -> bool {
        let mut counts = self.lock();
        if counts.len() >= JOBS_MAX {
            counts.clear();
        }
        let count = counts.entry(key(context)).or_default();
        *count += 1;
        let is_poison = was_alone && *count >= POISON_AFTER;
        if is_poison {
            counts.remove(&key(context));
        }
        is_poison
    }

    /// Resets the count of a job that was replied to.
    pub(super) fn forget(&self, context: &AttemptContext) {
        self.lock().remove(&key(context));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(QueueName, JobId), u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(context: &AttemptContext) -> (QueueName, JobId) {
    (context.queue().clone(), context.job().id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn only_a_job_that_was_alone_at_its_fourth_crash_is_poison() {
        let (crashes, job) = (Crashes::default(), sample::context(b""));
        assert!(!crashes.is_suspect(&job));
        assert!(!crashes.record(&job, true));
        assert!(!crashes.is_suspect(&job));
        assert!(!crashes.record(&job, true));
        assert!(crashes.is_suspect(&job));
        assert!(!crashes.record(&job, false), "another job may be the cause");
        assert!(crashes.record(&job, true), "the fourth, alone");
        assert!(!crashes.is_suspect(&job), "a manual retry starts from zero");
    }

    #[test]
    fn a_reply_clears_a_job() {
        let (crashes, job) = (Crashes::default(), sample::context(b""));
        crashes.record(&job, false);
        crashes.record(&job, false);
        crashes.forget(&job);
        assert!(!crashes.is_suspect(&job));
    }
}
