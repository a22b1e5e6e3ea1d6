//! The dispatcher of the Processor Job Queue: messages in, answers and assignments out.
//!
//! A job creator adds jobs, workers say that they are idle, and each idle worker is pushed a job,
//! which it accepts and finishes. Jobs and workers are in the store, so that a processor may end at
//! any moment and another, or several at once, go on where it was: nothing is kept here.

mod dispatch;
mod envelope;
mod jobs;
mod list;
mod log;
mod maintenance;
mod registry;
mod topic;
mod workers;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use windlass_api::Error;
use windlass_core::limits::check_lease;
use windlass_core::{BootId, Clock, QueueName, Result, Store, SystemClock};

use crate::line_reader::{LINE_BYTES_MAX_DEFAULT, Line, Lines};
use crate::reply::{Answer, fields};
use crate::session::{Cause, Ended};
use crate::undelivered::{Claimed, give_back};
use crate::writer::Outlet;
use envelope::{Message, Origin, Payload};
use topic::{Op, Topic};

pub use envelope::{Identity, check_namespace};
pub use log::Log;

/// How often maintenance runs by itself unless said.
pub const TICK_DEFAULT: Duration = Duration::from_secs(3);

/// How many queues that were heard of are looked after although nobody works on them.
const HEARD_MAX: usize = 1000;

/// How a processor behaves.
#[derive(Debug, Clone)]
pub struct ProcessorOptions {
    /// Who it is on the bus.
    pub identity: Identity,
    /// The namespace taken off incoming topics.
    pub listener: String,
    /// The namespace of outgoing topics.
    pub publisher: String,
    /// How often maintenance runs by itself.
    pub tick: Duration,
    /// How long a job is offered to a worker before it goes back to the front.
    pub lease: Duration,
    /// How long a worker may be silent: then it is expired and the jobs it accepted go back.
    pub worker_expiry: Duration,
    /// The longest line that is read as a message.
    pub line_bytes_max: usize,
    /// For `created_at` of what goes out; all else goes by the store's clock.
    pub clock: Arc<dyn Clock>,
}

impl ProcessorOptions {
    /// Every default: the namespace `default`, and three ticks of three seconds for everything.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            listener: "default".to_owned(),
            publisher: "default".to_owned(),
            tick: TICK_DEFAULT,
            lease: TICK_DEFAULT * 3,
            worker_expiry: TICK_DEFAULT * 3,
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
    /// Under which id the store knows it: its own record tells the store's time.
    me: BootId,
    log: Log,
    heard: Mutex<BTreeSet<QueueName>>,
}

/// What goes out for one message.
#[derive(Debug, Default)]
struct Outgoing(Vec<(String, Option<Claimed>)>);

impl Outgoing {
    fn put(&mut self, line: String, claimed: Option<Claimed>) {
        self.0.push((line, claimed));
    }
}

/// What a message brought about: its answer, and the queue that may have jobs to dispatch now.
struct Handled {
    answer: Answer,
    assignments: Outgoing,
    queue: Option<QueueName>,
}

impl Handled {
    /// Nothing but an answer.
    fn answer(answer: Answer) -> Self {
        Self {
            answer,
            assignments: Outgoing::default(),
            queue: None,
        }
    }
}

impl Processor {
    /// A processor on a store; what its options say is checked.
    pub fn new(store: Arc<dyn Store>, options: ProcessorOptions, log: Log) -> Result<Self> {
        check_lease(options.lease)?;
        check_lease(options.worker_expiry)?;
        check_lease(options.tick)?;
        for namespace in [&options.listener, &options.publisher] {
            check_namespace(namespace)?;
        }
        Ok(Self {
            me: BootId::new(&options.identity.service_uuid)?,
            store,
            options,
            log,
            heard: Mutex::default(),
        })
    }

    /// Handles messages until the input ends, `stop` is cancelled or nobody reads what goes out.
    pub async fn run<R, W>(&self, reader: R, writer: W, stop: CancellationToken) -> Ended
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut lines = Lines::new(reader, self.options.line_bytes_max);
        let mut outlet = Outlet::new(writer);
        let mut ticks = interval_at(Instant::now() + self.options.tick, self.options.tick);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut answered, mut refused) = (0, 0);
        self.inform("started");
        // Another processor may have left something to do.
        let mut outgoing = self.tick().await.0;
        let cause = loop {
            for (line, claimed) in outgoing.0 {
                outlet.put(&line, claimed);
            }
            if outlet.has_lines()
                && let Err(error) = outlet.flush().await
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
                        answered += u64::from(!outgoing.0.is_empty());
                        refused += u64::from(!is_ok);
                        outgoing
                    }
                },
            };
        };
        self.inform(&format!(
            "{answered} messages answered, {refused} refused; ends"
        ));
        // Whoever goes on need not wonder; one that could not be told forgets in a day.
        let _ = self.store.leave(&self.me, None).await;
        Ended {
            cause,
            answered,
            refused,
            returned: give_back(self.store.as_ref(), outlet.into_unheard()).await,
        }
    }

    /// Handles one message and answers the lines that go out for it; `number` is told in refusals.
    pub async fn handle(&self, number: u64, text: &str) -> Vec<String> {
        let (outgoing, _) = self.handle_line(Line::of(number, text)).await;
        outgoing.0.into_iter().map(|(line, _)| line).collect()
    }

    async fn handle_line(&self, line: Line) -> (Outgoing, bool) {
        let number = line.number;
        let text = match line.text {
            Ok(text) => text,
            Err(problem) => return self.refuse(None, problem),
        };
        let message = match Message::read(&text) {
            Ok(message) => message,
            Err((reference, error)) => {
                return self.refuse(reference, Error::from(error).at_line(number));
            }
        };
        let topic = Topic::read(&message.topic, &self.options.listener);
        let (op, word, worker) = match topic {
            Topic::Message { op, word, worker } => (op, word, worker),
            Topic::Ours => return (Outgoing::default(), true),
            Topic::Unknown => {
                let problem = topic::unknown(&message.topic).at_line(number);
                return self.refuse(message.reference, problem);
            }
        };
        let read = message.origin().and_then(|origin| {
            let payload = message.payload()?;
            Ok((origin, payload))
        });
        let handled = match read {
            Ok((origin, payload)) => self.obey(op, &origin, &payload, worker).await,
            Err(error) => Handled::answer(Err(error.into())),
        };
        let answer = handled.answer.map_err(|problem| problem.at_line(number));
        if let Err(problem) = &answer {
            self.warn(&format!("{word} refused: {}", problem.message));
        }
        let mut outgoing = Outgoing::default();
        outgoing.put(self.answered(word, message.reference, &answer), None);
        outgoing.0.extend(handled.assignments.0);
        if let Some(queue) = handled.queue {
            self.hear(&queue);
            outgoing.0.extend(self.dispatch(&queue).await.0);
        }
        (outgoing, answer.is_ok())
    }

    /// Does what a message asks for.
    async fn obey(
        &self,
        op: Op,
        origin: &Origin,
        payload: &Payload<'_>,
        worker: Option<&str>,
    ) -> Handled {
        if op == Op::Tick {
            let (assignments, figures) = self.tick().await;
            let answer = figures.and_then(|figures| fields(&figures));
            return Handled {
                assignments,
                ..Handled::answer(answer)
            };
        }
        let queue = match payload.queue() {
            Ok(queue) => queue,
            Err(error) => return Handled::answer(Err(error.into())),
        };
        let answer = match op {
            Op::AddJob => self.add_job(&queue, payload).await,
            Op::DelJob => self.del_job(&queue, payload).await,
            Op::WorkerIdle | Op::JobAccepted | Op::WorkerBusy | Op::JobFinished => {
                self.heard_from(op, &queue, (origin, worker), payload).await
            }
            // Looking changes nothing that would need a dispatch.
            _ => return Handled::answer(self.list(op, &queue, payload).await),
        };
        // A refused message may still have shown that a worker has nothing to do.
        let may_dispatch = answer.is_ok() || op == Op::JobFinished;
        Handled {
            queue: may_dispatch.then_some(queue),
            ..Handled::answer(answer)
        }
    }

    fn refuse(&self, reference: Option<&RawValue>, problem: Error) -> (Outgoing, bool) {
        self.warn(&format!("a message is refused: {}", problem.message));
        let mut outgoing = Outgoing::default();
        outgoing.put(self.answered("error", reference, &Err(problem)), None);
        (outgoing, false)
    }

    /// The queues to look after.
    fn heard(&self) -> BTreeSet<QueueName> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.clone()
    }

    /// Remembers a queue to look after.
    fn hear(&self, queue: &QueueName) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if heard.len() < HEARD_MAX && !heard.contains(queue) {
            heard.insert(queue.clone());
        }
    }
}
