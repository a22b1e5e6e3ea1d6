//! Which jobs were under way when processes crashed: one that is there every time is the reason.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_core::{JobId, QueueName};
use windlass_worker::AttemptContext;

/// A job that was under way in so many crashes is handed out alone.
const SUSPECT_AFTER: u32 = 2;

/// A job that was alone in its process at a crash, being at least its third, is poison.
const POISON_AFTER: u32 = 3;

/// How many jobs are remembered; beyond this all are forgotten, and counting begins anew.
const JOBS_MAX: usize = 10_000;

/// How often each job was there.
#[derive(Debug, Default)]
pub(super) struct Crashes(Mutex<HashMap<(QueueName, JobId), u32>>);

impl Crashes {
    /// Whether the job must be handed out alone.
    pub(super) fn is_suspect(&self, context: &AttemptContext) -> bool {
        let count = self.lock().get(&key(context)).copied();
        count.unwrap_or_default() >= SUSPECT_AFTER
    }

    /// The job was there once more; whether it is poison.
    pub(super) fn note(&self, context: &AttemptContext, was_alone: bool) -> bool {
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

    /// The job was answered for.
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
    fn only_a_job_that_was_alone_at_its_third_crash_is_poison() {
        let (crashes, job) = (Crashes::default(), sample::context(b""));
        assert!(!crashes.is_suspect(&job));
        assert!(!crashes.note(&job, true));
        assert!(!crashes.is_suspect(&job));
        assert!(!crashes.note(&job, true));
        assert!(crashes.is_suspect(&job));
        assert!(!crashes.note(&job, false), "a neighbour may be the reason");
        assert!(crashes.note(&job, true));
        assert!(!crashes.is_suspect(&job), "a retry by hand begins anew");
    }

    #[test]
    fn an_answer_clears_a_job() {
        let (crashes, job) = (Crashes::default(), sample::context(b""));
        crashes.note(&job, false);
        crashes.note(&job, false);
        crashes.forget(&job);
        assert!(!crashes.is_suspect(&job));
    }
}
