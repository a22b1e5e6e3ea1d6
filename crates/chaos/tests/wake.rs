//! A waiting process is woken promptly by another, and uses almost no CPU while it waits.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails on the spot"
)]

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use windlass_chaos::QUEUE;
use windlass_chaos::actor::{Actor, Launcher};
use windlass_chaos::event::Event;
use windlass_core::{NewJob, QueueName, Store};
use windlass_store_sqlite::{Options, SqliteStore};

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const ROUNDS: usize = 20;

/// Polls are at least 450 ms apart and jobs are enqueued within 200 ms of one, so a poll alone is never
/// this fast. A quarter of the rounds must be, since a busy machine delays some.
const WOKEN_MAX: Duration = Duration::from_millis(200);

/// Measurements; the lowest counts.
const MEASUREMENTS: usize = 3;

/// The unit of process times in `/proc`.
const TICK: Duration = Duration::from_millis(10);

#[tokio::test]
async fn a_waiting_process_is_woken_by_another_well_before_it_polls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let queue = QueueName::new(QUEUE).unwrap();
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    let (launcher, waiter) = waiting(&path).await;

    let mut waits = Vec::new();
    for round in 1..=ROUNDS {
        wait_logged(&launcher, &waiter, round, |event| {
            matches!(event, Event::Ready)
        })
        .await;
        // Enqueue at a random time between two polls.
        sleep(Duration::from_millis(fastrand::u64(50..200))).await;
        let began = Instant::now();
        store
            .enqueue(&queue, vec![NewJob::new("a job")])
            .await
            .unwrap();
        wait_logged(&launcher, &waiter, round, |event| {
            matches!(event, Event::Claimed(_))
        })
        .await;
        waits.push(began.elapsed());
    }

    waits.sort_unstable();
    let (p50, most) = (waits[ROUNDS / 2], waits[ROUNDS - 1]);
    println!("enqueued to claimed in another process: p50 {p50:?}, longest {most:?}");
    assert!(waits[ROUNDS / 4] < WOKEN_MAX, "{waits:?}");
}

#[tokio::test]
async fn a_waiting_process_uses_almost_no_cpu_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let (_stage, waiter) = waiting(&path).await;
    let pid = waiter.pid().unwrap();
    // Do not measure the start-up.
    sleep(Duration::from_millis(300)).await;

    let mut measured = Vec::new();
    for _ in 0..MEASUREMENTS {
        let before = used(pid);
        sleep(Duration::from_secs(2)).await;
        measured.push(used(pid).saturating_sub(before));
    }

    println!("CPU time in two seconds of waiting: {measured:?}");
    let idle = *measured.iter().min().unwrap();
    assert!(idle <= Duration::from_millis(40), "{measured:?}");
}

async fn waiting(path: &std::path::Path) -> (Launcher, Actor) {
    let launcher = Launcher::new(PROGRAM, path);
    let waiter = launcher.start("waiter", &["waiter".to_owned()]).unwrap();
    wait_logged(&launcher, &waiter, 1, |event| matches!(event, Event::Ready)).await;
    (launcher, waiter)
}

/// Waits until the waiter has logged matching events this often.
async fn wait_logged(
    launcher: &Launcher,
    waiter: &Actor,
    times: usize,
    matches: fn(&Event) -> bool,
) {
    let is_logged = |ledger: &windlass_chaos::ledger::Ledger| {
        let lines = &ledger.processes[waiter.process].lines;
        lines.iter().filter(|line| matches(&line.event)).count() >= times
    };
    timeout(
        Duration::from_secs(30),
        launcher.ledger.wait_until(is_logged),
    )
    .await
    .unwrap();
}

/// The CPU time of a process, in user code and in the kernel.
fn used(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The second field, the name in parentheses, may contain spaces.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks: u32 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|field| field.parse::<u32>().unwrap())
        .sum();
    TICK * ticks
}
