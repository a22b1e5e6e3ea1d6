//! The options of a worker. Every option has a default.

use std::time::Duration;

use windlass_core::{Error, LeaseTime, Mode, QueueName, Result};

/// How many jobs run at once by default.
pub const CONCURRENCY_DEFAULT: usize = 16;

/// The most jobs a worker may run at once.
pub const CONCURRENCY_MAX: usize = 100_000;

/// How long a stopping worker lets jobs finish: less than the 30 s that orchestrators allow.
pub const GRACE_DEFAULT: Duration = Duration::from_secs(25);

/// How long a handler that watches for cancellation has to return.
pub const STOP_WAIT_DEFAULT: Duration = Duration::from_secs(5);

/// The options of a worker.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The display name (default: the program's name).
    pub name: String,
    /// The queues to claim from, in order of preference.
    pub queues: Vec<Source>,
    /// How to choose between queues that all have jobs (default: weighted).
    pub order: Order,
    /// How many jobs run at once (default: 16).
    pub concurrency: usize,
    /// How many more jobs to claim ahead (default: 0). They are leased like running jobs and are
    /// released immediately when the worker stops.
    pub prefetch: usize,
    /// How long a lease lasts without renewal (default: 30s).
    pub lease: LeaseTime,
    /// How long jobs may keep running after the worker is asked to stop (default: 25s).
    pub grace: Duration,
    /// How long a handler that watches for cancellation has to return (default: 5s).
    pub stop_wait: Duration,
    /// The timeout for attempts of jobs that set none (default: no limit).
    pub timeout: Option<Duration>,
    /// The delivery guarantee (default: at least once).
    pub mode: Mode,
    /// Which worker does the maintenance (default: the elected one).
    pub role: Role,
    /// Stop when the queues are drained: nothing waiting or running (default: false).
    pub is_burst: bool,
    /// Retry at the start until the store can be reached, instead of returning the error (default: false).
    pub waits_for_store: bool,
}

/// A queue that a worker claims from.
///
/// ```
/// # use windlass_worker as windlass;
/// # use windlass_core::QueueName;
/// use windlass::Source;
///
/// let source = Source::new(QueueName::new("mail")?).weight(3).concurrency(2);
/// assert_eq!((source.weight, source.concurrency), (3, Some(2)));
/// # Ok::<(), windlass_core::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Source {
    /// The queue's name.
    pub queue: QueueName,
    /// The queue's share under [`Order::Weighted`] (default: 1).
    pub weight: u32,
    /// How many of its jobs run at once (default: the worker's concurrency).
    pub concurrency: Option<usize>,
}

impl Source {
    /// Creates a source with defaults.
    pub fn new(queue: QueueName) -> Self {
        Self {
            queue,
            weight: 1,
            concurrency: None,
        }
    }

    /// Sets the queue's share under [`Order::Weighted`].
    #[must_use]
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Limits how many of the queue's jobs run at once.
    #[must_use]
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = Some(concurrency);
        self
    }
}

/// How a worker chooses between queues that all have jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Order {
    /// Random, in proportion to the weights: no queue starves.
    #[default]
    Weighted,
    /// The first queue that has jobs: later queues wait.
    Strict,
}

/// Which worker does the maintenance (promote, reap, prune) of a queue. Claims do most of it as they
/// go; no job is lost if no worker does it, or several do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Role {
    /// The live worker of the queue that started first.
    #[default]
    Elected,
    /// This worker, always.
    Leader,
    /// Never this worker.
    Follower,
}

impl Options {
    /// Creates options for these queues, with defaults.
    pub fn new(queues: impl IntoIterator<Item = Source>) -> Self {
        Self {
            name: program_name(),
            queues: queues.into_iter().collect(),
            order: Order::default(),
            concurrency: CONCURRENCY_DEFAULT,
            prefetch: 0,
            lease: LeaseTime::default(),
            grace: GRACE_DEFAULT,
            stop_wait: STOP_WAIT_DEFAULT,
            timeout: None,
            mode: Mode::default(),
            role: Role::default(),
            is_burst: false,
            waits_for_store: false,
        }
    }

    /// Validates the options.
    pub fn check(&self) -> Result<()> {
        let bad = |why: &str, help: &'static str| Err(Error::invalid("worker", why, help));
        if self.queues.is_empty() {
            return bad("no queue is set", "name at least one queue");
        }
        let mut names: Vec<_> = self.queues.iter().map(|source| &source.queue).collect();
        names.sort();
        names.dedup();
        if names.len() < self.queues.len() {
            return bad("a queue is listed twice", "name each queue once");
        }
        let limits = self.queues.iter().filter_map(|source| source.concurrency);
        if std::iter::once(self.concurrency)
            .chain(limits)
            .any(|limit| limit == 0 || limit > CONCURRENCY_MAX)
        {
            return bad("the concurrency is out of range", "set it to 1 to 100000");
        }
        if self.queues.iter().any(|source| source.weight == 0) {
            return bad("a queue has weight 0", "set a weight of at least 1");
        }
        if self.prefetch > CONCURRENCY_MAX {
            return bad("the prefetch is out of range", "set it to at most 100000");
        }
        if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return bad(
                "the timeout is zero, so every attempt would time out immediately",
                "set a longer timeout, or none",
            );
        }
        if self.mode == Mode::Dispatch {
            return bad(
                "workers do not support dispatch mode",
                "choose at least once or at most once",
            );
        }
        if self.mode == Mode::AtMostOnce && self.prefetch > 0 {
            return bad(
                "prefetched jobs would be lost when the worker stops",
                "set the prefetch to 0 with at most once",
            );
        }
        Ok(())
    }
}

fn program_name() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&path).file_name();
    name.map(|name| printable(&name.to_string_lossy()))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "worker".to_owned())
}

/// Returns the start of a name, without control characters, to be shown in a list of workers.
pub(crate) fn printable(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(30).collect()
}
