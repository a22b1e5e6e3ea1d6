//! The worker: its queues, handlers and options.

mod run;
mod running;

use std::any::type_name;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use windlass_core::{Error, LeaseTime, Mode, QueueName, Result};
use windlass_worker::{Options, Order, Outcome, Role, Source};

pub use running::RunningWorker;

use crate::client::Client;
use crate::context::Context;
use crate::extract::DataMap;
use crate::handler::{Entry, Function, IntoOutcome, IntoRawOutcome, RawArguments, TypedArguments};
use crate::middleware::{Middleware, Next, middleware};
use crate::registry::Registry;
use crate::typed::TypedJob;

/// A worker: claims jobs and runs each with its handler.
///
/// Invalid options are returned as an error when it [runs](Self::run), before the first job is claimed.
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
///     .queue("mail") // default: the queues of its typed jobs
///     .handle_raw("letter", send)
///     .concurrency(50)
///     .timeout(Duration::from_secs(30)) // of one attempt
///     .burst(); // stop when the queue is empty; otherwise on SIGTERM or Ctrl-C
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
    middleware: Vec<Middleware>,
    error: Option<Error>,
}

impl Worker {
    /// Creates a worker on the store of a client, with defaults.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            options: Options::new([]),
            registry: Registry::default(),
            data: DataMap::default(),
            middleware: Vec::new(),
            error: None,
        }
    }

    /// Runs jobs of one type with an async function: `async fn(job, extractors…) -> Result<Output, E>`.
    ///
    /// A job whose payload cannot be parsed becomes dead, since retrying cannot help.
    pub fn handle<F, A, M>(mut self, function: F) -> Self
    where
        F: Function<A>,
        F::Future: Send + 'static,
        F::Output: IntoOutcome<A::Job, M>,
        A: TypedArguments,
    {
        let mut entry = Entry::typed(function);
        let added = QueueName::new(A::Job::QUEUE).and_then(|queue| {
            entry.queue = Some(queue);
            self.registry.add(A::Job::KIND, entry)
        });
        self.record_error(added);
        self
    }

    /// Runs jobs of one kind with an async function whose arguments are all extractors.
    pub fn handle_raw<F, A, M>(mut self, kind: &str, function: F) -> Self
    where
        F: Function<A>,
        F::Future: Send + 'static,
        F::Output: IntoRawOutcome<M>,
        A: RawArguments,
    {
        let added = self.registry.add(kind, Entry::raw(function));
        self.record_error(added);
        self
    }

    /// Runs every job that has no kind, or whose kind has no handler. Without a fallback the attempt
    /// fails and is retried, since another worker may have a handler.
    pub fn fallback<F, A, M>(mut self, function: F) -> Self
    where
        F: Function<A>,
        F::Future: Send + 'static,
        F::Output: IntoRawOutcome<M>,
        A: RawArguments,
    {
        let added = self.registry.set_fallback(Entry::raw(function));
        self.record_error(added);
        self
    }

    /// Shares data with all handlers, which take it as [`Data<T>`](crate::Data).
    pub fn data<T: Send + Sync + 'static>(mut self, data: T) -> Self {
        if !self.data.insert(data) {
            let why = format!("two values of type {} were added", type_name::<T>());
            let help = "add one, or wrap each in a separate type";
            self.record_error(Err(Error::invalid("worker", why, help)));
        }
        self
    }

    /// Wraps every attempt: `async fn(Context, Next) -> Outcome`. The first middleware added is the
    /// outermost.
    pub fn middleware<F, R>(mut self, function: F) -> Self
    where
        F: Fn(Context, Next) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome> + Send + 'static,
    {
        self.middleware.push(middleware(function));
        self
    }

    /// Claims from this queue (default: the queues of the typed jobs).
    pub fn queue(self, name: &str) -> Self {
        self.queue_weighted(name, 1)
    }

    /// Claims from this queue, in proportion to its weight while other queues have jobs too.
    pub fn queue_weighted(mut self, name: &str, weight: u32) -> Self {
        match QueueName::new(name) {
            Ok(name) => self.queue_with(Source::new(name).weight(weight)),
            Err(error) => {
                self.record_error(Err(error));
                self
            }
        }
    }

    /// Claims from this queue, with its own weight and concurrency limit.
    pub fn queue_with(mut self, source: Source) -> Self {
        self.options.queues.push(source);
        self
    }

    /// Claims from the first queue that has jobs; later ones wait (default: weighted, so that no queue
    /// starves).
    pub fn strict_order(mut self) -> Self {
        self.options.order = Order::Strict;
        self
    }

    /// Sets how many jobs run at once (default: 16).
    pub fn concurrency(mut self, jobs: usize) -> Self {
        self.options.concurrency = jobs;
        self
    }

    /// Sets how many more jobs to claim ahead (default: 0).
    pub fn prefetch(mut self, jobs: usize) -> Self {
        self.options.prefetch = jobs;
        self
    }

    /// Sets how long a lease lasts without renewal (default: 30s). If this process dies, its jobs run
    /// again after that time.
    pub fn lease(mut self, lease: Duration) -> Self {
        let lease = LeaseTime::new(lease).map(|lease| self.options.lease = lease);
        self.record_error(lease);
        self
    }

    /// Sets how long jobs may keep running after the worker is asked to stop (default: 25s).
    pub fn grace(mut self, grace: Duration) -> Self {
        self.options.grace = grace;
        self
    }

    /// Sets how long a handler that watches for cancellation has to return (default: 5s).
    pub fn stop_wait(mut self, wait: Duration) -> Self {
        self.options.stop_wait = wait;
        self
    }

    /// Sets the timeout for attempts of jobs that set none (default: no limit).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Claims jobs at most once: a job counts as succeeded when it is claimed, and is never retried.
    pub fn at_most_once(mut self) -> Self {
        self.options.mode = Mode::AtMostOnce;
        self
    }

    /// Sets which worker does the maintenance (default: an elected one).
    pub fn role(mut self, role: Role) -> Self {
        self.options.role = role;
        self
    }

    /// Sets the display name (default: the program's name).
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.options.name);
        self
    }

    /// Stops the worker when its queues are drained: nothing waiting or running.
    pub fn burst(mut self) -> Self {
        self.options.is_burst = true;
        self
    }

    /// Keeps the first error until the worker runs.
    fn record_error(&mut self, added: Result<()>) {
        if let (Err(error), None) = (added, &self.error) {
            self.error = Some(error);
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
