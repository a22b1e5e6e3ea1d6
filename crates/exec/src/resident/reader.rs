//! Reads the messages of a process and handles them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use tokio::io::AsyncRead;
use tokio::sync::Semaphore;
use windlass_api::EnqueueRequest;
use windlass_api::error::Error;
use windlass_api::lines::{InputLine, LineReader};
use windlass_core::{Error as CoreError, QueueName, Result};
use windlass_worker::{AttemptContext, lock};

use super::Shared;
use super::pool::{InstanceId, Outgoing, Sender};
use super::protocol::{EnqueueLine, Enqueued, LINE_BYTES_MAX, Message};
use crate::job::line;
use crate::log::{LINE_BYTES_MAX as LOG_BYTES_MAX, LastLines, LineLimit};

/// How many store calls a process may have in flight.
const ENQUEUES_MAX: usize = 16;

/// Why reading ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReadEnd {
    /// Stdout was closed.
    Closed,
    /// The process violated the protocol.
    ProtocolError(String),
}

/// Reads the output of one instance of a process.
pub(super) struct OutputReader {
    pub(super) shared: Arc<Shared>,
    pub(super) instance: InstanceId,
    sender: Sender,
    pub(super) has_replied: AtomicBool,
    has_warned: AtomicBool,
    /// Reported with a crash.
    last_lines: Mutex<LastLines>,
    /// Limits the lines that belong to no job; starts again with each reply.
    limit: LineLimit,
    enqueues: Arc<Semaphore>,
}

impl OutputReader {
    pub(super) fn new(shared: Arc<Shared>, instance: InstanceId, sender: Sender) -> Self {
        Self {
            shared,
            instance,
            sender,
            has_replied: AtomicBool::new(false),
            has_warned: AtomicBool::new(false),
            last_lines: Mutex::default(),
            limit: LineLimit::default(),
            enqueues: Arc::new(Semaphore::new(ENQUEUES_MAX)),
        }
    }

    /// Reads stdout until it is closed. Then the process can reply to no further job, so it gets none.
    pub(super) async fn read_stdout(self: Arc<Self>, stdout: impl AsyncRead + Unpin) -> ReadEnd {
        let end = self.read_messages(stdout).await;
        self.shared.pool.stop_assigning(self.instance);
        end
    }

    async fn read_messages(self: &Arc<Self>, stdout: impl AsyncRead + Unpin) -> ReadEnd {
        let mut lines = LineReader::new(stdout, LINE_BYTES_MAX);
        while let Ok(Some(line)) = lines.next().await {
            let handled = match &line {
                InputLine::Complete(bytes) => self.handle(bytes).await,
                InputLine::Truncated(_) => Err(format!(
                    "it wrote a line of more than {LINE_BYTES_MAX} bytes"
                )),
                // Incomplete, so not a message.
                InputLine::Partial(_) => {
                    self.log(&format!("(incomplete line) {}", line.text()));
                    Ok(())
                }
            };
            if let Err(why) = handled {
                return ReadEnd::ProtocolError(why);
            }
        }
        ReadEnd::Closed
    }

    /// Logs stderr until it is closed.
    pub(super) async fn log_stderr(self: Arc<Self>, stderr: impl AsyncRead + Unpin) {
        let mut lines = LineReader::new(stderr, LOG_BYTES_MAX);
        while let Ok(Some(line)) = lines.next().await {
            self.log(&line.text());
        }
    }

    /// Returns the last lines of stderr that could not be attributed to a job.
    pub(super) fn last_lines(&self) -> String {
        lock(&self.last_lines).to_string()
    }

    /// Lets the process take jobs: up to the configured concurrency, or the lower one it requests.
    pub(super) fn open(&self, requested: Option<usize>) {
        let Shared { pool, options, .. } = &*self.shared;
        let concurrency = options
            .concurrency
            .min(requested.unwrap_or(usize::MAX).max(1));
        pool.open(self.instance, &self.sender, concurrency);
    }

    /// Sends a message to the process.
    pub(super) fn send(&self, message: &impl Serialize) {
        let (bytes, may_be_seen) = (line(message), None);
        // Fails if the process has exited, which is fine.
        let _ = self.sender.send(Outgoing { bytes, may_be_seen });
    }

    async fn handle(self: &Arc<Self>, bytes: &[u8]) -> Result<(), String> {
        let pool = &self.shared.pool;
        let message = Message::read(bytes);
        match &message {
            // Must take effect before the first job is assigned.
            Some(Message::Ready { concurrency }) => self.open(*concurrency),
            // Any valid message shows that the process has started.
            Some(_) => self.open(None),
            None => {}
        }
        match message {
            Some(Message::Ready { concurrency }) => {
                // It may have been opened before this message.
                pool.lower_capacity(self.instance, concurrency.unwrap_or(usize::MAX));
            }
            Some(Message::Progress { attempt, report }) => {
                if !pool.progress(self.instance, &attempt, report) {
                    self.log_process(&format!(
                        "progress of job {:?} rejected: the process does not run this job",
                        attempt.id
                    ));
                }
            }
            Some(Message::Log { id, text }) => match pool.log_of(self.instance, id.as_deref()) {
                Some(log) => log.line(&text),
                None => self.log_process(&text),
            },
            Some(Message::Outcome { attempt, outcome }) => {
                let name = outcome.as_str();
                match pool.reply(self.instance, &attempt, outcome) {
                    Ok(()) => {
                        self.has_replied.store(true, Ordering::Release);
                        self.finish_log();
                    }
                    Err(why) => self.log_process(&format!(
                        "reply {name:?} for job {:?} rejected: {why}",
                        attempt.id
                    )),
                }
            }
            Some(Message::Enqueue(request)) => self.enqueue(request).await,
            None => return self.handle_other_line(bytes),
        }
        Ok(())
    }

    fn handle_other_line(&self, bytes: &[u8]) -> Result<(), String> {
        let text = InputLine::Complete(bytes.to_vec()).text();
        if self.shared.options.is_strict {
            let short: String = text.chars().take(200).collect();
            return Err(format!(
                "it wrote a line that is not a protocol message: {short:?}"
            ));
        }
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            self.log_process(
                "a line on stdout is not a protocol message and was logged; \
                print to stderr instead",
            );
        }
        self.log(&text);
        Ok(())
    }

    /// Logs a line: for the job if there is only one, otherwise for the process.
    fn log(&self, text: &str) {
        if let Some(log) = self.shared.pool.log_of(self.instance, None) {
            log.line(text);
            return;
        }
        let text = &text[..text.floor_char_boundary(LOG_BYTES_MAX)];
        lock(&self.last_lines).push(text);
        self.log_process(text);
    }

    fn log_process(&self, text: &str) {
        self.limit.line(text, |text| self.write_log(text));
    }

    /// Logs the last lines of the process if there were too many.
    pub(super) fn finish_log(&self) {
        self.limit.finish(|text| self.write_log(text));
    }

    fn write_log(&self, text: &str) {
        (self.shared.options.starter.log_sink)(&format!(
            "process {}: {text}",
            self.instance.slot + 1
        ));
    }

    /// Enqueues follow-up jobs and replies later; does not block the reading of further lines.
    async fn enqueue(self: &Arc<Self>, request: EnqueueLine) {
        let Ok(permit) = Arc::clone(&self.enqueues).acquire_owned().await else {
            return;
        };
        let reader = Arc::clone(self);
        tokio::spawn(async move {
            let (ids, error) = match reader.enqueued(&request).await {
                Ok(ids) => (Some(ids), None),
                Err(error) => (None, Some(Error::from(&error))),
            };
            let reply = Enqueued {
                reference: request.reference,
                ids,
                error,
            };
            reader.send(&reply);
            drop(permit);
        });
    }

    async fn enqueued(&self, request: &EnqueueLine) -> Result<Vec<String>> {
        let pool = &self.shared.pool;
        let parent = pool.log_of(self.instance, request.id.as_deref());
        let parent = parent.as_ref().map(|log| &log.context);
        let queue = queue(request, parent)?;
        let mut jobs = Vec::new();
        for job in &request.jobs {
            let mut job = EnqueueRequest::from_json(job.get())?.into_job()?;
            if let Some(parent) = parent {
                parent.pass_trace_to(&mut job)?;
            }
            jobs.push(job);
        }
        let replies = self.shared.options.store.enqueue(&queue, jobs).await?;
        Ok(replies.iter().map(|reply| reply.id().to_string()).collect())
    }
}

/// Returns the queue to enqueue to.
fn queue(request: &EnqueueLine, context: Option<&AttemptContext>) -> Result<QueueName> {
    match (&request.queue, context) {
        (Some(name), _) => QueueName::new(name),
        (None, Some(context)) => Ok(context.queue().clone()),
        (None, None) => Err(CoreError::invalid(
            "enqueue",
            "the queue is missing, and there is no job of this process to take it from",
            "add \"queue\", or the \"id\" of the job that enqueues",
        )),
    }
}
