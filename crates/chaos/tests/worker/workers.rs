//! Worker processes, each in a slot; a killed worker is restarted in its slot.

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::time::timeout;
use windlass_chaos::actor::Actor;
use windlass_chaos::event::Event;
use windlass_core::{Clock, SystemClock};

use crate::fixture::Fixture;

/// The timeout for a process to start.
const START_MAX: Duration = Duration::from_secs(60);

/// The options of a worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) concurrency: usize,
    pub(crate) prefetch: usize,
    pub(crate) lease: Duration,
    /// The delay of completions.
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

impl Fixture {
    /// Starts a worker; it handles signals when this returns.
    pub(crate) async fn start_worker(&self, name: &str, spec: Spec) -> Actor {
        let effects = self.folder.path().join("effects");
        let arguments = [
            "runtime-worker".to_owned(),
            format!("--name={name}"),
            format!("--effects={}", effects.display()),
            format!("--concurrency={}", spec.concurrency),
            format!("--prefetch={}", spec.prefetch),
            format!("--lease={}", spec.lease.as_millis()),
            format!("--delay={}", spec.delay.as_millis()),
            format!("--grace={}", spec.grace.as_millis()),
        ];
        let worker = self.launcher.start(name, &arguments).unwrap();
        self.wait_until_logged(&worker, &Event::Ready).await;
        worker
    }

    /// Waits until a worker has logged an event.
    pub(crate) async fn wait_until_logged(&self, worker: &Actor, event: &Event) {
        let logged = self.launcher.ledger.wait_until(|ledger| {
            let lines = &ledger.processes[worker.process].lines;
            lines.iter().any(|line| line.event == *event)
        });
        let logged = timeout(START_MAX, logged).await;
        logged.unwrap_or_else(|_| panic!("{} did not log {event}", worker.name));
    }

    /// Waits until `count` workers are registered.
    pub(crate) async fn wait_until_registered(&self, count: usize) {
        let known = async {
            while self.opened.store.workers().await.unwrap().len() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(START_MAX, known).await.unwrap();
    }

    /// Sends SIGTERM and waits for the exit. Returns how long it took.
    pub(crate) async fn terminate(&self, worker: Actor) -> Duration {
        let (name, process) = (worker.name.clone(), worker.process);
        let began = Instant::now();
        worker.signal(Signal::TERM).unwrap();
        let status = timeout(Duration::from_secs(60), worker.wait_killed()).await;
        let status = status
            .unwrap_or_else(|_| panic!("{name} did not exit"))
            .unwrap();
        let took = began.elapsed();
        let last = self.last_event(process);
        assert!(status.success(), "{name} exited with {status}: {last:?}");
        took
    }

    /// The job counts of an exited worker: completed, released, lost.
    pub(crate) fn exit_counts(&self, process: usize) -> (u64, u64, u64) {
        match self.last_event(process) {
            Some(Event::Exited {
                succeeded,
                released,
                lost,
            }) => (succeeded, released, lost),
            other => panic!("the worker did not exit: {other:?}"),
        }
    }

    fn last_event(&self, process: usize) -> Option<Event> {
        let ledger = self.launcher.ledger.lock();
        ledger.processes[process]
            .lines
            .last()
            .map(|line| line.event.clone())
    }
}

/// Several workers.
pub(crate) struct Workers<'a> {
    fixture: &'a Fixture,
    spec: Spec,
    actors: Vec<Actor>,
    started: usize,
    /// When each killed worker was killed, on the system clock.
    pub(crate) killed: BTreeMap<String, u64>,
}

impl<'a> Workers<'a> {
    pub(crate) async fn start(fixture: &'a Fixture, spec: Spec, size: usize) -> Self {
        let mut workers = Self {
            fixture,
            spec,
            actors: Vec::new(),
            started: 0,
            killed: BTreeMap::new(),
        };
        for slot in 0..size {
            let worker = workers.start_in(slot).await;
            workers.actors.push(worker);
        }
        workers
    }

    async fn start_in(&mut self, slot: usize) -> Actor {
        self.started += 1;
        let name = format!("worker-{slot}.{}", self.started);
        self.fixture.start_worker(&name, self.spec).await
    }

    /// Kills a worker with SIGKILL and restarts it.
    pub(crate) async fn kill(&mut self, slot: usize) {
        let mut victim = self.actors.remove(slot);
        let name = victim.name.clone();
        self.killed.insert(name.clone(), SystemClock.now_us());
        // A worker that has exited by itself is found by `wait_killed`.
        let _ = victim.start_kill();
        let status: ExitStatus = victim.wait_killed().await.unwrap();
        assert!(status.code().is_none(), "{name} exited by itself: {status}");
        let next = self.start_in(slot).await;
        self.actors.insert(slot, next);
    }

    /// Terminates all workers. Returns how long the slowest took.
    pub(crate) async fn terminate(self) -> Duration {
        let mut longest = Duration::ZERO;
        for worker in self.actors {
            longest = longest.max(self.fixture.terminate(worker).await);
        }
        longest
    }
}
