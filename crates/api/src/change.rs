//! What became of the jobs an operator changed.

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::{Changed, ChangedJob, Changes, Cursor, QueueName, Result, Store, Target};

use crate::error::Error;

/// What an operator asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Not to run, or to stop.
    Cancel,
    /// To run a dead job again.
    Retry,
    /// To forget a finished job.
    Delete,
    /// To run a scheduled job now.
    Promote,
}

impl Verb {
    /// The word for a job to which it was done.
    pub const fn done(self) -> &'static str {
        match self {
            Self::Cancel => "cancelled",
            Self::Retry => "retried",
            Self::Delete => "deleted",
            Self::Promote => "promoted",
        }
    }

    /// Which jobs it can be done to, in words.
    pub const fn fits(self) -> &'static str {
        match self {
            Self::Cancel => "only jobs that wait or run can be cancelled",
            Self::Retry => "only dead jobs can be retried",
            Self::Delete => "only jobs that have ended can be deleted",
            Self::Promote => "only scheduled jobs can be promoted",
        }
    }

    /// Does it to a page of the jobs that are meant.
    pub async fn change(
        self,
        store: &dyn Store,
        queue: &QueueName,
        target: &Target,
        from: Option<Cursor>,
    ) -> Result<Changes> {
        match self {
            Self::Cancel => store.cancel(queue, target, from).await,
            Self::Retry => store.retry(queue, target, from).await,
            Self::Delete => store.delete(queue, target, from).await,
            Self::Promote => store.promote(queue, target, from).await,
        }
    }
}

/// One job that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeReply {
    /// The job.
    pub id: String,
    /// Its queue.
    pub queue: String,
    /// The verb's word, or `will_stop` for a running job.
    pub outcome: &'static str,
}

impl ChangeReply {
    /// The answer for one job, or why it was not changed.
    pub fn of(verb: Verb, queue: &QueueName, job: &ChangedJob) -> Result<Self, Error> {
        let Some(id) = &job.id else {
            return Err(Error::key_not_held(queue));
        };
        let outcome = match &job.changed {
            Changed::Done => verb.done(),
            Changed::WillStop => "will_stop",
            Changed::WrongState(state) => {
                return Err(Error::wrong_state(queue, id, *state, verb));
            }
            Changed::Conflict(holder) => return Err(Error::key_taken(queue, id, holder)),
            Changed::NotFound => return Err(Error::no_job(queue, id)),
        };
        Ok(Self {
            id: id.to_string(),
            queue: queue.to_string(),
            outcome,
        })
    }
}

/// How many jobs a change met, and what became of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeCounts {
    /// The queue.
    pub queue: String,
    /// What was asked is done.
    pub done: u64,
    /// Running jobs that will be told to stop.
    pub will_stop: u64,
    /// The job's state forbids it.
    pub wrong_state: u64,
    /// Another live job holds the unique key.
    pub conflict: u64,
    /// No such job.
    pub not_found: u64,
}

impl ChangeCounts {
    /// Nothing counted yet.
    pub fn new(queue: &QueueName) -> Self {
        let queue = queue.to_string();
        Self {
            queue,
            done: 0,
            will_stop: 0,
            wrong_state: 0,
            conflict: 0,
            not_found: 0,
        }
    }

    /// Counts one more.
    pub fn add(&mut self, changed: &ChangedJob) {
        let count = match changed.changed {
            Changed::Done => &mut self.done,
            Changed::WillStop => &mut self.will_stop,
            Changed::WrongState(_) => &mut self.wrong_state,
            Changed::Conflict(_) => &mut self.conflict,
            Changed::NotFound => &mut self.not_found,
        };
        *count += 1;
    }

    /// Whether no job was met at all.
    pub const fn is_empty(&self) -> bool {
        self.done + self.will_stop + self.wrong_state + self.conflict == 0
    }
}
