//! The dispatcher of the Processor Job Queue: messages in, replies and assignments out.
//!
//! Job creators add jobs, workers report that they are idle, and each idle worker is assigned a job,
//! which it accepts and finishes. Jobs and workers are kept in the store, so a processor can stop at
//! any time and another one, or several at once, can continue.

mod dispatch;
mod envelope;
mod jobs;
mod list;
mod log;
mod maintenance;
mod object;
mod registry;
mod reply;
mod topic;
mod workers;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use windlass_api::lines::{
    Cause, LINE_BYTES_MAX_DEFAULT, LineWriter, SessionEnd, TextLine, TextLines, release_all,
};
use windlass_api::{Error, Undelivered};
use windlass_core::{BootId, Clock, LeaseTime, QueueName, Result, Store, SystemClock};

use envelope::{Message, Origin, Payload};
use reply::{ReplyResult, fields};
use topic::{Op, Topic};

pub use envelope::{Identity, check_namespace};
pub use log::Log;

/// The default interval of maintenance.
const TICK_DEFAULT: Duration = Duration::from_secs(3);

/// How long a job may wait for its worker, and a worker may be silent, by default.
const EXPIRY_DEFAULT: LeaseTime = LeaseTime::nearest(Duration::from_secs(9));

/// The most queues without workers that are remembered for maintenance.
const KNOWN_QUEUES_MAX: usize = 1000;

/// Options of a processor.
#[derive(Debug, Clone)]
pub struct ProcessorOptions {
    /// The identity in outgoing envelopes.
    pub identity: Identity,
    /// The namespace of incoming topics (default: `default`).
    pub listener: String,
    /// The namespace of outgoing topics (default: `default`).
    pub publisher: String,
    /// The interval of maintenance (default: 3s).
    pub tick: Duration,
    /// How long a worker may take to accept a job before the job returns to the front of its queue
    /// (default: 9s).
    pub lease: LeaseTime,
    /// How long a worker may be silent before it expires and its jobs are requeued (default: 9s).
    pub worker_expiry: LeaseTime,
    /// The maximum length of a message line.
    pub line_bytes_max: usize,
    /// The clock for `created_at` of outgoing messages. Everything else uses the clock of the store.
    pub clock: Arc<dyn Clock>,
}

impl ProcessorOptions {
    /// Returns the default options.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            listener: "default".to_owned(),
            publisher: "default".to_owned(),
            tick: TICK_DEFAULT,
            lease: EXPIRY_DEFAULT,
            worker_expiry: EXPIRY_DEFAULT,
            line_bytes_max: LINE_BYTES_MAX_DEFAULT,
            clock: Arc::new(SystemClock),
        }
    }
}

/// The dispatcher.
#[derive(Debug)]
pub struct Processor {
    store: Arc<dyn Store>,
    options: ProcessorOptions,
    /// The id of this processor's worker record, which is used to read the store's clock.
    boot_id: BootId,
    log: Log,
    known_queues: Mutex<BTreeSet<QueueName>>,
}

/// The outgoing lines for one message.
#[derive(Debug, Default)]
struct Outgoing(Vec<(String, Option<Undelivered>)>);

impl Outgoing {
    fn put(&mut self, line: String, claimed: Option<Undelivered>) {
        self.0.push((line, claimed));
    }
}

/// The result of a message: its reply, and the queue that may have jobs to dispatch now.
struct Handled {
    reply: ReplyResult,
    assignments: Outgoing,
    queue: Option<QueueName>,
}

impl Handled {
    /// A result with only a reply.
    fn reply(reply: ReplyResult) -> Self {
        Self {
            reply,
            assignments: Outgoing::default(),
            queue: None,
        }
    }
}

impl Processor {
    /// Creates a processor. Fails if the options are invalid.
    pub fn new(store: Arc<dyn Store>, options: ProcessorOptions, log: Log) -> Result<Self> {
        // The tick has the same bounds.
        LeaseTime::new(options.tick)?;
        for namespace in [&options.listener, &options.publisher] {
            check_namespace(namespace)?;
        }
        Ok(Self {
            boot_id: BootId::new(&options.identity.service_uuid)?,
            store,
            options,
            log,
            known_queues: Mutex::default(),
        })
    }

    /// Handles messages until the input ends, `stop` is cancelled or the output is closed.
    pub async fn run<R, W>(&self, reader: R, writer: W, stop: CancellationToken) -> SessionEnd
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut lines = TextLines::new(reader, self.options.line_bytes_max);
        let mut writer = LineWriter::new(writer);
        let mut ticks = interval_at(Instant::now() + self.options.tick, self.options.tick);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut replies, mut errors) = (0, 0);
        self.info("started");
        // An earlier processor may have left work.
        let mut outgoing = self.tick().await.0;
        let cause = loop {
            for (line, claimed) in outgoing.0 {
                writer.put(&line, claimed);
            }
            if writer.has_lines()
                && let Err(error) = writer.flush().await
            {
                break Cause::output(error);
            }
            outgoing = tokio::select! {
                biased;
                () = stop.cancelled() => break Cause::Stopped,
                _ = ticks.tick() => self.tick().await.0,
                line = lines.next() => match line {
                    Ok(None) => break Cause::InputEnded,
                    Err(error) => break Cause::InputFailed(error),
                    Ok(Some(line)) => {
                        let (outgoing, is_ok) = self.handle_line(line).await;
                        replies += u64::from(!outgoing.0.is_empty());
                        errors += u64::from(!is_ok);
                        outgoing
                    }
                },
            };
        };
        self.info(&format!(
            "stopped: {replies} messages answered, {errors} with errors"
        ));
        // Best effort: if this fails, the record of the worker expires after a day.
        let _ = self.store.leave(&self.boot_id, None).await;
        SessionEnd {
            cause,
            replies,
            errors,
            undelivered: release_all(self.store.as_ref(), writer.into_undelivered()).await,
        }
    }

    /// Handles one message and returns the outgoing lines. `number` is the line number in errors.
    pub async fn handle(&self, number: u64, text: &str) -> Vec<String> {
        let (outgoing, _) = self.handle_line(TextLine::new(number, text)).await;
        outgoing.0.into_iter().map(|(line, _)| line).collect()
    }

    async fn handle_line(&self, line: TextLine) -> (Outgoing, bool) {
        let number = line.number;
        let text = match line.text {
            Ok(text) => text,
            Err(error) => return self.reject(None, error),
        };
        let message = match Message::parse(&text) {
            Ok(message) => message,
            Err((reference, error)) => {
                return self.reject(reference, Error::from(error).at_line(number));
            }
        };
        let topic = Topic::parse(&message.topic, &self.options.listener);
        let (op, name, worker) = match topic {
            Topic::Message { op, name, worker } => (op, name, worker),
            Topic::Outgoing => return (Outgoing::default(), true),
            Topic::Unknown => {
                let error = topic::unknown(&message.topic).at_line(number);
                return self.reject(message.reference, error);
            }
        };
        let parsed = message.origin().and_then(|origin| {
            let payload = message.payload()?;
            Ok((origin, payload))
        });
        let handled = match parsed {
            Ok((origin, payload)) => self.execute(op, &origin, &payload, worker).await,
            Err(error) => Handled::reply(Err(error.into())),
        };
        let reply = handled.reply.map_err(|error| error.at_line(number));
        if let Err(error) = &reply {
            self.warn(&format!("{name} failed: {}", error.message));
        }
        let mut outgoing = Outgoing::default();
        outgoing.put(self.reply_line(name, message.reference, &reply), None);
        outgoing.0.extend(handled.assignments.0);
        if let Some(queue) = handled.queue {
            self.remember_queue(&queue);
            outgoing.0.extend(self.dispatch(&queue).await.0);
        }
        (outgoing, reply.is_ok())
    }

    /// Executes a message.
    async fn execute(
        &self,
        op: Op,
        origin: &Origin,
        payload: &Payload<'_>,
        worker: Option<&str>,
    ) -> Handled {
        if op == Op::Tick {
            let (assignments, stats) = self.tick().await;
            let reply = stats.and_then(|stats| fields(&stats));
            return Handled {
                assignments,
                ..Handled::reply(reply)
            };
        }
        let queue = match payload.queue() {
            Ok(queue) => queue,
            Err(error) => return Handled::reply(Err(error.into())),
        };
        let reply = match op {
            Op::AddJob => self.add_job(&queue, payload).await,
            Op::DelJob => self.del_job(&queue, payload).await,
            Op::WorkerIdle | Op::JobAccepted | Op::WorkerBusy | Op::JobFinished => {
                self.worker_message(op, &queue, (origin, worker), payload)
                    .await
            }
            // Lists only read, so there is nothing to dispatch.
            _ => return Handled::reply(self.list(op, &queue, payload).await),
        };
        // Even a rejected `job_finished` shows that a worker is idle.
        let may_dispatch = reply.is_ok() || op == Op::JobFinished;
        Handled {
            queue: may_dispatch.then_some(queue),
            ..Handled::reply(reply)
        }
    }

    fn reject(&self, reference: Option<&RawValue>, error: Error) -> (Outgoing, bool) {
        self.warn(&format!("message rejected: {}", error.message));
        let mut outgoing = Outgoing::default();
        outgoing.put(self.reply_line("error", reference, &Err(error)), None);
        (outgoing, false)
    }

    /// Returns the queues known from messages.
    fn known_queues(&self) -> BTreeSet<QueueName> {
        let queues = self.known_queues.lock();
        queues.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers a queue for maintenance.
    fn remember_queue(&self, queue: &QueueName) {
        let queues = self.known_queues.lock();
        let mut queues = queues.unwrap_or_else(PoisonError::into_inner);
        if queues.len() < KNOWN_QUEUES_MAX && !queues.contains(queue) {
            queues.insert(queue.clone());
        }
    }
}
