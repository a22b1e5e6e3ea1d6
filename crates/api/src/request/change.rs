//! cancel, retry, delete, promote: one job, several, or a page of all that match.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::{
    Changes, Cursor, Error, Filter, JobId, JobState, Kind, QueueName, Result, Store, Target,
    UniqueKey,
};

use super::{Answer, QueueRequest};
use crate::change::{ChangeCounts, ChangeReply, Verb};
use crate::content::{self, Text};

/// Which jobs are meant: exactly one of `id`, `ids`, `payload`, `unique_key` and `all`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Which {
    pub id: Option<String>,
    pub ids: Option<Vec<String>>,
    /// Every job with exactly these bytes (only cancel).
    #[serde(deserialize_with = "content::present")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub payload: Option<Text>,
    pub payload_base64: Option<String>,
    /// The live job that holds this key.
    pub unique_key: Option<String>,
    /// Every job that can be meant.
    pub all: Option<bool>,
    /// With `all`: only jobs in this state.
    pub state: Option<String>,
    /// With `all`: only jobs of this kind.
    pub kind: Option<String>,
    /// Where the last page ended.
    pub cursor: Option<String>,
}

/// What became of the one job, or of a page of many.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ChangeAnswer {
    /// The one job that was named.
    One(ChangeReply),
    /// Figures of this page.
    Many {
        /// What became of them.
        #[serde(flatten)]
        counts: ChangeCounts,
        /// Where the next page begins; nothing when all were seen.
        next: Option<String>,
    },
}

/// A filter by the words of a door.
pub fn filter(state: Option<&str>, kind: Option<&str>) -> Result<Filter> {
    let state = state.map(|word| {
        JobState::from_text(word).ok_or_else(|| {
            let words: Vec<_> = JobState::ALL.iter().map(|state| state.as_str()).collect();
            Error::unknown("state", word, &words)
        })
    });
    Ok(Filter {
        state: state.transpose()?,
        kind: kind.map(Kind::new).transpose()?,
    })
}

impl Which {
    fn target(&self) -> Result<Target> {
        let payload = content::of(
            self.payload.as_ref(),
            self.payload_base64.as_deref(),
            "payload",
        )?;
        let is_all = self.all.unwrap_or(false);
        let ways = [
            self.id.is_some(),
            self.ids.is_some(),
            payload.is_some(),
            self.unique_key.is_some(),
            is_all,
        ];
        let bad = |why| {
            let help = "set exactly one of id, ids, payload, payload_base64, unique_key or all";
            Err(Error::invalid("request", why, help))
        };
        match ways.iter().filter(|is_said| **is_said).count() {
            1 => {}
            0 => return bad("no job selected"),
            _ => return bad("more than one selection"),
        }
        if !is_all && (self.state.is_some() || self.kind.is_some()) {
            return bad("state and kind require \"all\":true");
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

    async fn change(
        self,
        store: &dyn Store,
        queue: &QueueName,
        verb: Verb,
    ) -> Answer<ChangeAnswer> {
        let target = self.target()?;
        let from = self.cursor.clone().map(Cursor);
        let Changes { items, next } = verb.change(store, queue, &target, from).await?;
        let is_one = self.id.is_some() || self.unique_key.is_some();
        if let (true, [job]) = (is_one, items.as_slice()) {
            return ChangeReply::of(verb, queue, job).map(ChangeAnswer::One);
        }
        let mut counts = ChangeCounts::new(queue);
        for job in &items {
            counts.add(job);
        }
        let next = next.map(|next| next.0);
        Ok(ChangeAnswer::Many { counts, next })
    }
}

/// Makes the request of one verb.
macro_rules! change {
    ($(#[$doc:meta])* $type:ident, $op:literal, $verb:expr) => {
        $(#[$doc])*
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $type(pub Which);

        impl QueueRequest for $type {
            const OP: &'static str = $op;
            type Reply = ChangeAnswer;

            async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<ChangeAnswer> {
                self.0.change(store, queue, $verb).await
            }
        }
    };
}

change! {
    /// Cancels waiting jobs; asks running ones to stop.
    Cancel, "cancel", Verb::Cancel
}
change! {
    /// Makes dead jobs ready again.
    Retry, "retry", Verb::Retry
}
change! {
    /// Forgets finished jobs.
    Delete, "delete", Verb::Delete
}
change! {
    /// Makes scheduled jobs ready now.
    Promote, "promote", Verb::Promote
}
