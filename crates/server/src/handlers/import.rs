//! Import: one job or schedule per line of NDJSON, with one reply line for each.

use std::sync::Arc;
use std::time::Duration;

use axum::body::BodyDataStream;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use serde::Serialize;
use windlass_api::lines::{InputLine, LineSplitter};
use windlass_api::{
    Code, EnqueueReply, EnqueueRequest, Error, ImportLine, ImportedSchedule, PutSchedule, Scope,
    TraceHeaders, depth,
};
use windlass_core::limits::SCHEDULE_PAYLOAD_MAX;
use windlass_core::{NewJob, QueueName};

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
        state: Arc::clone(state),
        may_put_schedules: request.caller.grant.has(Scope::Admin),
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
    state: Arc<AppState>,
    /// Whether the caller has the scope of the op: the route requires only that of jobs.
    may_put_schedules: bool,
    queue: QueueName,
    key: Option<IdempotencyKey>,
    trace: Option<TraceHeaders>,
    /// How long the next chunk of the body may take.
    chunk_timeout: Duration,
    /// Lines of the next batch: what to store, and invalid lines to report in order.
    pending: Vec<(u64, Result<Stored, Error>)>,
    pending_bytes: usize,
    line: u64,
    output: Vec<u8>,
}

/// What a line adds to the store.
#[derive(Debug)]
enum Stored {
    Job(Box<NewJob>),
    Schedule(Box<PutSchedule>),
}

/// The reply to one line.
#[derive(Debug, Serialize)]
struct LineReply {
    line: u64,
    #[serde(flatten)]
    reply: Imported,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Imported {
    Job(EnqueueReply),
    Schedule(ImportedSchedule),
    Error { error: Error },
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
        let stored = match line {
            InputLine::Truncated(_) => {
                let why = format!("line too long; maximum {LINE_BYTES_MAX} bytes");
                let help = "store large data elsewhere and put a reference to it into the job";
                Err(Error::new(Code::TooLarge, why, help))
            }
            InputLine::Complete(line) | InputLine::Partial(line) => {
                if line.trim_ascii().is_empty() {
                    return;
                }
                self.parse(line)
            }
        };
        self.pending_bytes += match &stored {
            Ok(Stored::Job(job)) => job.payload.len(),
            Ok(Stored::Schedule(_)) => SCHEDULE_PAYLOAD_MAX,
            Err(_) => 0,
        };
        self.pending.push((self.line, stored));
    }

    fn parse(&self, line: &[u8]) -> Result<Stored, Error> {
        let text = std::str::from_utf8(line).map_err(|_| {
            let help = "send binary payloads as payload_base64";
            Error::new(Code::Invalid, "the line is not UTF-8", help)
        })?;
        depth::check(text)?;
        match ImportLine::parse(text)? {
            ImportLine::Job(request) => Ok(Stored::Job(Box::new(self.job(*request)?))),
            ImportLine::Schedule(schedule) if self.may_put_schedules => {
                Ok(Stored::Schedule(schedule))
            }
            ImportLine::Schedule(_) => {
                let why = "the token does not have the scope admin, which schedules require";
                let help = "use a token with that scope, or import only jobs";
                Err(Error::new(Code::Forbidden, why, help))
            }
        }
    }

    fn job(&self, mut request: EnqueueRequest) -> Result<NewJob, Error> {
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
        self.state.store.limits().check_job(&job)?;
        Ok(job)
    }

    /// Stores the pending jobs, then the schedules, and replies to their lines.
    async fn flush(&mut self, chunks: &ChunkSender) -> Result<(), Stopped> {
        let pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        let Some(first) = pending.first().map(|(line, _)| *line) else {
            return Ok(());
        };
        let jobs = pending.iter().filter_map(|(_, stored)| match stored {
            Ok(Stored::Job(job)) => Some(job.as_ref().clone()),
            _ => None,
        });
        let jobs: Vec<_> = jobs.collect();
        let enqueued = if jobs.is_empty() {
            Vec::new()
        } else {
            match self.state.store.enqueue(&self.queue, jobs).await {
                Ok(enqueued) => enqueued,
                Err(error) => return self.fail(first, error.into(), chunks).await,
            }
        };
        let mut enqueued = enqueued.iter();
        for (line, stored) in pending {
            let reply = match stored {
                Ok(Stored::Job(_)) => match enqueued.next() {
                    Some(job) => Imported::Job(EnqueueReply::new(&self.queue, job)),
                    None => return self.fail(line, Error::missing_reply(), chunks).await,
                },
                Ok(Stored::Schedule(schedule)) => match self.put(*schedule).await {
                    Ok(put) => Imported::Schedule(put),
                    // Concerns this schedule only: the queue has too many.
                    Err(error) if error.code == Code::Conflict => Imported::Error { error },
                    Err(error) => return self.fail(line, error, chunks).await,
                },
                Err(error) => Imported::Error { error },
            };
            write_line(&mut self.output, &LineReply { line, reply });
        }
        self.send(chunks).await
    }

    async fn put(&self, schedule: PutSchedule) -> Result<ImportedSchedule, Error> {
        let store = self.state.store.as_ref();
        let put = ImportedSchedule::put(schedule, store, &self.queue).await?;
        self.state.report_schedules(&self.queue);
        Ok(put)
    }

    /// Reports that the store failed.
    async fn fail(&mut self, line: u64, error: Error, chunks: &ChunkSender) -> Result<(), Stopped> {
        let mut error = HttpError::from(error);
        error.inner.message = format!(
            "import stopped; the outcome of line {line} and later lines is unknown: {}",
            error.inner.message
        );
        self.end(error, chunks).await
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
