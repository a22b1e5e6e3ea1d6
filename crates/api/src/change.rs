//! Replies to cancel, retry, delete and promote.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{Changed, ChangedJob};
use windlass_core::{Change, QueueName, Result};

use crate::error::Error;
use crate::word::{self, Word};

/// The reply for one changed job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeReply {
    /// The job id.
    pub id: String,
    /// The queue.
    pub queue: String,
    /// `cancelled`, `retried`, `deleted` or `promoted`; `will_stop` if the job is running and its worker will be asked
    /// to stop it.
    #[serde(deserialize_with = "word::read")]
    pub outcome: Word,
}

impl ChangeReply {
    /// Creates the reply for one job, or the error if it was not changed.
    pub fn of(change: Change, queue: &QueueName, job: &ChangedJob) -> Result<Self, Error> {
        let Some(id) = &job.id else {
            return Err(Error::unique_key_not_found(queue));
        };
        let outcome = match &job.changed {
            Changed::Done => change.past_tense(),
            Changed::WillStop => "will_stop",
            Changed::WrongState(state) => {
                return Err(Error::wrong_state(queue, id, *state, change));
            }
            Changed::Conflict(owner) => return Err(Error::unique_key_conflict(queue, id, owner)),
            Changed::NotFound => return Err(Error::job_not_found(queue, id)),
        };
        Ok(Self {
            id: id.to_string(),
            queue: queue.to_string(),
            outcome,
        })
    }
}

/// The number of jobs by outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeCounts {
    /// The queue.
    pub queue: String,
    /// Jobs changed.
    pub done: u64,
    /// Running jobs whose workers will be asked to stop them.
    pub will_stop: u64,
    /// Jobs whose state does not allow the change.
    pub wrong_state: u64,
    /// Jobs whose unique key is in use by another unfinished job.
    pub conflict: u64,
    /// Ids without a job.
    pub not_found: u64,
}

impl ChangeCounts {
    /// Creates a reply with all counts 0.
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

    /// Counts one job.
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

    /// Returns whether no job was found.
    pub const fn is_empty(&self) -> bool {
        self.done + self.will_stop + self.wrong_state + self.conflict == 0
    }
}
