//! The processes of a crash test, each in a slot.

use std::ffi::OsString;
use std::time::Duration;

use tokio::time::timeout;
use windlass_chaos::actor::{Actor, Launcher};
use windlass_chaos::invariants;
use windlass_chaos::ledger::Ledger;
use windlass_chaos::nemesis::{Fault, FaultKind, FaultTime};

use crate::conditions::Conditions;

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const PRODUCERS: usize = 2;
const WORKERS: usize = 3;

/// The processes, each in a slot; a killed process is restarted in its slot.
pub(crate) struct Processes {
    pub(crate) launcher: Launcher,
    actors: Vec<Actor>,
    seeds: fastrand::Rng,
    started: usize,
    conditions: Conditions,
}

impl Processes {
    pub(crate) fn start(seed: u64, conditions: Conditions, store: &OsString) -> Self {
        let mut processes = Self {
            launcher: Launcher::new(PROGRAM, store),
            actors: Vec::new(),
            seeds: fastrand::Rng::with_seed(seed),
            started: 0,
            conditions,
        };
        processes.launcher.ledger.lock().lease = conditions.lease();
        for slot in 0..processes.slots() {
            let actor = processes.start_process(slot, &[]);
            processes.actors.push(actor);
        }
        processes
    }

    /// The number of processes.
    pub(crate) fn slots(&self) -> usize {
        PRODUCERS + WORKERS + usize::from(self.conditions.waiters > 0)
    }

    fn start_process(&mut self, slot: usize, again: &[String]) -> Actor {
        const LAST_WORKER: usize = PRODUCERS + WORKERS - 1;
        self.started += 1;
        let role = match slot {
            ..PRODUCERS => "producer",
            PRODUCERS..=LAST_WORKER => "worker",
            _ => "waiters",
        };
        let name = format!("{role}-{slot}.{}", self.started);
        let mut arguments = vec![role.to_owned()];
        let mut add = |option: &str, value: String| arguments.extend([option.to_owned(), value]);
        if role == "waiters" {
            add("--count", self.conditions.waiters.to_string());
        } else {
            add("--name", name.clone());
            add("--seed", self.seeds.u64(..).to_string());
        }
        if role == "producer" {
            add("--large-every", self.conditions.large_every.to_string());
        }
        if slot == LAST_WORKER {
            arguments.push("--blocking".to_owned());
        }
        if !again.is_empty() {
            arguments.extend(["--again".to_owned(), again.join(",")]);
        }
        self.launch(&name, arguments)
    }

    fn launch(&self, name: &str, mut arguments: Vec<String>) -> Actor {
        let lease = self.conditions.lease().as_millis().to_string();
        arguments.extend(["--lease-ms".to_owned(), lease]);
        self.launcher.start(name, &arguments).unwrap()
    }

    pub(crate) async fn suffer(&mut self, fault: &Fault) {
        self.wait_for(fault).await;
        match fault.kind {
            FaultKind::Kill { repeats } => self.kill(&fault.victims, repeats).await,
            FaultKind::Stop(time) => self.stop(&fault.victims, time).await,
        }
    }

    /// Stops processes for a time. They continue where they were, some with expired leases.
    async fn stop(&mut self, victims: &[usize], time: Duration) {
        for slot in victims {
            self.actors[*slot].freeze().unwrap();
        }
        tokio::time::sleep(time).await;
        for slot in victims {
            self.actors[*slot].thaw().unwrap();
        }
    }

    async fn kill(&mut self, victims: &[usize], repeats: bool) {
        for slot in victims {
            // A process that has exited by itself is found by `wait_killed`.
            let _ = self.actors[*slot].start_kill();
        }
        for slot in victims.iter().copied() {
            let victim = self.actors.remove(slot);
            let (name, process) = (victim.name.clone(), victim.process);
            let status = victim.wait_killed().await.unwrap();
            let violations = invariants::of_ledger(&self.launcher.ledger.lock());
            assert!(
                status.code().is_none(),
                "{name} exited by itself with {status}: {violations:?}"
            );
            let again = if repeats {
                self.unanswered(process)
            } else {
                Vec::new()
            };
            let next = self.start_process(slot, &again);
            self.actors.insert(slot, next);
        }
    }

    /// Waits for the time of a fault, at most a second in case the processes are silent.
    async fn wait_for(&self, fault: &Fault) {
        let shared = &self.launcher.ledger;
        let victim = self.actors[fault.victims[0]].process;
        let (all, own) = {
            let ledger = shared.lock();
            (ledger.lines, ledger.processes[victim].lines.len())
        };
        let time = async {
            match fault.time {
                FaultTime::AfterTime(time) => tokio::time::sleep(time).await,
                FaultTime::AfterLines(more) => {
                    shared.wait_until(|ledger| ledger.lines >= all + more).await;
                }
                FaultTime::AfterVictimLines(more) => {
                    let logged =
                        |ledger: &Ledger| ledger.processes[victim].lines.len() >= own + more;
                    shared.wait_until(logged).await;
                }
            }
        };
        let _ = timeout(Duration::from_secs(1), time).await;
    }

    fn unanswered(&self, process: usize) -> Vec<String> {
        let ledger = self.launcher.ledger.lock();
        let open = ledger.processes[process].unanswered();
        open.into_iter().map(|id| id.to_string()).collect()
    }

    /// Stops all processes, then drains the queue.
    pub(crate) async fn finish(&mut self) {
        for actor in std::mem::take(&mut self.actors) {
            let name = actor.name.clone();
            let status = actor.stop().await.unwrap();
            assert!(status.success(), "{name} failed to stop: {status}");
        }
        let drainer = self.launch("drainer", vec!["drainer".to_owned()]);
        assert!(drainer.finish().await.unwrap().success());
    }
}
