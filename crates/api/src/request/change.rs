//! cancel, retry, delete and promote: one job, several, or a page of all matching jobs.

use bytes::Bytes;
use clap::{ArgGroup, Args};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::{
    Change, Changes, Cursor, Error, Filter, JobId, JobState, Kind, QueueName, Result, Store,
    Target, UniqueKey,
};

use super::{ApiResult, QueueRequest};
use crate::change::{ChangeCounts, ChangeReply};
use crate::content::{self, Text};
use crate::error::Error as ApiError;

/// Selects jobs by exactly one of `id`, `ids`, `payload`, `unique_key` and `all`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema, Args)]
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
    #[serde(deserialize_with = "content::present")]
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
    /// The unfinished job with this unique key.
    #[arg(skip)]
    pub unique_key: Option<String>,
    /// All jobs of the queue that the operation applies to
    #[arg(long, group = "which", num_args = 0, default_missing_value = "true")]
    pub all: Option<bool>,
    /// With `all`: only jobs in this state.
    #[arg(long, value_name = "S", conflicts_with = "id")]
    #[arg(help = "With --all: only jobs in this state, such as ready or dead")]
    pub state: Option<String>,
    /// With `all`: only jobs of this kind.
    #[arg(long, value_name = "K", conflicts_with = "id")]
    #[arg(help = "With --all: only jobs of this kind")]
    pub kind: Option<String>,
    /// `next` of the previous page.
    #[arg(skip)]
    pub cursor: Option<String>,
}

/// The reply for one job, or for a page of jobs.
#[derive(Debug, Serialize, JsonSchema)]
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
        /// Why jobs that were selected by id were not changed.
        #[serde(skip)]
        errors: Vec<ApiError>,
    },
}

/// Parses a filter.
pub fn filter(state: Option<&str>, kind: Option<&str>) -> Result<Filter> {
    let state = state.map(|text| {
        JobState::from_text(text).ok_or_else(|| {
            let names: Vec<_> = JobState::ALL.iter().map(|state| state.as_str()).collect();
            Error::unknown("state", text, &names)
        })
    });
    Ok(Filter {
        state: state.transpose()?,
        kind: kind.map(Kind::new).transpose()?,
    })
}

impl JobSelector {
    fn target(&self) -> Result<Target> {
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
            let help = "set exactly one of id, ids, payload, payload_base64, unique_key or all";
            Err(Error::invalid("request", why, help))
        };
        match selections.iter().filter(|is_set| **is_set).count() {
            1 => {}
            0 => return invalid("no job selected"),
            _ => return invalid("more than one selection"),
        }
        if !is_all && (self.state.is_some() || self.kind.is_some()) {
            return invalid("state and kind require \"all\":true");
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
        Ok(Target::Filter(filter(
            self.state.as_deref(),
            self.kind.as_deref(),
        )?))
    }

    /// Changes the selected jobs: one page of them, or all.
    pub async fn change(
        self,
        store: &dyn Store,
        queue: &QueueName,
        change: Change,
        is_one_page: bool,
    ) -> ApiResult<ChangesReply> {
        let target = self.target()?;
        let is_one = self.id.is_some() || self.unique_key.is_some();
        let mut from = self.cursor.map(Cursor);
        let mut counts = ChangeCounts::new(queue);
        let mut errors = Vec::new();
        loop {
            let Changes { items, next } = store.change(queue, change, &target, from).await?;
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
        #[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
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
