//! Waiting for a job to end.

use std::time::Duration;

use crate::error::Result;
use crate::job::{Job, JobState};
use crate::name::{JobId, QueueName};
use crate::notification::Notification;
use crate::store::Store;
use crate::wait::{Deadline, pause, poll};

/// How a job ended, as far as can be told.
#[derive(Debug, Clone, PartialEq)]
pub enum JobEnd {
    /// It has ended and is kept.
    Ended(Box<Job>),
    /// It has ended and was not kept.
    EndedUnkept(JobState),
    /// It was there and is no longer: it ended well without a result, or was removed.
    Gone,
    /// There is no such job.
    NotFound,
    /// It has not ended yet.
    TimedOut(Box<Job>),
}

/// Waits until a job has ended, at most `limit` where one is given.
pub async fn wait_for_end(
    store: &dyn Store,
    queue: &QueueName,
    id: &JobId,
    limit: Option<Duration>,
) -> Result<JobEnd> {
    let deadline = Deadline::after(limit);
    let mut watch = store.watch(std::slice::from_ref(queue)).await?;
    let mut was_seen = false;
    let mut heard = None;
    loop {
        let job = match store.get(queue, id).await? {
            Some(job) if job.state.is_final() => return Ok(JobEnd::Ended(Box::new(job))),
            Some(job) => job,
            None => {
                return Ok(match heard {
                    Some(state) => JobEnd::EndedUnkept(state),
                    None if was_seen => JobEnd::Gone,
                    None => JobEnd::NotFound,
                });
            }
        };
        was_seen = true;
        if deadline.is_over() {
            return Ok(JobEnd::TimedOut(Box::new(job)));
        }
        let is_news = |hint: &Notification| match hint {
            Notification::Event(_, about, state) if about == id => {
                heard = state.is_final().then_some(*state);
                true
            }
            Notification::Resync => true,
            _ => false,
        };
        pause(watch.as_mut(), deadline.cut(poll()), is_news).await;
    }
}
