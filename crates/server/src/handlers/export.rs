//! Export: all jobs of a queue with their payloads, one per line of NDJSON, as an import takes them.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use windlass_api::request::{List, QueueRequest};
use windlass_api::{Error, JobReply};
use windlass_core::{Job, JobId, JobState, QueueName, Store};

use super::Answered;
use super::stream::{Parts, streamed, write_line};
use crate::error::Refusal;
use crate::request::Call;
use crate::state::Door;

/// About how many bytes one part of the answer has.
const PART_BYTES: usize = 1024 * 1024;

/// Writes all jobs, a page at a time, as fast as they are read.
pub(super) fn export(door: &Arc<Door>, call: &Call) -> Answered {
    let export = Export::new(Arc::clone(&door.store), call)?;
    let (parts, response) = streamed();
    tokio::spawn(async move {
        if let Err(problem) = export.write(&parts).await {
            let mut part = Vec::new();
            let error = serde_json::json!({ "error": problem, "stopped": true });
            write_line(&mut part, &error);
            let _ = parts.send(Bytes::from(part)).await;
        }
    });
    Ok(response)
}

/// An export on its way.
struct Export {
    store: Arc<dyn Store>,
    queue: QueueName,
    /// Only jobs in one of these states; without any, in all.
    states: Vec<JobState>,
    kind: Option<String>,
}

impl Export {
    fn new(store: Arc<dyn Store>, call: &Call) -> Result<Self, Refusal> {
        let mut fields = call.query_fields()?;
        let mut word = |name: &str| match fields.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let (states, kind) = (word("state"), word("kind"));
        if let Some(name) = fields.keys().next() {
            let short: String = name.chars().take(40).collect();
            let why = format!("the query has an unknown field {short:?}");
            return Err(Refusal::new("invalid", why, "use state and kind"));
        }
        let words = states.iter().flat_map(|states| states.split(','));
        let states: Option<Vec<_>> = words.map(JobState::from_text).collect();
        let states = states.ok_or_else(|| {
            let why = "the state in the query is none of a job";
            let help = "use scheduled, ready, running, succeeded, dead and cancelled, with commas";
            Refusal::new("invalid", why, help)
        })?;
        let queue = call.queue()?;
        Ok(Self {
            store,
            queue,
            states,
            kind,
        })
    }

    fn is_wanted(&self, job: &Job) -> bool {
        self.states.is_empty() || self.states.contains(&job.state)
    }

    fn page(&self, cursor: Option<String>) -> List {
        // A page is of one state or of all; those of several are picked out of all.
        let state = match self.states.as_slice() {
            [one] => Some(one.as_str().to_owned()),
            _ => None,
        };
        List {
            state,
            kind: self.kind.clone(),
            limit: None,
            cursor,
        }
    }

    async fn write(&self, parts: &Parts) -> Result<(), Error> {
        let (store, queue) = (self.store.as_ref(), &self.queue);
        let mut cursor = None;
        loop {
            let page = self.page(cursor.take()).execute(store, queue).await?;
            let mut part = Vec::new();
            for job in page.jobs {
                // A page has no payloads. A job that went away meanwhile is not there.
                let job = store.get(queue, &JobId::new(&job.id)?).await?;
                if let Some(job) = job.filter(|job| self.is_wanted(job)) {
                    write_line(&mut part, &JobReply::from(&job));
                }
                if part.len() >= PART_BYTES {
                    let full = Bytes::from(std::mem::take(&mut part));
                    if parts.send(full).await.is_err() {
                        return Ok(());
                    }
                }
            }
            let is_heard = part.is_empty() || parts.send(Bytes::from(part)).await.is_ok();
            cursor = page.next;
            if cursor.is_none() || !is_heard {
                return Ok(());
            }
        }
    }
}
