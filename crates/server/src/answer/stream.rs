//! NDJSON streams: a job per line in, with a line of answer for each; and all jobs out.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Response;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use tokio::sync::mpsc;
use windlass_api::request::{List, QueueRequest};
use windlass_api::{EnqueueReply, EnqueueRequest, JobReply, Problem};
use windlass_core::{JobId, JobState, NewJob, QueueName, Store};

use super::Answered;
use crate::call::{Call, broken, too_slow};
use crate::depth;
use crate::door::{BODY_BYTES_MAX, Door};
use crate::idempotency::Key;
use crate::refusal::Refusal;

/// How many jobs go to the store in one call.
const BATCH_JOBS: usize = 500;

/// How many of their bytes.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// How long the next part of a stream may take.
const PART_WAIT: Duration = Duration::from_secs(30);

/// How many parts wait for a reader before the other side is not read any further.
const PARTS_MAX: usize = 16;

type Parts = mpsc::Sender<Bytes>;

/// A body that is written as it comes.
fn streamed(parts: mpsc::Receiver<Bytes>) -> Response<Body> {
    let parts = stream::unfold(parts, |mut parts| async {
        let part = parts.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(part), parts))
    });
    super::text("application/x-ndjson", Body::from_stream(parts))
}

/// Puts a line of answer into a part.
fn write_line(part: &mut Vec<u8>, value: &impl Serialize) {
    // Replies are structs of plain values.
    let _ = serde_json::to_writer(&mut *part, value);
    part.push(b'\n');
}

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
        waiting: Vec::new(),
        waiting_bytes: 0,
        line: 0,
        part: Vec::new(),
    };
    let body = std::mem::take(&mut call.body).into_data_stream();
    let (parts, receiver) = mpsc::channel(PARTS_MAX);
    tokio::spawn(import.run(body, parts));
    Ok(streamed(receiver))
}

/// An import on its way.
struct Import {
    store: Arc<dyn Store>,
    queue: QueueName,
    key: Option<Key>,
    /// Lines whose jobs go to the store next, or whose refusal is told among them.
    waiting: Vec<(u64, Result<NewJob, Problem>)>,
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
    error: Option<&'a Problem>,
}

/// The import ended before its input did.
struct Ended;

impl Import {
    async fn run(mut self, body: BodyDataStream, parts: Parts) {
        // Whoever was to hear the answers may be gone; what is stored is stored.
        let _ = self.read(body, &parts).await;
    }

    async fn read(&mut self, mut body: BodyDataStream, parts: &Parts) -> Result<(), Ended> {
        let mut rest = BytesMut::new();
        // So many bytes of the rest are known to end no line.
        let mut seen = 0;
        loop {
            match tokio::time::timeout(PART_WAIT, body.next()).await {
                Ok(Some(Ok(chunk))) => rest.extend_from_slice(&chunk),
                Ok(Some(Err(_))) => return self.stop(broken(), parts).await,
                Err(_) => return self.stop(too_slow(), parts).await,
                Ok(None) => break,
            }
            while let Some(at) = rest[seen..].iter().position(|byte| *byte == b'\n') {
                let line = rest.split_to(seen + at + 1);
                self.take(&line[..seen + at]);
                seen = 0;
                if self.waiting.len() >= BATCH_JOBS || self.waiting_bytes >= BATCH_BYTES {
                    self.flush(parts).await?;
                }
            }
            seen = rest.len();
            if rest.len() > BODY_BYTES_MAX {
                self.line += 1;
                let why = format!("line {} is longer than {BODY_BYTES_MAX} bytes", self.line);
                let refusal = Refusal::new("too_large", why, "keep large data elsewhere");
                return self.stop(refusal, parts).await;
            }
            self.flush(parts).await?;
        }
        if !rest.is_empty() {
            self.take(&rest);
        }
        self.flush(parts).await
    }

    /// Reads a line; an empty one is none.
    fn take(&mut self, line: &[u8]) {
        self.line += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let job = self.job(line);
        self.waiting_bytes += job.as_ref().map_or(0, |job| job.payload.len());
        self.waiting.push((self.line, job));
    }

    fn job(&self, line: &[u8]) -> Result<NewJob, Problem> {
        let text = std::str::from_utf8(line).map_err(|_| {
            let help = "send bytes as payload_base64";
            Problem::new("invalid", "the line is not UTF-8", help)
        })?;
        depth::check(text).map_err(|refusal| refusal.problem)?;
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
                    return self.stop(refusal, parts).await;
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

    /// Tells why the rest is not read.
    async fn stop(&mut self, refusal: Refusal, parts: &Parts) -> Result<(), Ended> {
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

/// Writes all jobs, a page at a time, as fast as they are read.
pub(super) fn export(door: &Arc<Door>, call: &Call) -> Answered {
    let queue = call.queue()?;
    let mut fields = call.query_fields()?;
    let mut word = |name: &str| match fields.remove(name) {
        Some(serde_json::Value::String(text)) => Some(text),
        _ => None,
    };
    let (state, kind) = (word("state"), word("kind"));
    if let Some(name) = fields.keys().next() {
        let short: String = name.chars().take(40).collect();
        let why = format!("the query has an unknown field {short:?}");
        return Err(Refusal::new("invalid", why, "use state and kind"));
    }
    if state
        .as_deref()
        .is_some_and(|word| JobState::from_word(word).is_none())
    {
        let why = "the state in the query is none of a job";
        let help = "use scheduled, ready, running, succeeded, dead or cancelled";
        return Err(Refusal::new("invalid", why, help));
    }
    let (parts, receiver) = mpsc::channel(PARTS_MAX);
    let store = Arc::clone(&door.store);
    tokio::spawn(async move {
        if let Err(problem) = write_jobs(store.as_ref(), &queue, state, kind, &parts).await {
            let mut part = Vec::new();
            write_line(
                &mut part,
                &serde_json::json!({ "error": problem, "stopped": true }),
            );
            let _ = parts.send(Bytes::from(part)).await;
        }
    });
    Ok(streamed(receiver))
}

async fn write_jobs(
    store: &dyn Store,
    queue: &QueueName,
    state: Option<String>,
    kind: Option<String>,
    parts: &Parts,
) -> Result<(), Problem> {
    let mut cursor = None;
    loop {
        let list = List {
            state: state.clone(),
            kind: kind.clone(),
            limit: None,
            cursor: cursor.take(),
        };
        let page = list.answer(store, queue).await?;
        let mut part = Vec::new();
        for job in page.jobs {
            // A page has no payloads. A job that went away meanwhile is not there.
            if let Some(job) = store.get(queue, &JobId::new(&job.id)?).await? {
                write_line(&mut part, &JobReply::from(&job));
            }
            if part.len() >= BATCH_BYTES {
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
