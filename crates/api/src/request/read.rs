//! get, why, list and wait.

use std::time::Duration;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::Cursor;
use windlass_core::wait::{JobEnd, wait_for_end};
use windlass_core::{Error as CoreError, Job, JobId, QueueName, Store, duration};

use super::{ApiResult, QueueRequest, WAIT_MAX};
use crate::error::Error;
use crate::filter::with_filter;
use crate::job::JobReply;
use crate::why::WhyReply;
use crate::word::{self, Word};

/// The maximum number of jobs per page.
const PAGE_MAX: usize = 500;

/// Returns a job with its payload and result.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// Job id
    pub id: String,
    /// Whether to reply with the field `full` (default: false).
    #[arg(skip)]
    pub full: Option<bool>,
}

impl QueueRequest for Get {
    const OP: &'static str = "get";
    type Reply = JobReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<JobReply> {
        let id = JobId::new(&self.id)?;
        let job = store.get(queue, &id).await?;
        let job = job.ok_or_else(|| Error::job_not_found(queue, &id))?;
        Ok(JobReply::new(&job, self.full.unwrap_or(false)))
    }
}

/// Explains why a job waits, and when it probably starts.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// Job id
    pub id: String,
}

impl QueueRequest for Why {
    const OP: &'static str = "why";
    type Reply = WhyReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<WhyReply> {
        let id = JobId::new(&self.id)?;
        let explanation = store.explain(queue, &id).await?;
        let explanation = explanation.ok_or_else(|| Error::job_not_found(queue, &id))?;
        Ok(WhyReply::new(queue, &id, &explanation))
    }
}

with_filter! {
    /// Lists a page of jobs, without payloads and results. One page examines at most 1000 jobs.
    #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
    #[serde(default, deny_unknown_fields)]
    pub struct List {
        /// The maximum number of jobs, up to 500 (default: 100).
        #[arg(long, value_name = "N")]
        #[arg(help = "Maximum number of jobs [default: 100]")]
        pub limit: Option<usize>,
        /// `next` of the previous page.
        #[arg(long, value_name = "C", allow_hyphen_values = true)]
        #[arg(help = "Cursor printed after the previous page")]
        pub cursor: Option<String>,
        /// Whether to reply with the field `full` of each job (default: false).
        #[arg(skip)]
        pub full: Option<bool>,
    }
}

with_filter! {
    /// Exports all matching jobs with their payloads. `state` may be several states, separated by commas.
    #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
    #[serde(default, deny_unknown_fields)]
    pub struct Export {
        /// Whether to export the schedules too (default: true, or false with a filter).
        #[arg(skip)]
        pub schedules: Option<bool>,
    }
}

/// A page of jobs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListReply {
    /// The jobs.
    pub jobs: Vec<JobReply>,
    /// The cursor of the next page; null on the last page. A page may be short, or empty, before the last.
    pub next: Option<String>,
    /// How many jobs were examined for this page.
    #[serde(default)]
    pub scanned: usize,
}

impl List {
    /// The number of jobs, if no limit is set.
    pub const LIMIT_DEFAULT: usize = 100;
}

impl QueueRequest for List {
    const OP: &'static str = "list";
    type Reply = ListReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<ListReply> {
        let filter = self.filter()?;
        let limit = self.limit.unwrap_or(Self::LIMIT_DEFAULT);
        if limit == 0 {
            let error = CoreError::invalid("limit", "0 is too small; minimum 1", "use 1 to 500");
            return Err(error.into());
        }
        let from = self.cursor.clone().map(Cursor);
        let page = store
            .list(queue, &filter, from, limit.min(PAGE_MAX))
            .await?;
        let is_full = self.full.unwrap_or(false);
        let reply = |job: &Job| JobReply::new(job, is_full);
        Ok(ListReply {
            jobs: page.items.iter().map(reply).collect(),
            next: page.next.map(|next| next.0),
            scanned: page.scanned,
        })
    }
}

/// Waits until a job has finished, at most one minute.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Job id
    pub id: String,
    /// The longest wait, up to one minute (default: 1m).
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(help = "Maximum time to wait; exits with 124 if it is exceeded [default: no limit]")]
    pub timeout: Option<String>,
}

/// The finished job.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum WaitReply {
    /// The job is finished and kept.
    Ended(Box<JobReply>),
    /// The job is finished and was not kept.
    NotKept {
        /// The job id.
        id: String,
        /// The queue.
        queue: String,
        /// The final state.
        #[serde(deserialize_with = "word::read")]
        state: Word,
    },
}

impl WaitReply {
    /// Returns the final state of the job.
    pub const fn state(&self) -> &'static str {
        match self {
            Self::Ended(job) => job.state,
            Self::NotKept { state, .. } => state,
        }
    }
}

impl Wait {
    /// Waits until the job has finished, at most until `timeout` and `longest`.
    pub async fn wait(
        &self,
        store: &dyn Store,
        queue: &QueueName,
        longest: Option<Duration>,
    ) -> ApiResult<WaitReply> {
        let id = JobId::new(&self.id)?;
        let timeout = self.timeout.as_deref();
        let timeout = timeout
            .map(|text| duration::parse_named("timeout", text))
            .transpose()?;
        let limit = timeout.into_iter().chain(longest).min();
        match wait_for_end(store, queue, &id, limit).await? {
            JobEnd::Ended(job) => Ok(WaitReply::Ended(Box::new(JobReply::from(job.as_ref())))),
            JobEnd::EndedNotKept(state) => Ok(WaitReply::NotKept {
                id: id.to_string(),
                queue: queue.to_string(),
                state: state.as_str(),
            }),
            JobEnd::Gone => Err(Error::not_kept(queue, &id)),
            JobEnd::NotFound => Err(Error::job_not_found(queue, &id)),
            JobEnd::TimedOut(job) => Err(Error::wait_timed_out(&id, job.state)),
        }
    }
}

impl QueueRequest for Wait {
    const OP: &'static str = "wait";
    type Reply = WaitReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<WaitReply> {
        self.wait(store, queue, Some(WAIT_MAX)).await
    }
}
