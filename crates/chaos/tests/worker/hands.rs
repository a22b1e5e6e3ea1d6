//! Worker processes, each in its place; one that is gone is followed by its next life.

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::time::timeout;
use windlass_chaos::actor::Actor;
use windlass_chaos::event::Event;
use windlass_core::{Clock, SystemClock};

use crate::ground::Ground;

/// Longer than a process takes to start on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

/// How the workers of a test are set up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) concurrency: usize,
    pub(crate) prefetch: usize,
    pub(crate) lease: Duration,
    /// How long completions are on their way.
    pub(crate) delay: Duration,
    pub(crate) grace: Duration,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            concurrency: 4,
            prefetch: 0,
            lease: Duration::from_secs(1),
            delay: Duration::ZERO,
            grace: Duration::from_secs(1),
        }
    }
}

impl Ground {
    /// Starts a worker; it hears signals when this returns.
    pub(crate) async fn hand(&self, name: &str, spec: Spec) -> Actor {
        let witness = self.folder.path().join("witness");
        let arguments = [
            "hand".to_owned(),
            format!("--name={name}"),
            format!("--witness={}", witness.display()),
            format!("--concurrency={}", spec.concurrency),
            format!("--prefetch={}", spec.prefetch),
            format!("--lease={}", spec.lease.as_millis()),
            format!("--delay={}", spec.delay.as_millis()),
            format!("--grace={}", spec.grace.as_millis()),
        ];
        let hand = self.stage.start(name, &arguments).unwrap();
        self.until_said(&hand, &Event::Ready).await;
        hand
    }

    /// Waits until a worker has said something.
    pub(crate) async fn until_said(&self, hand: &Actor, event: &Event) {
        let is_said = self.stage.record.until(|ledger| {
            let lines = &ledger.lives[hand.life].lines;
            lines.iter().any(|line| line.event == *event)
        });
        let said = timeout(START_MAX, is_said).await;
        said.unwrap_or_else(|_| panic!("{} did not say {event}", hand.name));
    }

    /// Waits until so many workers are known to the store.
    pub(crate) async fn until_known(&self, count: usize) {
        let known = async {
            while self.opened.store.workers().await.unwrap().len() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(START_MAX, known).await.unwrap();
    }

    /// Sends SIGTERM and waits for the end; answers how long it took.
    pub(crate) async fn terminate(&self, hand: Actor) -> Duration {
        let (name, life) = (hand.name.clone(), hand.life);
        let began = Instant::now();
        hand.signal(Signal::TERM).unwrap();
        let status = timeout(Duration::from_secs(60), hand.bury()).await;
        let status = status
            .unwrap_or_else(|_| panic!("{name} did not end"))
            .unwrap();
        let took = began.elapsed();
        let last = self.last_line(life);
        assert!(status.success(), "{name} ended with {status}: {last:?}");
        took
    }

    /// What a worker said when it left: completed, given back, lost.
    pub(crate) fn left(&self, life: usize) -> (u64, u64, u64) {
        match self.last_line(life) {
            Some(Event::Left {
                succeeded,
                released,
                lost,
            }) => (succeeded, released, lost),
            other => panic!("it did not leave: {other:?}"),
        }
    }

    fn last_line(&self, life: usize) -> Option<Event> {
        let ledger = self.stage.record.ledger();
        ledger.lives[life]
            .lines
            .last()
            .map(|line| line.event.clone())
    }
}

/// Several workers.
pub(crate) struct Crew<'a> {
    ground: &'a Ground,
    spec: Spec,
    hands: Vec<Actor>,
    lives: usize,
    /// When each that was killed was killed, on the machine's clock.
    pub(crate) killed: BTreeMap<String, u64>,
}

impl<'a> Crew<'a> {
    pub(crate) async fn start(ground: &'a Ground, spec: Spec, size: usize) -> Self {
        let mut crew = Self {
            ground,
            spec,
            hands: Vec::new(),
            lives: 0,
            killed: BTreeMap::new(),
        };
        for place in 0..size {
            let hand = crew.next_life(place).await;
            crew.hands.push(hand);
        }
        crew
    }

    async fn next_life(&mut self, place: usize) -> Actor {
        self.lives += 1;
        let name = format!("hand-{place}.{}", self.lives);
        self.ground.hand(&name, self.spec).await
    }

    /// Kills one with SIGKILL; the next life begins at once.
    pub(crate) async fn kill(&mut self, place: usize) {
        let mut victim = self.hands.remove(place);
        let name = victim.name.clone();
        self.killed.insert(name.clone(), SystemClock.now_us());
        // One that had ended by itself is found out when it is buried.
        let _ = victim.strike();
        let status: ExitStatus = victim.bury().await.unwrap();
        assert!(status.code().is_none(), "{name} ended by itself: {status}");
        let next = self.next_life(place).await;
        self.hands.insert(place, next);
    }

    /// Lets all leave; answers how long the slowest took.
    pub(crate) async fn leave(self) -> Duration {
        let mut longest = Duration::ZERO;
        for hand in self.hands {
            longest = longest.max(self.ground.terminate(hand).await);
        }
        longest
    }
}
