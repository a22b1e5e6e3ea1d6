//! Import: one job per line of NDJSON, with one reply line for each.

use std::sync::Arc;
use std::time::Duration;

use axum::body::BodyDataStream;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use serde::Serialize;
use windlass_api::lines::{InputLine, LineSplitter};
use windlass_api::{Code, EnqueueReply, EnqueueRequest, Error, TraceHeaders, depth};
use windlass_core::{NewJob, QueueName, Store};

use super::HandlerResult;
use super::stream::{ChunkSender, streamed, write_line};
use crate::error::HttpError;
use crate::idempotency::IdempotencyKey;
use crate::request::{ApiRequest, incomplete, too_slow};
use crate::state::AppState;

/// The most jobs sent to the store in one call.
const BATCH_JOBS: usize = 500;

/// The most payload bytes sent to the store in one call.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// The longest line: a 1 MiB payload with every byte escaped, plus the other fields.
const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The memory of an import: a line, the jobs of a batch, and their copies for the store.
const IMPORT_BYTES: usize = LINE_BYTES_MAX + 2 * BATCH_BYTES;

/// Enqueues one job per line.
pub(super) fn import(state: &Arc<AppState>, mut request: ApiRequest) -> HandlerResult {
    request.no_query()?;
    let media_type = request.media_type();
    if !matches!(
        media_type.as_str(),
        "application/x-ndjson" | "application/ndjson"
    ) {
        let help = "set the header content-type: application/x-ndjson and send one job per line";
        return Err(HttpError::new(
            Code::WrongMediaType,
            "the content type is not NDJSON",
            help,
        ));
    }
    let import = Import {
        store: Arc::clone(&state.store),
        queue: request.queue()?,
        key: IdempotencyKey::from_headers(&request.headers)?,
        trace: super::trace(&request.headers),
        chunk_timeout: request.body_timeout,
        pending: Vec::new(),
        pending_bytes: 0,
        line: 0,
        output: Vec::new(),
    };
    let reserved = request.caller.limiter.reserve(IMPORT_BYTES)?;
    let body = std::mem::take(&mut request.body).into_data_stream();
    let (chunks, response) = streamed();
    tokio::spawn(async move {
        import.run(body, chunks).await;
        drop(reserved);
    });
    Ok(response)
}

/// A running import.
struct Import {
    store: Arc<dyn Store>,
    queue: QueueName,
    key: Option<IdempotencyKey>,
    trace: Option<TraceHeaders>,
    /// How long the next chunk of the body may take.
    chunk_timeout: Duration,
    /// Lines of the next batch: jobs to enqueue, and invalid lines to report in order.
    pending: Vec<(u64, Result<NewJob, Error>)>,
    pending_bytes: usize,
    line: u64,
    output: Vec<u8>,
}

/// The reply to one line.
#[derive(Debug, Serialize)]
struct LineReply<'a> {
    line: u64,
    #[serde(flatten)]
    reply: Option<EnqueueReply>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Error>,
}

/// The import stopped before the end of its input.
struct Stopped;

impl Import {
    async fn run(mut self, body: BodyDataStream, chunks: ChunkSender) {
        // The client may have disconnected; jobs already enqueued stay enqueued.
        let _ = self.read(body, &chunks).await;
    }

    async fn read(
        &mut self,
        mut body: BodyDataStream,
        chunks: &ChunkSender,
    ) -> Result<(), Stopped> {
        let mut lines = LineSplitter::new(LINE_BYTES_MAX);
        loop {
            // Lines of a slow sender are stored at once; lines of a fast one in batches.
            let next = if self.pending.is_empty() {
                tokio::time::timeout(self.chunk_timeout, body.next()).await
            } else if let Some(next) = body.next().now_or_never() {
                Ok(next)
            } else {
                self.flush(chunks).await?;
                continue;
            };
            let chunk = match next {
                Ok(Some(Ok(chunk))) => chunk,
                Ok(Some(Err(_))) => return self.stop(incomplete(), chunks).await,
                Err(_) => return self.stop(too_slow(self.chunk_timeout), chunks).await,
                Ok(None) => break,
            };
            let mut rest = chunk.as_ref();
            while let Some(line) = lines.next(&mut rest) {
                self.add(&line);
                if self.pending.len() >= BATCH_JOBS || self.pending_bytes >= BATCH_BYTES {
                    self.flush(chunks).await?;
                }
            }
        }
        if let Some(line) = lines.last() {
            self.add(&line);
        }
        self.flush(chunks).await
    }

    /// Adds a line to the batch. Empty lines are ignored.
    fn add(&mut self, line: &InputLine) {
        self.line += 1;
        let job = match line {
            InputLine::Truncated(_) => {
                let why = format!("line too long; maximum {LINE_BYTES_MAX} bytes");
                let help = "store large data elsewhere and put a reference to it into the job";
                Err(Error::new(Code::TooLarge, why, help))
            }
            InputLine::Complete(line) | InputLine::Partial(line) => {
                if line.trim_ascii().is_empty() {
                    return;
                }
                self.job(line)
            }
        };
        self.pending_bytes += job.as_ref().map_or(0, |job| job.payload.len());
        self.pending.push((self.line, job));
    }

    fn job(&self, line: &[u8]) -> Result<NewJob, Error> {
        let text = std::str::from_utf8(line).map_err(|_| {
            let help = "send binary payloads as payload_base64";
            Error::new(Code::Invalid, "the line is not UTF-8", help)
        })?;
        depth::check(text)?;
        let mut request = EnqueueRequest::from_json(text)?;
        if let Some(trace) = &self.trace {
            trace.add_to(&mut request.headers);
        }
        if let Some(key) = &self.key {
            key.set_id(
                &mut request,
                usize::try_from(self.line).unwrap_or(usize::MAX),
            );
        }
        let job = request.into_job()?;
        self.store.limits().check_job(&job)?;
        Ok(job)
    }

    /// Enqueues the pending jobs and replies to their lines.
    async fn flush(&mut self, chunks: &ChunkSender) -> Result<(), Stopped> {
        let pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        if pending.is_empty() {
            return Ok(());
        }
        let jobs: Vec<_> = pending
            .iter()
            .filter_map(|(_, job)| job.as_ref().ok().cloned())
            .collect();
        let enqueued = if jobs.is_empty() {
            Vec::new()
        } else {
            match self.store.enqueue(&self.queue, jobs).await {
                Ok(enqueued) => enqueued,
                Err(error) => {
                    let first = pending.first().map_or(0, |(line, _)| *line);
                    let mut error = HttpError::from(error);
                    error.inner.message = format!(
                        "import stopped; the outcome of line {first} and later lines is unknown: {}",
                        error.inner.message
                    );
                    return self.end(error, chunks).await;
                }
            }
        };
        let mut enqueued = enqueued.iter();
        for (line, job) in &pending {
            let reply = match job {
                Ok(_) => enqueued
                    .next()
                    .map(|job| EnqueueReply::new(&self.queue, job)),
                Err(_) => None,
            };
            let error = job.as_ref().err();
            let line = *line;
            write_line(&mut self.output, &LineReply { line, reply, error });
        }
        self.send(chunks).await
    }

    /// Enqueues the complete lines, and reports why the rest is not read.
    async fn stop(&mut self, error: HttpError, chunks: &ChunkSender) -> Result<(), Stopped> {
        self.flush(chunks).await?;
        self.end(error, chunks).await
    }

    async fn end(&mut self, error: HttpError, chunks: &ChunkSender) -> Result<(), Stopped> {
        let error = error.inner.at_line(self.line);
        let last = serde_json::json!({ "error": error, "stopped": true });
        write_line(&mut self.output, &last);
        self.send(chunks).await?;
        Err(Stopped)
    }

    async fn send(&mut self, chunks: &ChunkSender) -> Result<(), Stopped> {
        let chunk = Bytes::from(std::mem::take(&mut self.output));
        chunks.send(chunk).await.map_err(|_| Stopped)
    }
}
