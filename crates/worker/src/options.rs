//! How a worker works; every option has a default that suits most.

use std::time::Duration;

use windlass_core::limits::{LEASE_DEFAULT, check_lease};
use windlass_core::{Error, Mode, QueueName, Result};

/// How many jobs run at once unless said.
pub const CONCURRENCY_DEFAULT: usize = 16;

/// The most jobs a worker may run at once.
pub const CONCURRENCY_MAX: usize = 100_000;

/// How long a stopping worker lets its jobs run on: less than the 30 s that orchestrators allow.
pub const GRACE_DEFAULT: Duration = Duration::from_secs(25);

/// How long a handler that listens has to stop by itself.
pub const STOP_WAIT_DEFAULT: Duration = Duration::from_secs(5);

/// How a worker works.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// What people call it (the name of the program unless said).
    pub name: String,
    /// The queues it takes jobs from, the first first.
    pub queues: Vec<Source>,
    /// How it chooses between queues that all have jobs.
    pub order: Order,
    /// How many jobs run at once (16 unless said).
    pub concurrency: usize,
    /// How many more are held ready (none unless said); they count as held, and go back at once
    /// when the worker stops.
    pub prefetch: usize,
    /// How long jobs are held without a renewal (30 s unless said).
    pub lease: Duration,
    /// How long jobs may run on once the worker was asked to stop (25 s unless said).
    pub grace: Duration,
    /// How long a handler that listens for it has to stop by itself (5 s unless said).
    pub stop_wait: Duration,
    /// How long an attempt may take where the job does not say (no limit unless said).
    pub timeout: Option<Duration>,
    /// What a claim promises: at least once unless said.
    pub mode: Mode,
    /// Who does the housekeeping.
    pub role: Role,
    /// Ends by itself when the queues are drained: nothing ready, scheduled or running.
    pub is_burst: bool,
}

/// A queue that a worker takes jobs from.
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
    /// The queue.
    pub queue: QueueName,
    /// Its share where queues are weighed (1 unless said).
    pub weight: u32,
    /// How many of its jobs run at once (as many as the worker runs unless said).
    pub concurrency: Option<usize>,
}

impl Source {
    /// A queue with every default.
    pub fn new(queue: QueueName) -> Self {
        Self {
            queue,
            weight: 1,
            concurrency: None,
        }
    }

    /// Sets its share where queues are weighed.
    #[must_use]
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// Limits how many of its jobs run at once.
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
    /// By chance, in proportion to their weights: no queue starves.
    #[default]
    Weighted,
    /// The first that has any: later queues wait.
    Strict,
}

/// Who does the housekeeping (promote, reap, prune) of a worker's queues. Claims do most of it by
/// themselves; nothing is lost when nobody does, or everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Role {
    /// The eldest of the live workers of a queue.
    #[default]
    Elected,
    /// This worker, whoever else does.
    Leader,
    /// Never this worker.
    Follower,
}

impl Options {
    /// Options for these queues, with every default.
    pub fn new(queues: impl IntoIterator<Item = Source>) -> Self {
        Self {
            name: program(),
            queues: queues.into_iter().collect(),
            order: Order::default(),
            concurrency: CONCURRENCY_DEFAULT,
            prefetch: 0,
            lease: LEASE_DEFAULT,
            grace: GRACE_DEFAULT,
            stop_wait: STOP_WAIT_DEFAULT,
            timeout: None,
            mode: Mode::default(),
            role: Role::default(),
            is_burst: false,
        }
    }

    /// Checks that they can be carried out.
    pub fn check(&self) -> Result<()> {
        let bad = |why: &str, help: &'static str| Err(Error::invalid("worker", why, help));
        check_lease(self.lease)?;
        if self.queues.is_empty() {
            return bad("it has no queue", "name at least one queue");
        }
        let mut names: Vec<_> = self.queues.iter().map(|source| &source.queue).collect();
        names.sort();
        names.dedup();
        if names.len() < self.queues.len() {
            return bad("it has a queue twice", "name each queue once");
        }
        let limits = self.queues.iter().filter_map(|source| source.concurrency);
        if std::iter::once(self.concurrency)
            .chain(limits)
            .any(|limit| limit == 0 || limit > CONCURRENCY_MAX)
        {
            return bad(
                "its concurrency is out of bounds",
                "run 1 to 100000 jobs at once",
            );
        }
        if self.queues.iter().any(|source| source.weight == 0) {
            return bad("a queue has weight 0", "give it a weight of at least 1");
        }
        if self.prefetch > CONCURRENCY_MAX {
            return bad(
                "its prefetch is out of bounds",
                "prefetch up to 100000 jobs",
            );
        }
        if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return bad(
                "its timeout is zero, so every attempt would end before it began",
                "give a longer one, or none",
            );
        }
        if self.mode == Mode::Dispatch {
            return bad("it cannot dispatch", "choose at least once or at most once");
        }
        if self.mode == Mode::AtMostOnce && self.prefetch > 0 {
            return bad(
                "a job held ready would be lost when the worker stops",
                "prefetch nothing with at most once",
            );
        }
        Ok(())
    }
}

fn program() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&path)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let plain =
        |name: String| -> String { name.chars().filter(|c| !c.is_control()).take(30).collect() };
    name.map(plain)
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "worker".to_owned())
}
