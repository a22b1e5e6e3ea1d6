//! cancel, retry, delete and promote: one job, several, or a page of all matching jobs.

use bytes::Bytes;
use clap::{ArgGroup, Args};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{Changed, ChangedJob, Changes, Cursor, UniqueKey};
use windlass_core::{Change, Error, Filter, JobId, QueueName, Result, Store, Target};

use super::{ApiResult, QueueRequest};
use crate::change::{ChangeCounts, ChangeReply};
use crate::content::{self, Text};
use crate::error::Error as ApiError;
use crate::filter::with_filter;
use crate::job::job_state;
use crate::word::{self, Word};

with_filter! {
    conflicts_with = "id";
    /// Selects jobs by exactly one of `id`, `ids`, `payload`, `unique_key` and `all`; with `all`, also by a filter.
    #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
    #[serde(default, deny_unknown_fields)]
    #[command(group(ArgGroup::new("which").required(true)))]
    pub struct JobSelector {
        /// The job with this id.
        #[arg(skip)]
        pub id: Option<String>,
        /// The jobs with these ids.
        #[arg(id = "id", value_name = "ID", help = "Job ids", group = "which")]
        pub ids: Option<Vec<String>>,
        /// Every job with exactly this payload. Only for cancel.
        #[serde(
            deserialize_with = "content::present",
            skip_serializing_if = "Option::is_none"
        )]
        #[schemars(with = "Option<serde_json::Value>")]
        #[arg(skip)]
        pub payload: Option<Text>,
        /// Like `payload`, as base64.
        #[arg(skip)]
        pub payload_base64: Option<String>,
        /// Like `payload`, set by interfaces that receive bytes.
        #[serde(skip)]
        #[arg(skip)]
        pub payload_bytes: Option<Bytes>,
        /// The job that holds this unique key.
        #[arg(skip)]
        pub unique_key: Option<String>,
        /// All jobs of the queue that the operation applies to
        #[arg(long, group = "which", num_args = 0, default_missing_value = "true")]
        pub all: Option<bool>,
        /// `next` of the previous page.
        #[arg(skip)]
        pub cursor: Option<String>,
        /// Whether to reply for each job instead of with counts (default: false).
        #[arg(skip)]
        pub each: Option<bool>,
    }
}

/// The reply for one job, or for a page of jobs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ChangesReply {
    /// The reply for one job.
    One(ChangeReply),
    /// The counts of one page.
    Many {
        /// The counts.
        #[serde(flatten)]
        counts: ChangeCounts,
        /// The cursor of the next page; null on the last page.
        next: Option<String>,
        /// How many jobs were examined.
        #[serde(default)]
        scanned: usize,
        /// Why jobs that were selected by id were not changed.
        #[serde(skip)]
        errors: Vec<ApiError>,
    },
    /// The reply for each job of one page, if the request has `each`.
    Each {
        /// The jobs.
        jobs: Vec<ChangedJobReply>,
        /// The cursor of the next page; null on the last page.
        next: Option<String>,
        /// How many jobs were examined.
        #[serde(default)]
        scanned: usize,
    },
}

/// One job of a page.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChangedJobReply {
    /// The job id; null if no job holds the unique key.
    pub id: Option<String>,
    /// `done`, `will_stop`, `wrong_state`, `conflict` or `not_found`.
    #[serde(deserialize_with = "word::read")]
    pub outcome: Word,
    /// For `wrong_state`: the state of the job.
    #[serde(deserialize_with = "word::read_optional")]
    pub state: Option<Word>,
    /// For `conflict`: the job that has the unique key.
    pub owner: Option<String>,
}

impl From<&ChangedJob> for ChangedJobReply {
    fn from(job: &ChangedJob) -> Self {
        let (outcome, state, owner) = match &job.changed {
            Changed::Done => ("done", None, None),
            Changed::WillStop => ("will_stop", None, None),
            Changed::WrongState(state) => ("wrong_state", Some(state.as_str()), None),
            Changed::Conflict(owner) => ("conflict", None, Some(owner.to_string())),
            Changed::NotFound => ("not_found", None, None),
        };
        Self {
            id: job.id.as_ref().map(ToString::to_string),
            outcome,
            state,
            owner,
        }
    }
}

impl ChangedJobReply {
    /// Converts the reply back.
    pub fn into_changed(self) -> Result<ChangedJob> {
        let changed = match (self.outcome, self.state, self.owner) {
            ("done", _, _) => Changed::Done,
            ("will_stop", _, _) => Changed::WillStop,
            ("wrong_state", Some(state), _) => Changed::WrongState(job_state(state)?),
            ("conflict", _, Some(owner)) => Changed::Conflict(JobId::new(owner)?),
            ("not_found", _, _) => Changed::NotFound,
            (other, _, _) => return Err(Error::unknown("outcome", other, &["done", "will_stop"])),
        };
        Ok(ChangedJob {
            id: self.id.map(JobId::new).transpose()?,
            changed,
        })
    }
}

impl From<(&Target, Option<Cursor>)> for JobSelector {
    /// Selects the page of a target, with a reply for each job.
    fn from((target, from): (&Target, Option<Cursor>)) -> Self {
        let mut selector = Self {
            cursor: from.map(|from| from.0),
            each: Some(true),
            ..Self::default()
        };
        match target {
            Target::Ids(ids) => selector.ids = Some(ids.iter().map(ToString::to_string).collect()),
            Target::UniqueKey(key) => selector.unique_key = Some(key.to_string()),
            Target::Payload(payload) => {
                (selector.payload, selector.payload_base64) = content::encode(payload);
            }
            Target::Filter(filter) => {
                selector.all = Some(true);
                selector = selector.with_filter(filter);
            }
        }
        selector
    }
}

impl JobSelector {
    fn target(&self, change: Change) -> Result<Target> {
        let payload = content::of(
            self.payload.as_ref(),
            self.payload_base64.as_deref(),
            "payload",
        )?;
        let payload = payload.or_else(|| self.payload_bytes.clone());
        let is_all = self.all.unwrap_or(false);
        let selections = [
            self.id.is_some(),
            self.ids.is_some(),
            payload.is_some(),
            self.unique_key.is_some(),
            is_all,
        ];
        let invalid = |why| {
            let help = match change {
                Change::Cancel => {
                    "set exactly one of id, ids, payload, payload_base64, unique_key or all"
                }
                _ => "set exactly one of id, ids, unique_key or all",
            };
            Err(Error::invalid("request", why, help))
        };
        match selections.iter().filter(|is_set| **is_set).count() {
            1 => {}
            0 => return invalid("no job selected"),
            _ => return invalid("more than one selection"),
        }
        let filter = self.filter()?;
        if !is_all && filter != Filter::default() {
            return invalid("a filter requires \"all\":true");
        }
        if let Some(id) = &self.id {
            return Ok(Target::Ids(vec![JobId::new(id)?]));
        }
        if let Some(ids) = &self.ids {
            return Ok(Target::Ids(
                ids.iter().map(JobId::new).collect::<Result<_>>()?,
            ));
        }
        if let Some(payload) = payload {
            return Ok(Target::Payload(payload));
        }
        if let Some(key) = &self.unique_key {
            return Ok(Target::UniqueKey(UniqueKey::new(key)?));
        }
        Ok(Target::Filter(filter))
    }

    /// Changes the selected jobs: one page of them, or all.
    pub async fn change(
        self,
        store: &dyn Store,
        queue: &QueueName,
        change: Change,
        is_one_page: bool,
    ) -> ApiResult<ChangesReply> {
        let target = self.target(change)?;
        let is_one = self.id.is_some() || self.unique_key.is_some();
        let mut from = self.cursor.map(Cursor);
        if self.each.unwrap_or(false) {
            let page = store.change(queue, change, &target, from).await?;
            return Ok(ChangesReply::Each {
                jobs: page.items.iter().map(ChangedJobReply::from).collect(),
                next: page.next.map(|next| next.0),
                scanned: page.scanned,
            });
        }
        let mut counts = ChangeCounts::new(queue);
        let mut errors = Vec::new();
        let mut scanned = 0;
        loop {
            let page = store.change(queue, change, &target, from).await?;
            let Changes { items, next, .. } = page;
            scanned += page.scanned;
            if let (true, [job]) = (is_one, items.as_slice()) {
                return ChangeReply::of(change, queue, job).map(ChangesReply::One);
            }
            for job in &items {
                counts.add(job);
                if let Target::Ids(_) = target {
                    errors.extend(ChangeReply::of(change, queue, job).err());
                }
            }
            if is_one_page || next.is_none() {
                let next = next.map(|next| next.0);
                return Ok(ChangesReply::Many {
                    counts,
                    next,
                    scanned,
                    errors,
                });
            }
            from = next;
        }
    }
}

/// Defines the request of one op.
macro_rules! change {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $type(pub JobSelector);

        impl QueueRequest for $type {
            const OP: &'static str = Change::$type.as_str();
            type Reply = ChangesReply;

            async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<ChangesReply> {
                self.0.change(store, queue, Change::$type, true).await
            }
        }
    };
}

change! {
    /// Cancels waiting jobs and requests the cancellation of running ones.
    Cancel
}
change! {
    /// Moves dead jobs to the back of the queue, to run again.
    Retry
}
change! {
    /// Deletes finished jobs and forgets their ids.
    Delete
}
change! {
    /// Makes scheduled jobs ready now.
    Promote
}
