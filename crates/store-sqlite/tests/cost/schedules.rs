//! What many schedules take that are due at once. One test prints times; run it by hand:
//!
//! ```text
//! cargo test --release -p windlass-store-sqlite --test cost schedules -- --ignored --nocapture
//! ```

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::limits::{PAGE, SCHEDULES_MAX};
use windlass_core::store::{Overlap, RefillRequest, Rule};
use windlass_core::{
    ManualClock, NewJob, QueueName, Result, Schedule, ScheduleName, Store, Timestamp,
};
use windlass_schedule::{Plan, compute};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

const EVERY: Duration = Duration::from_secs(60);

fn open(path: &Path, clock: &Arc<ManualClock>, synchronous: Synchronous) -> SqliteStore {
    let options = Options {
        clock: clock.clone(),
        synchronous,
        ..Options::default()
    };
    SqliteStore::open(path, options).unwrap()
}

/// Bytes of the log that a checkpoint may have to copy: 250 pages, and those of one call.
const LOG_BYTES_MAX: u64 = 400 * 4096;

#[tokio::test]
async fn calls_that_fire_many_schedules_start_small_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let clock = Arc::new(ManualClock::new(Timestamp::from_ms(1_800_000_000_000)));
    let queue = QueueName::new("reports").unwrap();
    // Closing the store deletes the log.
    put(&open(&path, &clock, Synchronous::Off), &queue, 300).await;
    let store = open(&path, &clock, Synchronous::Off);

    for _ in 0..10 {
        clock.advance(EVERY);
        fire(&store, &queue).await.unwrap();
    }

    let stats = store.stats(&queue).await.unwrap().unwrap();
    assert_eq!(stats.total.enqueued, 3000);
    let log = std::fs::metadata(folder.path().join("jobs.db-wal")).unwrap();
    assert!(log.len() <= LOG_BYTES_MAX, "{} bytes", log.len());
}

#[tokio::test]
#[ignore = "prints times: see the top of this file"]
async fn print_the_time_of_many_schedules_due_at_once() {
    for synchronous in [Synchronous::Off, Synchronous::Full] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let clock = Arc::new(ManualClock::new(Timestamp::from_ms(1_800_000_000_000)));
        let queue = QueueName::new("reports").unwrap();
        put(
            &open(&path, &clock, Synchronous::Off),
            &queue,
            SCHEDULES_MAX,
        )
        .await;
        let store = open(&path, &clock, synchronous);
        // They know 64 instants: in round 33 they have fewer than 32 left, and all ask for more.
        for round in 1..=34 {
            clock.advance(EVERY);
            let times = fire(&store, &queue).await.unwrap();
            if [1, 2, 33, 34].contains(&round) {
                println!("{synchronous:?}, round {round}: {times:?}");
            }
        }
    }
}

async fn put(store: &SqliteStore, queue: &QueueName, count: usize) {
    for n in 0..count {
        let name = ScheduleName::new(format!("schedule-{n}")).unwrap();
        let mut schedule = Schedule::new(name, Rule::every(EVERY).unwrap(), NewJob::new("report"));
        schedule.overlap = Overlap::Allow;
        let put = windlass_schedule::put(store, queue, schedule, None).await;
        put.unwrap();
    }
}

/// Wall time and CPU time.
type Time = (Duration, Duration);

/// How long calls took: all of them, and the longest of each kind.
#[derive(Debug, Default)]
struct Times {
    all: Time,
    maintain: Time,
    refill: Time,
}

/// Maintains the queue until nothing is left to do.
async fn fire(store: &SqliteStore, queue: &QueueName) -> Result<Times> {
    let mut times = Times::default();
    loop {
        let (maintained, took) = timed(store.maintain(queue, PAGE)).await;
        let maintained = maintained?;
        times.add(took);
        times.maintain = times.maintain.max(took);
        let refill = |request: &RefillRequest| compute(&Plan::new(&request.rule).unwrap(), request);
        let refills: Vec<_> = maintained.refills.iter().map(refill).collect();
        if maintained.is_idle() && refills.is_empty() {
            return Ok(times);
        }
        let (refilled, took) = timed(store.refill_schedules(queue, refills)).await;
        refilled?;
        times.add(took);
        times.refill = times.refill.max(took);
    }
}

impl Times {
    fn add(&mut self, took: Time) {
        self.all.0 += took.0;
        self.all.1 += took.1;
    }
}

/// Runs a call. Its wall time is without the time that threads waited for a CPU, so that other programs hardly
/// matter.
async fn timed<T>(call: impl Future<Output = T>) -> (T, Time) {
    let (begin, before) = (Instant::now(), scheduled());
    let reply = call.await;
    let (wall, after) = (begin.elapsed(), scheduled());
    // The times of a thread that ends are gone.
    let cpu = after.0.saturating_sub(before.0);
    let waited = after.1.saturating_sub(before.1);
    (reply, (wall.saturating_sub(waited), cpu))
}

/// How long the threads of this process have run, and how long they have waited for a CPU. Zero where the
/// kernel does not count it.
fn scheduled() -> Time {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let times = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        let mut times = text
            .split(' ')
            .map(|time| time.parse().map(Duration::from_nanos));
        Some((times.next()?.ok()?, times.next()?.ok()?))
    });
    let add = |all: Time, one: Time| (all.0 + one.0, all.1 + one.1);
    times.fold(Time::default(), add)
}
