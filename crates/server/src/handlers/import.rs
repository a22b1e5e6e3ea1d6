//! Import: a job per line of NDJSON, with a line of answer for each.

mod line_splitter;

use std::sync::Arc;
use std::time::Duration;

use axum::body::BodyDataStream;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use serde::Serialize;
use windlass_api::{EnqueueReply, EnqueueRequest, Error, depth};
use windlass_core::{JobId, NewJob, QueueName, Store};

use super::Answered;
use super::stream::{Parts, streamed, write_line};
use crate::error::Refusal;
use crate::idempotency::Key;
use crate::request::{Call, broken, too_slow};
use crate::state::Door;
use line_splitter::{Line, Lines};

/// How many jobs go to the store in one call.
const BATCH_JOBS: usize = 500;

/// How many of their bytes.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// The longest line: a payload of 1 MiB with every byte escaped, and its fields.
const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Enqueues a job per line.
pub(super) fn import(door: &Arc<Door>, mut call: Call) -> Answered {
    call.no_query()?;
    let media = call.media_type();
    if !matches!(
        media.as_str(),
        "application/x-ndjson" | "application/ndjson"
    ) {
        let help = "send a job per line with the header content-type: application/x-ndjson";
        return Err(Refusal::new(
            "wrong_media_type",
            "the body is not said to be NDJSON",
            help,
        ));
    }
    let import = Import {
        store: Arc::clone(&door.store),
        queue: call.queue()?,
        key: Key::of(&call.headers)?,
        part_wait: call.body_wait,
        waiting: Vec::new(),
        waiting_bytes: 0,
        line: 0,
        part: Vec::new(),
    };
    let body = std::mem::take(&mut call.body).into_data_stream();
    let (parts, response) = streamed();
    tokio::spawn(import.run(body, parts));
    Ok(response)
}

/// An import on its way.
struct Import {
    store: Arc<dyn Store>,
    queue: QueueName,
    key: Option<Key>,
    /// How long the next part may take.
    part_wait: Duration,
    /// Lines whose jobs go to the store next, or whose refusal is told among them.
    waiting: Vec<(u64, Result<NewJob, Error>)>,
    waiting_bytes: usize,
    line: u64,
    part: Vec<u8>,
}

/// What became of one line.
#[derive(Debug, Serialize)]
struct LineReply<'a> {
    line: u64,
    #[serde(flatten)]
    reply: Option<EnqueueReply>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Error>,
}

/// The import ended before its input did.
struct Ended;

impl Import {
    async fn run(mut self, body: BodyDataStream, parts: Parts) {
        // Whoever was to hear the answers may be gone; what is stored is stored.
        let _ = self.read(body, &parts).await;
    }

    async fn read(&mut self, mut body: BodyDataStream, parts: &Parts) -> Result<(), Ended> {
        let mut lines = Lines::new(LINE_BYTES_MAX);
        loop {
            // Whoever sends slowly has each line stored at once, whoever sends fast has batches.
            let next = if self.waiting.is_empty() {
                tokio::time::timeout(self.part_wait, body.next()).await
            } else if let Some(next) = body.next().now_or_never() {
                Ok(next)
            } else {
                self.flush(parts).await?;
                continue;
            };
            match next {
                Ok(Some(Ok(chunk))) => lines.push(&chunk),
                Ok(Some(Err(_))) => return self.stop(broken(), parts).await,
                Err(_) => return self.stop(too_slow(self.part_wait), parts).await,
                Ok(None) => break,
            }
            while let Some(line) = lines.next() {
                self.take(&line);
                if self.waiting.len() >= BATCH_JOBS || self.waiting_bytes >= BATCH_BYTES {
                    self.flush(parts).await?;
                }
            }
        }
        if let Some(line) = lines.last() {
            self.take(&line);
        }
        self.flush(parts).await
    }

    /// Reads a line; an empty one is none.
    fn take(&mut self, line: &Line) {
        self.line += 1;
        let job = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => return,
            Line::Whole(line) => self.job(line),
            Line::TooLong => {
                let why = format!("the line is longer than {LINE_BYTES_MAX} bytes");
                let help = "keep large data elsewhere and put a reference into the job";
                Err(Error::new("too_large", why, help))
            }
        };
        self.waiting_bytes += job.as_ref().map_or(0, |job| job.payload.len());
        self.waiting.push((self.line, job));
    }

    fn job(&self, line: &[u8]) -> Result<NewJob, Error> {
        let text = std::str::from_utf8(line).map_err(|_| {
            let help = "send bytes as payload_base64";
            Error::new("invalid", "the line is not UTF-8", help)
        })?;
        depth::check(text)?;
        let request = EnqueueRequest::from_json(text)?;
        let is_named = request.id.is_some();
        let mut job = request.into_job()?;
        if let (Some(key), false) = (&self.key, is_named) {
            let at = usize::try_from(self.line).unwrap_or(usize::MAX);
            job = job.id(JobId::new(key.id(at))?);
        }
        self.store.limits().check_job(&job)?;
        Ok(job)
    }

    /// Hands the waiting jobs to the store and answers their lines.
    async fn flush(&mut self, parts: &Parts) -> Result<(), Ended> {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        if waiting.is_empty() {
            return Ok(());
        }
        let jobs: Vec<_> = waiting
            .iter()
            .filter_map(|(_, job)| job.as_ref().ok().cloned())
            .collect();
        let answers = if jobs.is_empty() {
            Vec::new()
        } else {
            match self.store.enqueue(&self.queue, jobs).await {
                Ok(answers) => answers,
                Err(error) => {
                    let first = waiting.first().map_or(0, |(line, _)| *line);
                    let mut refusal = Refusal::from(error);
                    refusal.problem.message = format!(
                        "nothing is known of line {first} and those after it: {}",
                        refusal.problem.message
                    );
                    return self.end(refusal, parts).await;
                }
            }
        };
        let mut answers = answers.iter();
        for (line, job) in &waiting {
            let reply = match job {
                Ok(_) => answers.next().map(|it| EnqueueReply::new(&self.queue, it)),
                Err(_) => None,
            };
            let error = job.as_ref().err();
            let line = *line;
            write_line(&mut self.part, &LineReply { line, reply, error });
        }
        self.send(parts).await
    }

    /// Stores what came whole, and tells why the rest is not read.
    async fn stop(&mut self, refusal: Refusal, parts: &Parts) -> Result<(), Ended> {
        self.flush(parts).await?;
        self.end(refusal, parts).await
    }

    async fn end(&mut self, refusal: Refusal, parts: &Parts) -> Result<(), Ended> {
        let problem = refusal.problem.at_line(self.line);
        let error = serde_json::json!({ "error": problem, "stopped": true });
        write_line(&mut self.part, &error);
        self.send(parts).await?;
        Err(Ended)
    }

    async fn send(&mut self, parts: &Parts) -> Result<(), Ended> {
        let part = Bytes::from(std::mem::take(&mut self.part));
        parts.send(part).await.map_err(|_| Ended)
    }
}
