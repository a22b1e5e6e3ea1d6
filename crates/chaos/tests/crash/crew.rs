//! The processes of a crash test, each in its place.

use std::ffi::OsString;
use std::time::Duration;

use tokio::time::timeout;
use windlass_chaos::actor::{Actor, Stage};
use windlass_chaos::invariants;
use windlass_chaos::ledger::Ledger;
use windlass_chaos::nemesis::{Blow, Moment};

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const PRODUCERS: usize = 2;
const WORKERS: usize = 3;

/// How many there are.
pub(crate) const SIZE: usize = PRODUCERS + WORKERS;

/// The processes, each in its place; a killed one is followed by its next life.
pub(crate) struct Crew {
    pub(crate) stage: Stage,
    actors: Vec<Actor>,
    seeds: fastrand::Rng,
    lives: usize,
}

impl Crew {
    pub(crate) fn start(seed: u64, store: &OsString) -> Self {
        let mut crew = Self {
            stage: Stage::new(PROGRAM, store),
            actors: Vec::new(),
            seeds: fastrand::Rng::with_seed(seed),
            lives: 0,
        };
        for place in 0..SIZE {
            let actor = crew.next_life(place, &[]);
            crew.actors.push(actor);
        }
        crew
    }

    fn next_life(&mut self, place: usize, again: &[String]) -> Actor {
        self.lives += 1;
        let role = if place < PRODUCERS {
            "producer"
        } else {
            "worker"
        };
        let name = format!("{role}-{place}.{}", self.lives);
        let mut arguments = vec![role.to_owned(), "--name".to_owned(), name.clone()];
        arguments.extend(["--seed".to_owned(), self.seeds.u64(..).to_string()]);
        if place == SIZE - 1 {
            arguments.push("--parks".to_owned());
        }
        if !again.is_empty() {
            arguments.extend(["--again".to_owned(), again.join(",")]);
        }
        self.stage.start(&name, &arguments).unwrap()
    }

    pub(crate) async fn suffer(&mut self, blow: &Blow) {
        self.wait_for(blow).await;
        for place in &blow.victims {
            // One that had ended by itself is found out when it is buried.
            let _ = self.actors[*place].strike();
        }
        for place in blow.victims.iter().copied() {
            let victim = self.actors.remove(place);
            let (name, life) = (victim.name.clone(), victim.life);
            let status = victim.bury().await.unwrap();
            let faults = invariants::of_ledger(&self.stage.record.ledger());
            assert!(
                status.code().is_none(),
                "{name} ended by itself with {status}: {faults:?}"
            );
            let again = if blow.repeats {
                self.unanswered(life)
            } else {
                Vec::new()
            };
            let next = self.next_life(place, &again);
            self.actors.insert(place, next);
        }
    }

    /// Waits for the moment of a blow; a crew that has fallen silent is struck all the same.
    async fn wait_for(&self, blow: &Blow) {
        let record = &self.stage.record;
        let victim = self.actors[blow.victims[0]].life;
        let (all, own) = {
            let ledger = record.ledger();
            (ledger.lines, ledger.lives[victim].lines.len())
        };
        let moment = async {
            match blow.moment {
                Moment::AfterTime(time) => tokio::time::sleep(time).await,
                Moment::AfterLines(more) => {
                    record.until(|ledger| ledger.lines >= all + more).await;
                }
                Moment::AfterVictimSays(more) => {
                    let said = |ledger: &Ledger| ledger.lives[victim].lines.len() >= own + more;
                    record.until(said).await;
                }
            }
        };
        let _ = timeout(Duration::from_secs(1), moment).await;
    }

    fn unanswered(&self, life: usize) -> Vec<String> {
        let ledger = self.stage.record.ledger();
        let open = ledger.lives[life].unanswered();
        open.into_iter().map(|id| id.to_string()).collect()
    }

    /// Stops everybody, then one process finishes all that is left.
    pub(crate) async fn finish(&mut self) {
        for actor in std::mem::take(&mut self.actors) {
            let name = actor.name.clone();
            let status = actor.stop().await.unwrap();
            assert!(status.success(), "{name} did not stop well: {status}");
        }
        let drainer = self
            .stage
            .start("drainer", &["drainer".to_owned()])
            .unwrap();
        assert!(drainer.done().await.unwrap().success());
    }
}
