//! Counts the crashes that each job was running in, to find the job that causes them.

use std::collections::HashMap;
use std::sync::Mutex;

use windlass_core::{JobId, QueueName};
use windlass_worker::{AttemptContext, lock};

/// A job that was running in this many crashes is run exclusively.
const SUSPECT_AFTER: u32 = 2;

/// A job that was alone in its process at its fourth or a later crash is poison: two shared crashes make it a
/// suspect, and two alone prove it. The same number as the default of the setting `poison_after`.
const POISON_AFTER: u32 = 4;

/// So many exits of a process that did not read the job use no attempt: the process may have failed for
/// another reason. Later ones do, or a program that never reads would get the job for ever.
const UNREAD_MAX: u32 = 3;

/// How many jobs are tracked; beyond this, all counts are reset.
const JOBS_MAX: usize = 10_000;

#[derive(Debug, Default)]
struct Counts {
    crashes: u32,
    unread: u32,
}

/// The number of crashes per job.
#[derive(Debug, Default)]
pub(super) struct Crashes(Mutex<HashMap<(QueueName, JobId), Counts>>);

impl Crashes {
    /// Whether the job must run exclusively.
    pub(super) fn is_suspect(&self, context: &AttemptContext) -> bool {
        let jobs = lock(&self.0);
        let counts = jobs.get(&key(context));
        counts.is_some_and(|counts| counts.crashes >= SUSPECT_AFTER)
    }

    /// Records a crash; returns whether the job is poison.
    pub(super) fn record(&self, context: &AttemptContext, was_alone: bool) -> bool {
        let is_poison = self.count(context, |counts| {
            counts.crashes += 1;
            was_alone && counts.crashes >= POISON_AFTER
        });
        if is_poison {
            self.forget(context);
        }
        is_poison
    }

    /// Records that a process exited without reading the job; returns whether this uses an attempt.
    pub(super) fn record_unread(&self, context: &AttemptContext) -> bool {
        self.count(context, |counts| {
            counts.unread += 1;
            counts.unread > UNREAD_MAX
        })
    }

    fn count<T>(&self, context: &AttemptContext, change: impl FnOnce(&mut Counts) -> T) -> T {
        let mut jobs = lock(&self.0);
        if jobs.len() >= JOBS_MAX {
            jobs.clear();
        }
        change(jobs.entry(key(context)).or_default())
    }

    /// Resets the counts of a job that was replied to.
    pub(super) fn forget(&self, context: &AttemptContext) {
        lock(&self.0).remove(&key(context));
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
    fn three_exits_before_the_job_is_read_use_no_attempt() {
        let (crashes, job) = (Crashes::default(), sample::context(b""));
        let uses_an_attempt = [(); 5].map(|()| crashes.record_unread(&job));
        assert_eq!(uses_an_attempt, [false, false, false, true, true]);
        assert!(!crashes.is_suspect(&job), "it was not running");
        crashes.forget(&job);
        assert!(!crashes.record_unread(&job));
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
