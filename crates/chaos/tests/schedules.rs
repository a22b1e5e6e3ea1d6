//! Each instant of many schedules fires once or is counted as missed, while processes are killed.
//!
//! `WINDLASS_ROUNDS` multiplies the length of a run.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot continue fails on the spot, and prints a summary"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_chaos::QUEUE;
use windlass_chaos::actor::{Actor, Launcher};
use windlass_chaos::event::Event;
use windlass_core::store::{Overlap, Rule, ScheduleChange, ScheduleRecord};
use windlass_core::{JobId, NewJob, QueueName, Schedule, ScheduleName, Store};
use windlass_store_redis::RedisStore;
use windlass_store_sqlite::SqliteStore;
use windlass_testkit::redis::Server;

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const SCHEDULES: usize = 200;
const PROCESSES: usize = 8;

/// Kills in a run, one per second.
const KILLS: usize = 12;

#[tokio::test(flavor = "multi_thread")]
async fn each_instant_fires_once_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let store = SqliteStore::open(&path, windlass_store_sqlite::Options::default());
    run(Arc::new(store.unwrap()), path.into()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_instant_fires_once_on_redis() {
    let server = Server::start();
    let options = windlass_store_redis::Options::default();
    let store = RedisStore::open(&server.url(), options).await.unwrap();
    run(Arc::new(store), server.url().into()).await;
}

async fn run(store: Arc<dyn Store>, address: OsString) {
    let queue = QueueName::new(QUEUE).unwrap();
    // An id that fires twice must not be hidden as a duplicate.
    for setting in ["dedup_for=0s", "poison_after=100"] {
        let setting = setting.parse().unwrap();
        store.set(&queue, vec![setting]).await.unwrap();
    }
    let names: Vec<_> = (0..SCHEDULES)
        .map(|number| ScheduleName::new(format!("s{number:03}")).unwrap())
        .collect();
    for name in &names {
        let rule = Rule::every(Duration::from_secs(1)).unwrap();
        let mut schedule = Schedule::new(name.clone(), rule, NewJob::new("tick"));
        schedule.overlap = Overlap::Allow;
        windlass_schedule::put(store.as_ref(), &queue, schedule, None)
            .await
            .unwrap();
    }

    let launcher = Launcher::new(PROGRAM, address);
    let actors = kill_every_second(&launcher).await;
    for name in &names {
        let change = ScheduleChange::Pause;
        assert!(store.change_schedule(&queue, name, change).await.unwrap());
    }
    wait_until_empty(store.as_ref(), &queue).await;
    for actor in actors {
        assert!(actor.stop().await.unwrap().success());
    }

    let mut records = Vec::new();
    for name in &names {
        records.push(store.schedule(&queue, name).await.unwrap().unwrap());
    }
    check(&launcher, &records);
}

/// Starts the processes, and kills one every second with -9.
async fn kill_every_second(launcher: &Launcher) -> Vec<Actor> {
    let rounds: usize = std::env::var("WINDLASS_ROUNDS").map_or(1, |text| text.parse().unwrap());
    let start = |number: usize| {
        let arguments = ["scheduled", "--lease-ms", "1000"].map(str::to_owned);
        launcher
            .start(&format!("worker-{number}"), &arguments)
            .unwrap()
    };
    let mut actors: Vec<_> = (0..PROCESSES).map(start).collect();
    for kill in 0..KILLS * rounds {
        sleep(Duration::from_secs(1)).await;
        let index = fastrand::usize(..PROCESSES);
        let mut killed = std::mem::replace(&mut actors[index], start(PROCESSES + kill));
        killed.start_kill().unwrap();
        killed.wait_killed().await.unwrap();
    }
    actors
}

/// Waits until every job has ended: those of killed processes are rescued first.
async fn wait_until_empty(store: &dyn Store, queue: &QueueName) {
    loop {
        let stats = store.stats(queue).await.unwrap().unwrap();
        if stats.ready + stats.running + stats.scheduled + stats.pending == 0 {
            assert_eq!(stats.dead, 0);
            return;
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Compares the totals of the store with the jobs that the processes ran.
fn check(launcher: &Launcher, records: &[ScheduleRecord]) {
    let mut ran: BTreeMap<JobId, BTreeSet<u64>> = BTreeMap::new();
    let ledger = launcher.ledger.lock().clone();
    for (process, event) in ledger.events() {
        match event {
            Event::Fired(id, created_ms) => {
                ran.entry(id.clone()).or_default().insert(*created_ms);
            }
            Event::Violation(what) => panic!("{}: {what}", process.name),
            _ => {}
        }
    }
    let twice: Vec<_> = ran.iter().filter(|(_, times)| times.len() > 1).collect();
    assert!(twice.is_empty(), "fired twice: {twice:?}");

    let (mut fired, mut missed) = (0, 0);
    for record in records {
        let name = &record.schedule.name;
        let prefix = format!("{name}@");
        let jobs = ran.keys().filter(|id| id.as_str().starts_with(&prefix));
        let total = record.total;
        assert_eq!(jobs.count() as u64, total.fired, "{name}: {total:?}");
        let second = |at: windlass_core::Timestamp| at.as_ms() / 1000;
        let instants = second(record.settled_until) - second(record.created_at);
        let settled = total.fired + total.missed + total.skipped;
        assert_eq!(settled, instants, "{name}: {total:?}");
        fired += total.fired;
        missed += total.missed;
    }
    println!("{} schedules fired {fired}, missed {missed}", records.len());
    let least = SCHEDULES * (KILLS - 4);
    assert!(fired >= least as u64, "only {fired} instants fired");
}
