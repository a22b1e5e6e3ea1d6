//! Processes that share a file get similar shares, and none waits long for the write lock.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails on the spot"
)]

use std::time::Duration;

use tokio::time::timeout;
use windlass_chaos::QUEUE;
use windlass_chaos::actor::Launcher;
use windlass_chaos::event::Event;
use windlass_core::{Clock, NewJob, QueueName, Store, SystemClock};
use windlass_store_sqlite::{Options, SqliteStore};

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const RACERS: usize = 4;

/// More than four processes can complete while they race.
const JOBS: usize = 60_000;

/// The processes run before and after the measured window, so that a late start does not matter.
const RUN_UP: Duration = Duration::from_millis(500);
const WINDOW: Duration = Duration::from_secs(3);

/// Fair races required, out of at most `RACES`: other load on the machine disturbs some races, an
/// unfair store would disturb nearly all.
const FAIR: usize = 2;
const RACES: usize = 7;

#[tokio::test]
async fn processes_that_share_a_file_get_similar_shares_and_none_waits_long() {
    let mut races: Vec<Race> = Vec::new();
    while races.iter().filter(|race| race.is_fair()).count() < FAIR {
        assert!(races.len() < RACES, "most races were unfair: {races:#?}");
        let race = timeout(Duration::from_secs(120), race()).await.unwrap();
        println!("{race:?}");
        races.push(race);
    }
}

/// The results of the racers.
#[derive(Debug, Default)]
struct Race {
    shares: Vec<u64>,
    longest_waits_us: Vec<u64>,
}

impl Race {
    fn is_fair(&self) -> bool {
        let least = self.shares.iter().min().unwrap();
        let most = self.shares.iter().max().unwrap();
        // The shares differ by at most a factor of three, and are large enough to be meaningful. The
        // scheduler itself is not fair over such a short time; without the write lock, most races
        // leave a process with almost nothing, or waiting for seconds.
        *least >= 50
            && *most <= least * 3
            && self.longest_waits_us.iter().all(|wait| *wait < 1_000_000)
    }
}

async fn enqueue(path: &std::path::Path) {
    let queue = QueueName::new(QUEUE).unwrap();
    let store = SqliteStore::open(path, Options::default()).unwrap();
    for _ in 0..JOBS / 1000 {
        let jobs = (0..1000).map(|_| NewJob::new("a job")).collect();
        store.enqueue(&queue, jobs).await.unwrap();
    }
}

async fn race() -> Race {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    enqueue(&path).await;
    let launcher = Launcher::new(PROGRAM, &path);
    let mut racers = Vec::new();
    for number in 0..RACERS {
        let name = format!("racer-{number}");
        racers.push(launcher.start(&name, &["racer".to_owned()]).unwrap());
    }
    launcher
        .ledger
        .wait_until(|ledger| ledger.lines >= RACERS)
        .await;
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap();
    let from_us = SystemClock.now_us() + micros(RUN_UP);
    for racer in &mut racers {
        let window = format!("{from_us} {}", from_us + micros(WINDOW));
        racer.send_line(&window).await.unwrap();
    }
    let mut race = Race::default();
    for racer in racers {
        let process = racer.process;
        racer.finish().await.unwrap();
        let ledger = launcher.ledger.lock();
        match ledger.processes[process]
            .lines
            .last()
            .map(|line| &line.event)
        {
            Some(Event::Raced(jobs, longest_us)) => {
                race.shares.push(*jobs);
                race.longest_waits_us.push(*longest_us);
            }
            other => panic!("a racer ended with {other:?}"),
        }
    }
    race
}
