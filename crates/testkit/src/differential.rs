//! The differential test: runs random operations on a store and on the specification. Every reply and
//! the complete state must be equal.
//!
//! All randomness comes from one seed, so that a failure can be reproduced.

mod callers;
mod coverage;
mod diff;
mod generate;
mod operation;
mod random;
mod reply;

use std::collections::VecDeque;
use std::env;
use std::future::Future;
use std::str::FromStr;
use std::sync::Arc;

use windlass_core::dump::QueueDump;
use windlass_core::{Clock, ManualClock, QueueName, Timestamp};
use windlass_store_memory::MemoryStore;

pub use coverage::Coverage;

use self::callers::Callers;
use self::generate::generate;
use self::operation::Operation;
use self::reply::Reply;
use crate::soundness;
use crate::store_under_test::StoreUnderTest;

/// The start of the clock.
const START: Timestamp = Timestamp::from_ms(1_700_000_000_123);

/// The number of operations between two comparisons of the complete state. With `WINDLASS_SEED`, the state
/// is compared after every operation, so that the failing one is the last one shown.
const STEPS_PER_DUMP: usize = 20;

/// With more jobs than this, the queue is emptied. A change by filter must fit into one page, because
/// the pages of two stores may end at different jobs, and pruning happens between pages.
const JOBS_MAX: usize = 200;

/// How many jobs are explained at each comparison.
const EXPLAINED: usize = 8;

/// How many of the last operations a failure shows.
const STEPS_SHOWN: usize = 20;

/// Runs `steps` operations for each seed and checks that they reached every expected outcome.
/// `WINDLASS_SEED` runs one seed, `WINDLASS_SEEDS` a number of seeds.
///
/// Panics with a readable diff if the store that `open` opens differs from the specification.
pub async fn run_all<F, O>(open: F, seeds: &[u64], steps: usize) -> Coverage
where
    F: Fn(Arc<ManualClock>) -> O,
    O: Future<Output = StoreUnderTest>,
{
    let mut coverage = Coverage::default();
    for seed in seeds_from_env(seeds) {
        coverage.add(run(&open, seed, steps).await);
    }
    coverage.assert_reached();
    coverage
}

/// Runs `steps` operations generated from `seed`. Returns what they reached.
pub async fn run<F, O>(open: &F, seed: u64, steps: usize) -> Coverage
where
    F: Fn(Arc<ManualClock>) -> O,
    O: Future<Output = StoreUnderTest>,
{
    let clock = Arc::new(ManualClock::new(START));
    let mut run = Run {
        model: StoreUnderTest::new(MemoryStore::new(Arc::clone(&clock) as Arc<dyn Clock>)),
        subject: open(Arc::clone(&clock)).await,
        callers: Callers::new(seed, clock),
        coverage: Coverage::default(),
        latest: VecDeque::new(),
        seed,
        steps,
        number: 0,
    };
    let is_replay = chosen_seed().is_some();
    while run.number < steps {
        let operation = generate(&mut run.callers);
        run.apply(&operation).await;
        if is_replay || run.number.is_multiple_of(STEPS_PER_DUMP) {
            run.compare_queues().await;
        }
    }
    run.finish().await;
    run.coverage
}

/// Returns the number of operations in `WINDLASS_STEPS`, or `default`.
pub fn steps_from_env(default: usize) -> usize {
    from_env("WINDLASS_STEPS").unwrap_or(default)
}

/// The seed in `WINDLASS_SEED`, or `WINDLASS_SEEDS` seeds, or the default seeds.
fn seeds_from_env(default: &[u64]) -> Vec<u64> {
    match (chosen_seed(), from_env("WINDLASS_SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, Some(count)) => (1..=count).collect(),
        (None, None) => default.to_vec(),
    }
}

fn chosen_seed() -> Option<u64> {
    from_env("WINDLASS_SEED")
}

fn from_env<T: FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok()?;
    let value = text.parse().ok();
    assert!(value.is_some(), "{name}={text} is not a whole number");
    value
}

/// One run: both stores, and what has happened so far.
struct Run {
    model: StoreUnderTest,
    subject: StoreUnderTest,
    callers: Callers,
    coverage: Coverage,
    latest: VecDeque<String>,
    seed: u64,
    steps: usize,
    number: usize,
}

impl Run {
    /// Runs one operation on both stores and compares the replies.
    async fn apply(&mut self, operation: &Operation) {
        self.number += 1;
        self.note(operation);
        let (expected, actual) = if let Operation::Clock(movement) = operation {
            movement.apply(self.callers.clock());
            (Reply::Nothing, Reply::Nothing)
        } else {
            let expected = operation.apply(self.model.store.as_ref()).await;
            (expected, operation.apply(self.subject.store.as_ref()).await)
        };
        if !actual.agrees_with(&expected) {
            self.diverged("the replies differ", &diff::of_replies(&expected, &actual));
        }
        self.coverage
            .note(operation, &expected, self.callers.has_seen(&expected));
        self.callers.learn(operation, &expected);
    }

    fn note(&mut self, operation: &Operation) {
        if self.latest.len() == STEPS_SHOWN {
            self.latest.pop_front();
        }
        let now_us = self.callers.clock().now_us();
        let line: String = format!("{operation:?}").chars().take(600).collect();
        self.latest
            .push_back(format!("{:>6}  at {now_us}us  {line}", self.number));
    }

    async fn compare_queues(&mut self) {
        for queue in self.callers.queues().to_vec() {
            self.compare(&queue).await;
        }
    }

    /// Compares the complete state of a queue.
    async fn compare(&mut self, queue: &QueueName) {
        let expected = self
            .model
            .dump
            .dump(queue)
            .await
            .expect("the memory store never fails");
        let actual = match self.subject.dump.dump(queue).await {
            Ok(dump) => dump,
            Err(error) => self.diverged("the store cannot dump its state", &error.to_string()),
        };
        if expected != actual {
            let what = format!("the queue {queue} differs");
            self.diverged(&what, &diff::of_dumps(expected.as_ref(), actual.as_ref()));
        }
        if let Some(dump) = expected {
            let problems = soundness::problems(&dump);
            if !problems.is_empty() {
                self.diverged("the specification is inconsistent", &problems.join("\n"));
            }
            self.coverage.note_dump(&dump);
            self.compare_explanations(queue, &dump).await;
            if dump.jobs.len() > JOBS_MAX {
                self.callers.empty_queue(queue);
            }
        }
    }

    /// Compares why some jobs wait: others at each step, without a random number that other steps would miss.
    async fn compare_explanations(&mut self, queue: &QueueName, dump: &QueueDump) {
        let count = dump.jobs.len();
        for n in 0..count.min(EXPLAINED) {
            let id = dump.jobs[(self.number + n * (count / EXPLAINED).max(1)) % count]
                .id
                .clone();
            let explain = Operation::Explain(queue.clone(), id.clone());
            let expected = explain.apply(self.model.store.as_ref()).await;
            let actual = explain.apply(self.subject.store.as_ref()).await;
            if !actual.agrees_with(&expected) {
                let what = format!("why {id} waits differs");
                self.diverged(&what, &diff::of_replies(&expected, &actual));
            }
            self.coverage.note_explanation(&expected);
        }
    }

    /// Lets every lease, delay and retention expire, and compares the state again.
    async fn finish(&mut self) {
        self.compare_queues().await;
        for operation in self.callers.closing_operations() {
            self.apply(&operation).await;
        }
        self.compare_queues().await;
    }

    fn diverged(&mut self, what: &str, diff: &str) -> ! {
        let (seed, steps, number) = (self.seed, self.steps, self.number);
        let package = env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "<the store>".to_owned());
        let latest = self.latest.make_contiguous().join("\n");
        panic!(
            "{what} at step {number} of seed {seed}\n\nthe last steps:\n{latest}\n\n\
             the diff (- specification, + store):\n{diff}\n\nreproduce it with\n  \
             WINDLASS_SEED={seed} WINDLASS_STEPS={steps} cargo test -p {package} --test differential"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens a store whose clock never moves, which differs from the specification.
    async fn open_without_time(_clock: Arc<ManualClock>) -> StoreUnderTest {
        StoreUnderTest::new(MemoryStore::new(Arc::new(ManualClock::new(START))))
    }

    #[tokio::test]
    #[should_panic(expected = "WINDLASS_SEED=7 WINDLASS_STEPS=500")]
    async fn a_store_that_differs_is_found_and_can_be_reproduced() {
        run(&open_without_time, 7, 500).await;
    }

    #[test]
    #[should_panic(expected = "never reached")]
    fn a_run_that_reaches_too_little_fails() {
        let mut coverage = Coverage::default();
        for _ in 0..20_000 {
            coverage.note(&Operation::Queues, &Reply::Queues(vec![]), false);
        }
        coverage.assert_reached();
    }
}
