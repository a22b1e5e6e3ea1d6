//! The differential test: random verbs into a store and into the specification; every reply and
//! the whole state must be the same.
//!
//! Everything is drawn from one seed, so that a divergence can be played again.

mod chance;
mod coverage;
mod difference;
mod draw;
mod reply;
mod step;
mod world;

use std::collections::VecDeque;
use std::env;
use std::future::Future;
use std::str::FromStr;
use std::sync::Arc;

use windlass_core::{Clock, ManualClock, QueueName, Timestamp};
use windlass_store_memory::MemoryStore;

pub use coverage::Coverage;

use self::draw::draw;
use self::reply::Reply;
use self::step::Step;
use self::world::World;
use crate::soundness;
use crate::store_under_test::StoreUnderTest;

/// Where the clock starts.
const START: Timestamp = Timestamp::from_ms(1_700_000_000_123);

/// How many steps pass between two comparisons of the whole state; when a chosen seed is played
/// again it is every single one, so that the step that parted the stores is the last one shown.
const STEPS_PER_DUMP: usize = 20;

/// More jobs than this and the queue is emptied. A change by filter must fit into one page: what is
/// pruned between two pages depends on where the first one ended, which is each store's own affair.
const CROWD: usize = 200;

/// How many of the latest steps a divergence shows.
const STEPS_SHOWN: usize = 20;

/// Runs `steps` steps for each seed and checks that together they reached every outcome they
/// should. `WINDLASS_SEED` plays one seed, `WINDLASS_SEEDS` so many.
///
/// Panics with a readable difference where the store that `open` opens and the specification part.
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

/// Runs `steps` steps drawn from `seed` and tells what they reached.
pub async fn run<F, O>(open: &F, seed: u64, steps: usize) -> Coverage
where
    F: Fn(Arc<ManualClock>) -> O,
    O: Future<Output = StoreUnderTest>,
{
    let clock = Arc::new(ManualClock::new(START));
    let mut run = Run {
        model: StoreUnderTest::new(MemoryStore::new(Arc::clone(&clock) as Arc<dyn Clock>)),
        subject: open(Arc::clone(&clock)).await,
        world: World::new(seed, clock),
        coverage: Coverage::default(),
        latest: VecDeque::new(),
        seed,
        steps,
        number: 0,
    };
    let is_replay = chosen_seed().is_some();
    while run.number < steps {
        let step = draw(&mut run.world);
        run.step(&step).await;
        if is_replay || run.number.is_multiple_of(STEPS_PER_DUMP) {
            run.compare_queues().await;
        }
    }
    run.finish().await;
    run.coverage
}

/// The number of steps in `WINDLASS_STEPS`, or `default`.
pub fn steps_from_env(default: usize) -> usize {
    from_env("WINDLASS_STEPS").unwrap_or(default)
}

/// The seed in `WINDLASS_SEED`, or as many as `WINDLASS_SEEDS` says, or the default ones.
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

/// One run: the two stores side by side and what has happened so far.
struct Run {
    model: StoreUnderTest,
    subject: StoreUnderTest,
    world: World,
    coverage: Coverage,
    latest: VecDeque<String>,
    seed: u64,
    steps: usize,
    number: usize,
}

impl Run {
    /// Takes one step on both sides and compares the replies.
    async fn step(&mut self, step: &Step) {
        self.number += 1;
        self.note(step);
        let (expected, actual) = if let Step::Clock(movement) = step {
            movement.apply(self.world.clock());
            (Reply::Nothing, Reply::Nothing)
        } else {
            let expected = step.apply(self.model.store.as_ref()).await;
            (expected, step.apply(self.subject.store.as_ref()).await)
        };
        if expected != actual {
            self.diverged(
                "the replies differ",
                &difference::of_replies(&expected, &actual),
            );
        }
        self.coverage
            .note(step, &expected, self.world.has_seen(&expected));
        self.world.learn(step, &expected);
    }

    fn note(&mut self, step: &Step) {
        if self.latest.len() == STEPS_SHOWN {
            self.latest.pop_front();
        }
        let now_us = self.world.clock().now_us();
        let line: String = format!("{step:?}").chars().take(600).collect();
        self.latest
            .push_back(format!("{:>6}  at {now_us}us  {line}", self.number));
    }

    async fn compare_queues(&mut self) {
        for queue in self.world.queues().to_vec() {
            self.compare(&queue).await;
        }
    }

    /// Compares everything that both sides hold of a queue.
    async fn compare(&mut self, queue: &QueueName) {
        let expected = self
            .model
            .dump
            .dump(queue)
            .await
            .expect("memory always answers");
        let actual = match self.subject.dump.dump(queue).await {
            Ok(dump) => dump,
            Err(error) => self.diverged("the store cannot show its state", &error.to_string()),
        };
        if expected != actual {
            let what = format!("the queue {queue} differs");
            self.diverged(
                &what,
                &difference::of_dumps(expected.as_ref(), actual.as_ref()),
            );
        }
        if let Some(dump) = expected {
            let faults = soundness::faults(&dump);
            if !faults.is_empty() {
                self.diverged("the specification contradicts itself", &faults.join("\n"));
            }
            self.coverage.note_dump(&dump);
            if dump.jobs.len() > CROWD {
                self.world.relieve(queue);
            }
        }
    }

    /// Lets every lease, delay and memory run out; what is left must be the same as well.
    async fn finish(&mut self) {
        self.compare_queues().await;
        for step in self.world.closing_steps() {
            self.step(&step).await;
        }
        self.compare_queues().await;
    }

    fn diverged(&mut self, what: &str, difference: &str) -> ! {
        let (seed, steps, number) = (self.seed, self.steps, self.number);
        let package = env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "<the store>".to_owned());
        let latest = self.latest.make_contiguous().join("\n");
        panic!(
            "{what} at step {number} of seed {seed}\n\nthe latest steps:\n{latest}\n\n\
             the difference (- specification, + store):\n{difference}\n\nplay it again with\n  \
             WINDLASS_SEED={seed} WINDLASS_STEPS={steps} cargo test -p {package} --test differential"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store whose clock stands still is not the specification.
    async fn open_without_time(_clock: Arc<ManualClock>) -> StoreUnderTest {
        StoreUnderTest::new(MemoryStore::new(Arc::new(ManualClock::new(START))))
    }

    #[tokio::test]
    #[should_panic(expected = "WINDLASS_SEED=7 WINDLASS_STEPS=500")]
    async fn a_store_that_differs_is_found_and_can_be_played_again() {
        run(&open_without_time, 7, 500).await;
    }

    #[test]
    #[should_panic(expected = "never reached")]
    fn a_run_that_reaches_too_little_is_noticed() {
        let mut coverage = Coverage::default();
        for _ in 0..20_000 {
            coverage.note(&Step::Queues, &Reply::Queues(vec![]), false);
        }
        coverage.assert_reached();
    }
}
