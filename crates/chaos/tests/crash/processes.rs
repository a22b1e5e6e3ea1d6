//! The processes of a crash test, each in a slot.

use std::ffi::OsString;
use std::time::Duration;

use tokio::time::timeout;
use windlass_chaos::actor::{Actor, Launcher};
use windlass_chaos::invariants;
use windlass_chaos::ledger::Ledger;
use windlass_chaos::nemesis::{Kill, KillTime};

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const PRODUCERS: usize = 2;
const WORKERS: usize = 3;

/// The number of processes.
pub(crate) const SIZE: usize = PRODUCERS + WORKERS;

/// The processes, each in a slot; a killed process is restarted in its slot.
pub(crate) struct Processes {
    pub(crate) launcher: Launcher,
    actors: Vec<Actor>,
    seeds: fastrand::Rng,
    started: usize,
}

impl Processes {
    pub(crate) fn start(seed: u64, store: &OsString) -> Self {
        let mut processes = Self {
            launcher: Launcher::new(PROGRAM, store),
            actors: Vec::new(),
            seeds: fastrand::Rng::with_seed(seed),
            started: 0,
        };
        for slot in 0..SIZE {
            let actor = processes.start_process(slot, &[]);
            processes.actors.push(actor);
        }
        processes
    }

    fn start_process(&mut self, slot: usize, again: &[String]) -> Actor {
        self.started += 1;
        let role = if slot < PRODUCERS {
            "producer"
        } else {
            "worker"
        };
        let name = format!("{role}-{slot}.{}", self.started);
        let mut arguments = vec![role.to_owned(), "--name".to_owned(), name.clone()];
        arguments.extend(["--seed".to_owned(), self.seeds.u64(..).to_string()]);
        if slot == SIZE - 1 {
            arguments.push("--blocking".to_owned());
        }
        if !again.is_empty() {
            arguments.extend(["--again".to_owned(), again.join(",")]);
        }
        self.launcher.start(&name, &arguments).unwrap()
    }

    pub(crate) async fn kill(&mut self, kill: &Kill) {
        self.wait_for(kill).await;
        for slot in &kill.victims {
            // A process that has exited by itself is found by `wait_killed`.
            let _ = self.actors[*slot].start_kill();
        }
        for slot in kill.victims.iter().copied() {
            let victim = self.actors.remove(slot);
            let (name, process) = (victim.name.clone(), victim.process);
            let status = victim.wait_killed().await.unwrap();
            let violations = invariants::of_ledger(&self.launcher.ledger.lock());
            assert!(
                status.code().is_none(),
                "{name} exited by itself with {status}: {violations:?}"
            );
            let again = if kill.repeats {
                self.unanswered(process)
            } else {
                Vec::new()
            };
            let next = self.start_process(slot, &again);
            self.actors.insert(slot, next);
        }
    }

    /// Waits for the time of a kill, at most a second in case the processes are silent.
    async fn wait_for(&self, kill: &Kill) {
        let shared = &self.launcher.ledger;
        let victim = self.actors[kill.victims[0]].process;
        let (all, own) = {
            let ledger = shared.lock();
            (ledger.lines, ledger.processes[victim].lines.len())
        };
        let time = async {
            match kill.time {
                KillTime::AfterTime(time) => tokio::time::sleep(time).await,
                KillTime::AfterLines(more) => {
                    shared.wait_until(|ledger| ledger.lines >= all + more).await;
                }
                KillTime::AfterVictimLines(more) => {
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
        let drainer = self
            .launcher
            .start("drainer", &["drainer".to_owned()])
            .unwrap();
        assert!(drainer.finish().await.unwrap().success());
    }
}
