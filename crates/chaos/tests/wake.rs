//! A waiting process is woken by another at once, and costs nothing while it waits.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use windlass_chaos::QUEUE;
use windlass_chaos::actor::{Actor, Stage};
use windlass_chaos::event::Event;
use windlass_core::{NewJob, QueueName, Store};
use windlass_store_sqlite::{Options, SqliteStore};

const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass-actor");
const ROUNDS: usize = 20;

/// Polls are 450 ms apart at the least and jobs come within 200 ms of one: a poll alone would never be
/// so soon. A quarter of the rounds must be, since a busy machine spoils some.
const WOKEN_MAX: Duration = Duration::from_millis(200);

/// Judged by the least busy of them: what a process does while it waits, it does in each.
const LOOKS: usize = 3;

/// The kernel counts a process's time in these, on every Linux.
const TICK: Duration = Duration::from_millis(10);

#[tokio::test]
async fn a_waiting_process_is_woken_by_another_well_before_it_polls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let queue = QueueName::new(QUEUE).unwrap();
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    let (stage, waiter) = waiting(&path).await;

    let mut waits = Vec::new();
    for round in 1..=ROUNDS {
        said(&stage, &waiter, round, |event| {
            matches!(event, Event::Ready)
        })
        .await;
        // Jobs come at any moment between two polls, as they do in life.
        sleep(Duration::from_millis(fastrand::u64(50..200))).await;
        let began = Instant::now();
        store
            .enqueue(&queue, vec![NewJob::new("a job")])
            .await
            .unwrap();
        said(&stage, &waiter, round, |event| {
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
async fn a_waiting_process_uses_no_time_worth_speaking_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let (_stage, waiter) = waiting(&path).await;
    let pid = waiter.pid().unwrap();
    // What it takes to start is not what is measured.
    sleep(Duration::from_millis(300)).await;

    let mut looks = Vec::new();
    for _ in 0..LOOKS {
        let before = used(pid);
        sleep(Duration::from_secs(2)).await;
        looks.push(used(pid).saturating_sub(before));
    }

    println!("two seconds of waiting took {looks:?} of processor time");
    let idle = *looks.iter().min().unwrap();
    assert!(idle <= Duration::from_millis(40), "{looks:?}");
}

async fn waiting(path: &std::path::Path) -> (Stage, Actor) {
    let stage = Stage::new(PROGRAM, path);
    let waiter = stage.start("waiter", &["waiter".to_owned()]).unwrap();
    said(&stage, &waiter, 1, |event| matches!(event, Event::Ready)).await;
    (stage, waiter)
}

/// Waits until the waiter has said something this often.
async fn said(stage: &Stage, waiter: &Actor, times: usize, is_meant: fn(&Event) -> bool) {
    let is_said = |ledger: &windlass_chaos::ledger::Ledger| {
        let lines = &ledger.lives[waiter.life].lines;
        lines.iter().filter(|line| is_meant(&line.event)).count() >= times
    };
    timeout(Duration::from_secs(30), stage.record.until(is_said))
        .await
        .unwrap();
}

/// The processor time a process has used, in user code and in the kernel.
fn used(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name, the second field, may hold blanks; what follows its parenthesis has none.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks: u32 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|field| field.parse::<u32>().unwrap())
        .sum();
    TICK * ticks
}
