//! Export: all jobs of a queue with their payloads, and its schedules, as NDJSON that can be imported again.

use std::sync::Arc;

use bytes::Bytes;
use windlass_api::request::{self, List, QueueRequest};
use windlass_api::{Code, Error, ExportedSchedule, JobReply};
use windlass_core::store::Cursor;
use windlass_core::{Filter, Job, JobId, JobState, QueueName, Store};

use super::HandlerResult;
use super::stream::{ChunkSender, streamed, write_line};
use crate::budget::hold;
use crate::error::HttpError;
use crate::request::ApiRequest;
use crate::state::AppState;

/// The approximate size of one chunk of the response.
const CHUNK_BYTES: usize = 256 * 1024;

/// The memory of an export: the chunk being built, the next one and the one being sent, each with a
/// last job of up to 2 MiB of payload and result, as base64.
const EXPORT_BYTES: usize = 3 * (CHUNK_BYTES + 3 * 1024 * 1024);

/// Schedules per chunk. With payloads of 64 KiB, every byte escaped as six, they are as large as a job.
const SCHEDULES_PAGE: usize = 8;

/// Streams all matching jobs, page by page. A slow reader slows down the export.
pub(super) fn export(state: &Arc<AppState>, request: &ApiRequest) -> HandlerResult {
    let export = Export::new(Arc::clone(&state.store), request)?;
    let reserved = request.caller.limiter.reserve(EXPORT_BYTES)?;
    let (chunks, response) = streamed();
    tokio::spawn(async move {
        if let Err(error) = export.write(&chunks).await {
            let mut chunk = Vec::new();
            let last = serde_json::json!({ "error": error, "stopped": true });
            write_line(&mut chunk, &last);
            let _ = chunks.send(Bytes::from(chunk)).await;
        }
    });
    Ok(response.map(|body| hold(body, reserved)))
}

/// A running export.
struct Export {
    store: Arc<dyn Store>,
    queue: QueueName,
    /// The filter of all pages.
    list: List,
    /// Export only jobs in these states; if empty, all jobs. The store filters by one state or none.
    states: Vec<JobState>,
    has_schedules: bool,
}

impl Export {
    fn new(store: Arc<dyn Store>, request: &ApiRequest) -> Result<Self, HttpError> {
        let mut export: request::Export = request.query_fields()?.read()?;
        let names = export.state.iter().flat_map(|states| states.split(','));
        let states: Option<Vec<_>> = names.map(JobState::from_text).collect();
        let states = states.ok_or_else(|| {
            let why = "unknown state in the query";
            let help = "use pending, scheduled, ready, running, succeeded, dead or cancelled, \
                separated by commas";
            HttpError::new(Code::Invalid, why, help)
        })?;
        if states.len() > 1 {
            export.state = None;
        }
        let filter = export.filter()?;
        // Part of the jobs is rarely meant to bring schedules along, which would then fire in two stores.
        let is_whole = states.is_empty() && filter == Filter::default();
        Ok(Self {
            store,
            queue: request.queue()?,
            list: List::default().with_filter(&filter),
            states,
            has_schedules: export.schedules.unwrap_or(is_whole),
        })
    }

    fn matches(&self, job: &Job) -> bool {
        self.states.is_empty() || self.states.contains(&job.state)
    }

    fn page(&self, cursor: Option<String>) -> List {
        List {
            cursor,
            ..self.list.clone()
        }
    }

    async fn write(&self, chunks: &ChunkSender) -> Result<(), Error> {
        let is_connected = self.write_jobs(chunks).await?;
        if is_connected && self.has_schedules {
            self.write_schedules(chunks).await?;
        }
        Ok(())
    }

    /// Returns whether the client still reads.
    async fn write_jobs(&self, chunks: &ChunkSender) -> Result<bool, Error> {
        let (store, queue) = (self.store.as_ref(), &self.queue);
        let mut cursor = None;
        loop {
            let page = self.page(cursor.take()).execute(store, queue).await?;
            let mut chunk = Vec::new();
            for job in page.jobs {
                // Pages carry no payloads, so each job is read again. It may have been removed.
                let job = store.get(queue, &JobId::new(&job.id)?).await?;
                if let Some(job) = job.filter(|job| self.matches(job)) {
                    write_line(&mut chunk, &JobReply::from(&job));
                }
                if chunk.len() >= CHUNK_BYTES {
                    let full = Bytes::from(std::mem::take(&mut chunk));
                    if chunks.send(full).await.is_err() {
                        return Ok(false);
                    }
                }
            }
            let is_connected = chunk.is_empty() || chunks.send(Bytes::from(chunk)).await.is_ok();
            cursor = page.next;
            if cursor.is_none() || !is_connected {
                return Ok(is_connected);
            }
        }
    }

    /// Last, so that an import has all jobs before a schedule fires.
    async fn write_schedules(&self, chunks: &ChunkSender) -> Result<(), Error> {
        let (store, queue) = (self.store.as_ref(), &self.queue);
        let mut from: Option<Cursor> = None;
        loop {
            let page = store.schedules(queue, from, SCHEDULES_PAGE).await?;
            let mut chunk = Vec::new();
            for schedule in page.items.iter().filter_map(ExportedSchedule::new) {
                write_line(&mut chunk, &schedule);
            }
            let is_connected = chunk.is_empty() || chunks.send(Bytes::from(chunk)).await.is_ok();
            from = page.next;
            if from.is_none() || !is_connected {
                return Ok(());
            }
        }
    }
}
