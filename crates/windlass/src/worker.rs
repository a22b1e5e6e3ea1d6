//! A worker: its queues, its handlers, and how it works.

mod run;
mod running;
mod signals;

use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use windlass_core::{Error, Mode, QueueName, Result};
use windlass_worker::{Options, Order, Outcome, Role, Source};

pub use running::Running;

use crate::client::Client;
use crate::context::Context;
use crate::extract::{DataMap, Needs};
use crate::handler::{self, Answer, Function, RawAnswer, RawArguments, TypedArguments};
use crate::hook::{Hook, Next, hook};
use crate::registry::{Entry, Registry};
use crate::typed::TypedJob;

/// A worker: claims jobs, hands each to its handler, and answers for it.
///
/// What is not valid is told when it [runs](Self::run), before the first job is claimed.
///
/// ```
/// use std::time::Duration;
/// use windlass::{Bytes, Client, JobError, Worker};
///
/// async fn send(letter: Bytes) -> Result<(), JobError> {
///     if letter.is_empty() { Err(JobError::permanent("an empty letter")) } else { Ok(()) }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect("memory:").await?;
/// client.enqueue_raw("mail", "dear Ann").kind("letter").await?;
/// let worker = Worker::new(client)
///     .queue("mail") // unless said, the queues of its typed jobs
///     .handle_raw("letter", send)
///     .concurrency(50)
///     .timeout(Duration::from_secs(30)) // of one attempt
///     .burst(); // until nothing is left; without it, until SIGTERM or Ctrl-C
/// assert_eq!(worker.run().await?.succeeded, 1);
/// # Ok(())
/// # }
/// ```
#[must_use = "a worker does nothing until it runs"]
pub struct Worker {
    client: Client,
    options: Options,
    registry: Registry,
    data: DataMap,
    hooks: Vec<Hook>,
    fault: Option<Error>,
}

impl Worker {
    /// A worker over the store of a client, with every default.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            options: Options::new([]),
            registry: Registry::default(),
            data: DataMap::default(),
            hooks: Vec::new(),
            fault: None,
        }
    }

    /// Runs jobs of one type with an async function: `async fn(job, extractors…) -> Result<Output, E>`.
    ///
    /// A payload that does not parse ends its job at once, since it never will.
    pub fn handle<F, A, M>(mut self, function: F) -> Self
    where
        F: Function<A>,
        F::Future: Send + 'static,
        F::Output: Answer<A::Job, M>,
        A: TypedArguments,
    {
        let mut needs = Needs::default();
        A::needs(&mut needs);
        let added = QueueName::new(A::Job::QUEUE).and_then(|queue| {
            let entry = Entry {
                run: handler::typed(function),
                needs,
                name: type_name::<F>(),
                queue: Some(queue),
            };
            self.registry.add(A::Job::KIND, entry)
        });
        self.note(added);
        self
    }

    /// Runs jobs of one kind with an async function whose arguments are all extractors.
    pub fn handle_raw<F, A, M>(mut self, kind: &str, function: F) -> Self
    where
        F: Function<A>,
        F::Future: Send + 'static,
        F::Output: RawAnswer<M>,
        A: RawArguments,
    {
        let added = self.registry.add(kind, raw_entry(function));
        self.note(added);
        self
    }

    /// Runs every job whose kind has no handler, or that has no kind. Without it such a job is a
    /// failed attempt: another worker may know it.
    pub fn fallback<F, A, M>(mut self, function: F) -> Self
    where
        F: Function<A>,
        F::Future: Send + 'static,
        F::Output: RawAnswer<M>,
        A: RawArguments,
    {
        let added = self.registry.set_fallback(raw_entry(function));
        self.note(added);
        self
    }

    /// Shares data with all handlers: they take it as [`Data<T>`](crate::Data).
    pub fn data<T: Send + Sync + 'static>(mut self, data: T) -> Self {
        if !self.data.insert(data) {
            let why = format!("it was given two values of type {}", type_name::<T>());
            let help = "give it one, or wrap each in a type of its own";
            self.note(Err(Error::invalid("worker", why, help)));
        }
        self
    }

    /// Puts code around every attempt: `async fn(Context, Next) -> Outcome`. The first one named is
    /// the outermost.
    pub fn around<F, R>(mut self, function: F) -> Self
    where
        F: Fn(Context, Next) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        self.hooks.push(hook(function));
        self
    }

    /// Takes jobs from this queue. With none named, a worker serves the queues of its typed jobs.
    pub fn queue(self, name: &str) -> Self {
        self.queue_weighted(name, 1)
    }

    /// Takes jobs from this queue; while others have jobs as well, in proportion to the weights.
    pub fn queue_weighted(mut self, name: &str, weight: u32) -> Self {
        match QueueName::new(name) {
            Ok(name) => self.queue_with(Source::new(name).weight(weight)),
            Err(error) => {
                self.note(Err(error));
                self
            }
        }
    }

    /// Takes jobs from this queue, with a weight or a limit of its own.
    pub fn queue_with(mut self, source: Source) -> Self {
        self.options.queues.push(source);
        self
    }

    /// Takes from the first queue that has jobs; later ones wait. Unless said, queues are weighed
    /// and none starves.
    pub fn strict_order(mut self) -> Self {
        self.options.order = Order::Strict;
        self
    }

    /// How many jobs run at once (16 unless said).
    pub fn concurrency(mut self, jobs: usize) -> Self {
        self.options.concurrency = jobs;
        self
    }

    /// How many more jobs are held ready (none unless said).
    pub fn prefetch(mut self, jobs: usize) -> Self {
        self.options.prefetch = jobs;
        self
    }

    /// How long jobs are held without a renewal (30 s unless said): so long a job waits for its
    /// rescue when this process dies.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.lease = lease;
        self
    }

    /// How long jobs may run on once the worker was asked to stop (25 s unless said).
    pub fn grace(mut self, grace: Duration) -> Self {
        self.options.grace = grace;
        self
    }

    /// How long a handler that listens for it has to stop by itself (5 s unless said).
    pub fn stop_wait(mut self, wait: Duration) -> Self {
        self.options.stop_wait = wait;
        self
    }

    /// How long an attempt may take where the job does not say (no limit unless said).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Claims jobs at most once: they have succeeded when they are handed out, and what goes wrong
    /// then is not tried again.
    pub fn at_most_once(mut self) -> Self {
        self.options.mode = Mode::AtMostOnce;
        self
    }

    /// Who does the housekeeping (elected unless said).
    pub fn role(mut self, role: Role) -> Self {
        self.options.role = role;
        self
    }

    /// What people call it (the name of the program unless said).
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.options.name);
        self
    }

    /// Ends by itself when its queues are drained: nothing ready, scheduled or running.
    pub fn burst(mut self) -> Self {
        self.options.is_burst = true;
        self
    }

    /// Keeps the first fault until the worker runs.
    fn note(&mut self, added: Result<()>) {
        if let (Err(error), None) = (added, &self.fault) {
            self.fault = Some(error);
        }
    }
}

fn raw_entry<F, A, M>(function: F) -> Entry
where
    F: Function<A>,
    F::Future: Send + 'static,
    F::Output: RawAnswer<M>,
    A: RawArguments,
{
    let mut needs = Needs::default();
    A::needs(&mut needs);
    Entry {
        run: handler::raw(function),
        needs,
        name: type_name::<F>(),
        queue: None,
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
