//! Processes are killed at any moment, and the store keeps what it promised.
//!
//! `WINDLASS_SEED` repeats the plan of a run, `WINDLASS_KILLS` sets how many are killed.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and says what it went through"
)]

use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;
use windlass_chaos::actor::{Actor, Stage};
use windlass_chaos::event::Event;
use windlass_chaos::invariants::{self, Found, Violation};
use windlass_chaos::nemesis::{self, Blow, Moment};
use windlass_chaos::{LEASE, QUEUE};
use windlass_core::dump::Dump;
use windlass_core::{Filter, JobState, QueueName, Reason, Setting, Settled, Store};
use windlass_store_sqlite::{Options, SqliteStore};
use windlass_testkit::soundness;

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const KILLS: usize = 25;
const PRODUCERS: usize = 2;
const WORKERS: usize = 3;

/// Nothing of what happened may be forgotten before it was checked.
const KEEP_EVERYTHING: [&str; 10] = [
    "keep_succeeded=all",
    "succeeded_age=all",
    "succeeded_count=all",
    "succeeded_bytes=all",
    "dead_age=all",
    "dead_count=all",
    "dead_bytes=all",
    "cancelled_age=all",
    "cancelled_count=all",
    "cancelled_bytes=all",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_was_promised_holds_although_processes_are_killed() {
    let seed = from_env("WINDLASS_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let kills = from_env("WINDLASS_KILLS").map_or(KILLS, |kills| usize::try_from(kills).unwrap());
    println!("WINDLASS_SEED={seed} WINDLASS_KILLS={kills}");
    // Each blow waits for a second at most, and then a process starts.
    let bound = Duration::from_secs(60) + Duration::from_secs(2) * u32::try_from(kills).unwrap();

    let run = timeout(bound, crash(seed, kills)).await;

    run.unwrap_or_else(|_| panic!("seed {seed}: it did not end within {bound:?}"));
}

fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}

async fn crash(seed: u64, kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let queue = QueueName::new(QUEUE).unwrap();
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    let settings = KEEP_EVERYTHING.map(|text| text.parse::<Setting>().unwrap());
    store.set(&queue, settings.to_vec()).await.unwrap();
    // Nobody but the actors: when all are killed at once, the next one recovers the log.
    drop(store);

    let mut crew = Crew::start(seed, &path);
    let mut killed = 0;
    for blow in nemesis::plan(seed, kills, PRODUCERS + WORKERS) {
        crew.suffer(&blow).await;
        killed += blow.victims.len();
        let violations = invariants::of_ledger(&crew.stage.record.ledger());
        assert_sound(&violations, seed, &format!("after {killed} kills"));
    }
    crew.finish().await;

    let store = SqliteStore::open(&path, Options::default()).unwrap();
    let listing = list(&store, &queue).await;
    let stats = store.stats(&queue).await.unwrap().unwrap();
    let ledger = crew.stage.record.ledger().clone();
    let violations = invariants::at_the_end(&ledger, &listing, &stats);
    assert_sound(&violations, seed, &format!("at the end, {killed} kills"));
    assert_clean(&store, &queue).await;
    report(&ledger, &listing, killed);
}

/// The processes, each in its place; a killed one is followed by its next life.
struct Crew {
    stage: Stage,
    actors: Vec<Actor>,
    seeds: fastrand::Rng,
    lives: usize,
}

impl Crew {
    fn start(seed: u64, store: &Path) -> Self {
        let mut crew = Self {
            stage: Stage::new(PROGRAM, store),
            actors: Vec::new(),
            seeds: fastrand::Rng::with_seed(seed),
            lives: 0,
        };
        for place in 0..PRODUCERS + WORKERS {
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
        if !again.is_empty() {
            arguments.extend(["--again".to_owned(), again.join(",")]);
        }
        self.stage.start(&name, &arguments).unwrap()
    }

    async fn suffer(&mut self, blow: &Blow) {
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
                    let said = |ledger: &windlass_chaos::ledger::Ledger| {
                        ledger.lives[victim].lines.len() >= own + more
                    };
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
    async fn finish(&mut self) {
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

fn assert_sound(violations: &[Violation], seed: u64, when: &str) {
    let lines: String = violations
        .iter()
        .take(20)
        .map(|found| format!("\n  {found}"))
        .collect();
    let count = violations.len();
    assert!(
        violations.is_empty(),
        "seed {seed}, {when}: {count} violations{lines}"
    );
}

async fn list(store: &SqliteStore, queue: &QueueName) -> Vec<Found> {
    let mut listing = Vec::new();
    let mut from = None;
    loop {
        let page = store
            .list(queue, &Filter::default(), from, 500)
            .await
            .unwrap();
        listing.extend(page.items.into_iter().map(|job| (job.id, job.state)));
        from = page.next;
        if from.is_none() {
            return listing;
        }
    }
}

/// Nothing to repair, nothing that contradicts itself, no damage to the file.
async fn assert_clean(store: &SqliteStore, queue: &QueueName) {
    let dump = store.dump(queue).await.unwrap().unwrap();
    assert_eq!(soundness::faults(&dump), [""; 0]);
    for job in dump.jobs.iter().filter(|job| job.state == JobState::Dead) {
        // No actor fails a job for good: only the loss of three holders may have ended it.
        assert!(
            job.reason == Some(Reason::Poison) && job.expiries >= 3,
            "{job:?}"
        );
    }
    let mut from = None;
    loop {
        let audited = store.audit(queue, from).await.unwrap();
        assert_eq!(audited.repairs, []);
        from = audited.next;
        if from.is_none() {
            break;
        }
    }
    assert_eq!(store.check_file().await.unwrap(), [""; 0]);
}

/// What the run went through, so that a person sees that it was worth something.
fn report(ledger: &windlass_chaos::ledger::Ledger, listing: &[Found], killed: usize) {
    let count = |is_meant: &dyn Fn(&Event) -> bool| {
        ledger.events().filter(|(_, event)| is_meant(event)).count()
    };
    let told = |how: Settled| count(&|event| matches!(event, Event::Told(told, _) if *told == how));
    let maybe: usize = ledger
        .lives
        .iter()
        .map(|life| life.unanswered().len())
        .sum();
    let ended = |state: JobState| listing.iter().filter(|(_, found)| *found == state).count();
    println!(
        "{killed} kills, {} lives, {} lines; lease {LEASE:?}",
        ledger.lives.len(),
        ledger.lines
    );
    println!(
        "asked in {} calls, {maybe} ids unanswered; accepted {}, duplicate {}; {} jobs: {} succeeded, {} dead",
        count(&|event| matches!(event, Event::Asking(_))),
        count(&|event| matches!(event, Event::Accepted(_))),
        count(&|event| matches!(event, Event::Duplicate(_))),
        listing.len(),
        ended(JobState::Succeeded),
        ended(JobState::Dead),
    );
    println!(
        "claimed {}, completed {}, lost {}, scheduled {}, released {}, snoozed {}, trouble {}",
        count(&|event| matches!(event, Event::Claimed(_))),
        told(Settled::Completed),
        told(Settled::Lost),
        told(Settled::Scheduled),
        told(Settled::Released),
        told(Settled::Snoozed),
        count(&|event| matches!(event, Event::Trouble(_))),
    );
    assert!(
        told(Settled::Completed) > 0,
        "nothing was done: the run shows nothing"
    );
}
