//! get, list, wait: looking at jobs.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::wait::{JobEnd, wait_for_end};
use windlass_core::{Cursor, Error as CoreError, JobId, QueueName, Store, duration};

use super::change::filter;
use super::{Answer, QueueRequest};
use crate::error::Error;
use crate::job::JobReply;

/// The longest a door waits for a job; whoever wants to wait longer asks again.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The most jobs of one page.
const PAGE_MAX: usize = 500;

/// Everything known of one job.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// The job.
    pub id: String,
}

impl QueueRequest for Get {
    const OP: &'static str = "get";
    type Reply = JobReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<JobReply> {
        let id = JobId::new(&self.id)?;
        let job = store.get(queue, &id).await?;
        let job = job.ok_or_else(|| Error::no_job(queue, &id))?;
        Ok(JobReply::from(&job))
    }
}

/// A page of jobs, without payloads and results.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Only jobs in this state.
    pub state: Option<String>,
    /// Only jobs of this kind.
    pub kind: Option<String>,
    /// How many at most (100 unless said, 500 at most).
    pub limit: Option<usize>,
    /// Where the last page ended.
    pub cursor: Option<String>,
}

/// A page of jobs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListReply {
    /// The jobs.
    pub jobs: Vec<JobReply>,
    /// Where the next page begins; nothing at the end.
    pub next: Option<String>,
}

impl QueueRequest for List {
    const OP: &'static str = "list";
    type Reply = ListReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<ListReply> {
        let filter = filter(self.state.as_deref(), self.kind.as_deref())?;
        let limit = self.limit.unwrap_or(100);
        if limit == 0 {
            let error = CoreError::invalid("limit", "0 is too small; minimum 1", "use 1 to 500");
            return Err(error.into());
        }
        let from = self.cursor.clone().map(Cursor);
        let page = store
            .list(queue, &filter, from, limit.min(PAGE_MAX))
            .await?;
        Ok(ListReply {
            jobs: page.items.iter().map(JobReply::from).collect(),
            next: page.next.map(|next| next.0),
        })
    }
}

/// Waits until a job has ended, up to a minute.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// The job.
    pub id: String,
    /// How long at most (a minute unless said, and no longer).
    pub timeout: Option<String>,
}

/// How the job ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum WaitReply {
    /// It has ended and is kept.
    Ended(Box<JobReply>),
    /// It has ended and was not kept.
    Unkept {
        /// The job.
        id: String,
        /// Its queue.
        queue: String,
        /// What it ended in.
        state: &'static str,
    },
}

impl QueueRequest for Wait {
    const OP: &'static str = "wait";
    type Reply = WaitReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<WaitReply> {
        let id = JobId::new(&self.id)?;
        let limit = self
            .timeout
            .as_deref()
            .map_or(Ok(WAIT_MAX), duration::parse)?;
        match wait_for_end(store, queue, &id, Some(limit.min(WAIT_MAX))).await? {
            JobEnd::Ended(job) => Ok(WaitReply::Ended(Box::new(JobReply::from(job.as_ref())))),
            JobEnd::EndedUnkept(state) => Ok(WaitReply::Unkept {
                id: id.to_string(),
                queue: queue.to_string(),
                state: state.as_str(),
            }),
            JobEnd::Gone => Err(Error::left(queue, &id)),
            JobEnd::NotFound => Err(Error::no_job(queue, &id)),
            JobEnd::TimedOut(job) => Err(Error::not_ended(&id, job.state)),
        }
    }
}
