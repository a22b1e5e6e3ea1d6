//! What a process says, and what is done about it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::AsyncRead;
use tokio::sync::Semaphore;
use windlass_api::EnqueueRequest;
use windlass_api::error::Error;
use windlass_core::{Error as CoreError, NewJob, QueueName, Result};
use windlass_worker::AttemptContext;

use super::Shared;
use super::pool::{Life, Outgoing, Sender};
use super::protocol::{EnqueueLine, Enqueued, LINE_BYTES_MAX, Said};
use crate::job::line;
use crate::lines::{Line, Lines};
use crate::log::LINE_BYTES_MAX as LOG_BYTES_MAX;
use crate::tail::Tail;

/// How many calls to the store a process may have under way.
const ENQUEUES_MAX: usize = 16;

/// Why no more is heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Silence {
    /// Standard output ended.
    Ended,
    /// The protocol was broken.
    Broken(String),
}

/// The ears for one life of a process.
pub(super) struct Ears {
    pub(super) shared: Arc<Shared>,
    pub(super) life: Life,
    pub(super) sender: Sender,
    pub(super) has_answered: AtomicBool,
    has_warned: AtomicBool,
    /// WorkerCommand with a crash.
    tail: Mutex<Tail>,
    enqueues: Arc<Semaphore>,
}

impl Ears {
    pub(super) fn new(shared: Arc<Shared>, life: Life, sender: Sender) -> Self {
        Self {
            shared,
            life,
            sender,
            has_answered: AtomicBool::new(false),
            has_warned: AtomicBool::new(false),
            tail: Mutex::default(),
            enqueues: Arc::new(Semaphore::new(ENQUEUES_MAX)),
        }
    }

    /// Hears standard output to its end.
    pub(super) async fn hear(self: Arc<Self>, stdout: impl AsyncRead + Unpin) -> Silence {
        let mut lines = Lines::new(stdout, LINE_BYTES_MAX);
        while let Ok(Some(line)) = lines.next().await {
            let heard = match &line {
                Line::Whole(bytes) => self.take(bytes).await,
                Line::Cut(_) => Err(format!(
                    "it wrote a line of more than {LINE_BYTES_MAX} bytes"
                )),
                // Torn by the end: whatever it was going to be, it is no answer.
                Line::Partial(_) => {
                    self.log(&format!("(ended in the middle of a line) {}", line.text()));
                    Ok(())
                }
            };
            if let Err(why) = heard {
                return Silence::Broken(why);
            }
        }
        Silence::Ended
    }

    /// Logs standard error to its end.
    pub(super) async fn log_stderr(self: Arc<Self>, stderr: impl AsyncRead + Unpin) {
        let mut lines = Lines::new(stderr, LOG_BYTES_MAX);
        while let Ok(Some(line)) = lines.next().await {
            self.log(&line.text());
        }
    }

    /// The last lines of standard error that could not be told to one job.
    pub(super) fn tail(&self) -> String {
        self.locked_tail().to_string()
    }

    /// The process takes jobs from now on, as many at once as it was told, or as it asks for.
    pub(super) fn open(&self, asked: Option<usize>) {
        let Shared { pool, options, .. } = &*self.shared;
        let concurrency = options.concurrency.min(asked.unwrap_or(usize::MAX).max(1));
        pool.open(self.life, &self.sender, concurrency);
    }

    async fn take(self: &Arc<Self>, bytes: &[u8]) -> Result<(), String> {
        let pool = &self.shared.pool;
        let said = Said::read(bytes);
        match &said {
            // Before the first job is handed out, not after.
            Some(Said::Ready { concurrency }) => self.open(*concurrency),
            // Whoever speaks as it should has started.
            Some(_) => self.open(None),
            None => {}
        }
        match said {
            Some(Said::Ready { concurrency }) => {
                // It may have been given jobs before it said so.
                pool.lower(self.life, concurrency.unwrap_or(usize::MAX));
            }
            Some(Said::Progress { who, said }) => {
                if !pool.progress(self.life, &who, said) {
                    self.say(&format!(
                        "progress of job {:?} is refused: the process does not have it",
                        who.id
                    ));
                }
            }
            Some(Said::Log { id, text }) => match pool.log_of(self.life, id.as_deref()) {
                Some((_, log)) => log.line(&text),
                None => self.say(&text),
            },
            Some(Said::Ended { who, outcome }) => {
                let word = outcome.word();
                match pool.answer(self.life, &who, outcome) {
                    Ok(()) => self.has_answered.store(true, Ordering::Release),
                    Err(why) => self.say(&format!(
                        "answer {word:?} for job {:?} is refused: {why}",
                        who.id
                    )),
                }
            }
            Some(Said::Enqueue(asked)) => self.enqueue(asked).await,
            None => return self.stray(bytes),
        }
        Ok(())
    }

    fn stray(&self, bytes: &[u8]) -> Result<(), String> {
        let text = Line::Whole(bytes.to_vec()).text();
        if self.shared.options.is_strict {
            let short: String = text.chars().take(200).collect();
            return Err(format!(
                "it wrote a line that is none of the protocol's: {short:?}"
            ));
        }
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            self.say(
                "a line on standard output is none of the protocol's and is logged; \
                print to standard error instead",
            );
        }
        self.log(&text);
        Ok(())
    }

    /// A log line: of the job where there is only one, else of the process.
    fn log(&self, text: &str) {
        if let Some((_, log)) = self.shared.pool.log_of(self.life, None) {
            log.line(text);
            return;
        }
        let text = &text[..text.floor_char_boundary(LOG_BYTES_MAX)];
        self.locked_tail().push(text);
        self.say(text);
    }

    fn locked_tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn say(&self, text: &str) {
        (self.shared.options.talk)(&format!("process {}: {text}", self.life.seat + 1));
    }

    /// Enqueues follow-up jobs and answers when the store has; meanwhile other lines are heard.
    async fn enqueue(self: &Arc<Self>, asked: EnqueueLine) {
        let Ok(permit) = Arc::clone(&self.enqueues).acquire_owned().await else {
            return;
        };
        let ears = Arc::clone(self);
        tokio::spawn(async move {
            let (ids, error) = match ears.enqueued(&asked).await {
                Ok(ids) => (Some(ids), None),
                Err(error) => (None, Some(Error::from(&error))),
            };
            let answer = Enqueued {
                reference: asked.reference,
                ids,
                error,
            };
            let (bytes, is_begun) = (line(&answer), None);
            // A process that has ended needs no answer.
            let _ = ears.sender.send(Outgoing { bytes, is_begun });
            drop(permit);
        });
    }

    async fn enqueued(&self, asked: &EnqueueLine) -> Result<Vec<String>> {
        let found = self.shared.pool.log_of(self.life, asked.id.as_deref());
        let context = found.map(|(context, _)| context);
        let queue = queue(asked, context.as_ref())?;
        let mut jobs = Vec::new();
        for job in &asked.jobs {
            jobs.push(EnqueueRequest::from_json(job.get())?.into_job()?);
        }
        if let Some(context) = &context {
            carry_trace(context, &mut jobs)?;
        }
        let answers = self.shared.options.store.enqueue(&queue, jobs).await?;
        Ok(answers
            .iter()
            .map(|answer| answer.id().to_string())
            .collect())
    }
}

/// The queue that is meant.
fn queue(asked: &EnqueueLine, context: Option<&AttemptContext>) -> Result<QueueName> {
    match (&asked.queue, context) {
        (Some(name), _) => QueueName::new(name),
        (None, Some(context)) => Ok(context.queue().clone()),
        (None, None) => Err(CoreError::invalid(
            "enqueue",
            "it names no queue, and no job of this process by its id",
            "add \"queue\", or the \"id\" of the job that enqueues",
        )),
    }
}

fn carry_trace(context: &AttemptContext, jobs: &mut [NewJob]) -> Result<()> {
    for name in windlass_worker::TRACE_HEADERS {
        let Some(value) = context.job().headers.get(name) else {
            continue;
        };
        for job in jobs
            .iter_mut()
            .filter(|job| job.headers.get(name).is_none())
        {
            job.headers.set(name, value)?;
        }
    }
    Ok(())
}
