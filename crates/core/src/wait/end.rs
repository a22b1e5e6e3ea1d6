//! Waits for a job to finish.

use std::time::Duration;

use crate::error::Result;
use crate::job::{Job, JobState};
use crate::name::{JobId, QueueName};
use crate::notification::Notification;
use crate::store::Store;
use crate::wait::{Deadline, poll_interval, wait_for_notification};

/// The reply of [`wait_for_end`].
#[derive(Debug, Clone, PartialEq)]
pub enum JobEnd {
    /// The job has finished and is kept.
    Ended(Box<Job>),
    /// The job has finished in this state and was not kept.
    EndedNotKept(JobState),
    /// The job is no longer stored: it succeeded without a result, or was removed.
    Gone,
    /// The job does not exist.
    NotFound,
    /// The job has not finished yet.
    TimedOut(Box<Job>),
}

/// Waits until a job has finished, at most for `limit`. Without a limit it waits forever.
pub async fn wait_for_end(
    store: &dyn Store,
    queue: &QueueName,
    id: &JobId,
    limit: Option<Duration>,
) -> Result<JobEnd> {
    let deadline = Deadline::after(limit);
    let mut watch = store.watch(std::slice::from_ref(queue)).await?;
    let mut was_seen = false;
    let mut final_state = None;
    loop {
        let job = match store.get(queue, id).await? {
            Some(job) if job.state.is_final() => return Ok(JobEnd::Ended(Box::new(job))),
            Some(job) => job,
            None => {
                return Ok(match final_state {
                    Some(state) => JobEnd::EndedNotKept(state),
                    None if was_seen => JobEnd::Gone,
                    None => JobEnd::NotFound,
                });
            }
        };
        was_seen = true;
        if deadline.is_over() {
            return Ok(JobEnd::TimedOut(Box::new(job)));
        }
        let is_relevant = |notification: &Notification| match notification {
            Notification::Event(_, about, state) if about == id => {
                final_state = state.is_final().then_some(*state);
                true
            }
            Notification::Resync => true,
            _ => false,
        };
        wait_for_notification(watch.as_mut(), deadline.clamp(poll_interval()), is_relevant).await;
    }
}
