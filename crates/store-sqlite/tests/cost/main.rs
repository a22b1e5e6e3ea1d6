//! Compares what each verb writes and what each job takes on disk with a budget. The numbers are
//! counts, not times, so they are the same in every run.
//!
//! After a change that makes something cheaper, print new tables and paste them below:
//!
//! ```text
//! WINDLASS_COST=print cargo test -p windlass-store-sqlite --test cost -- --nocapture --test-threads 1
//! ```
//!
//! A number may grow only for a good reason, written next to the new budget.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails on the spot"
)]
#![expect(clippy::print_stdout, reason = "prints its tables on request")]

// Same verbs and sizes as the Redis cost tests.
#[path = "../../../store-redis/tests/cost/budget.rs"]
mod budget;
#[path = "../../../store-redis/tests/cost/fixture.rs"]
mod fixture;
mod log;
mod schedules;
#[path = "../../../store-redis/tests/cost/verbs.rs"]
mod verbs;

use std::time::Duration;

use budget::{Row, assert_within};
use fixture::{DELAY, Fixture};
use log::{COLUMNS, Log};
use verbs::{KEPT_JOBS, Meter};
use windlass_core::store::{Overlap, PlannedInstant, Refill, Rule};
use windlass_core::{NewJob, Schedule, ScheduleName};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

/// Calls before the measured ones, besides the first.
const MORE_WARM_UP: usize = 0;

/// Measured calls per verb; few enough that the log does not restart.
const CALLS: usize = 5;

/// Cost per job: commits, and pages written to the log. The payload has 100 bytes.
///
/// A batch that adds pages to the file writes one page of the pointer map too. SQLite needs that map to
/// give the space of deleted jobs back to the disk (`auto_vacuum=INCREMENTAL`). Each call that fires is in another
/// minute: its sample writes two pages of the history.
const VERBS: &[Row<2>] = &[
    ("enqueue", 1, [1.0, 4.0]),
    ("schedule", 1, [1.0, 4.0]),
    ("replace", 1, [1.0, 3.0]),
    ("promote", 1, [1.0, 4.0]),
    ("fire", 1, [1.0, 9.0]),
    ("claim", 1, [1.0, 8.0]),
    ("complete and claim", 1, [1.0, 10.0]),
    ("renew", 1, [1.0, 1.0]),
    ("enqueue of a kind", 1, [1.0, 4.0]),
    ("complete and claim of a kind", 1, [1.0, 10.0]),
    ("enqueue", 10, [0.1, 0.56]),
    ("schedule", 10, [0.1, 0.56]),
    ("replace", 10, [0.1, 0.38]),
    ("promote", 10, [0.1, 0.44]),
    ("fire", 10, [0.1, 1.24]),
    ("claim", 10, [0.1, 1.02]),
    ("complete and claim", 10, [0.1, 1.38]),
    ("renew", 10, [0.1, 0.1]),
    ("enqueue of a kind", 10, [0.1, 0.64]),
    ("complete and claim of a kind", 10, [0.1, 1.4]),
    ("enqueue", 100, [0.01, 0.162]),
    ("schedule", 100, [0.01, 0.188]),
    ("replace", 100, [0.01, 0.136]),
    ("promote", 100, [0.01, 0.152]),
    ("fire", 100, [0.01, 0.44]),
    // 0.188 before each job had the column `group_name`, one byte: 1 page more for 500 jobs. The index of ready jobs
    // has one byte less, so that jobs which are completed as well write 8 pages less.
    ("claim", 100, [0.01, 0.19]),
    ("complete and claim", 100, [0.01, 0.268]),
    ("renew", 100, [0.01, 0.01]),
    ("enqueue of a kind", 100, [0.01, 0.172]),
    ("complete and claim of a kind", 100, [0.01, 0.3]),
];

/// Cost per instant that fires, in a call that fires this many.
const FIRING: &[Row<2>] = &[("fire", 1, [1.0, 9.0]), ("fire", 100, [0.01, 0.44])];

/// File bytes per job, with 10 000 jobs and payloads of 100 bytes. Each table and index has a page at least, 0.41 bytes per
/// job: version 3 adds six.
const BYTES: &[Row<1>] = &[
    ("waiting", 100, [259.0]),
    ("waiting of a kind", 100, [301.0]),
    ("waiting in a group", 100, [296.0]),
    ("scheduled", 100, [292.0]),
    ("running", 100, [355.0]),
];
const BYTES_SLACK: f64 = 1.02;

#[tokio::test]
async fn no_verb_writes_more_than_its_budget() {
    let measured = verbs::measure(CALLS, open).await;

    assert_within(COLUMNS, VERBS, &measured, 1.0);
}

#[tokio::test]
async fn no_job_takes_more_of_the_disk_than_its_budget() {
    let per_job = |log: &mut Log| log.bytes_kept(KEPT_JOBS);

    let measured = verbs::bytes(open, per_job).await;

    assert_within(["bytes"], BYTES, &measured, BYTES_SLACK);
}

#[tokio::test]
async fn no_firing_writes_more_than_its_budget() {
    let mut measured = Vec::new();
    for batch in [1, 100] {
        let (fixture, mut log) = open().await;
        put_schedules(&fixture, batch).await;
        fire(&fixture, batch).await;
        log.begin();
        for _ in 0..CALLS {
            fire(&fixture, batch).await;
        }
        measured.push(("fire", batch, log.per_job(batch * CALLS)));
    }

    assert_within(COLUMNS, FIRING, &measured, 1.0);
}

/// Puts schedules that fire each time the delay of the fixture has passed.
async fn put_schedules(fixture: &Fixture, count: usize) {
    let Fixture { store, queue, .. } = fixture;
    for n in 0..count {
        let name = ScheduleName::new(format!("schedule-{n:03}")).unwrap();
        let rule = Rule::every(DELAY).unwrap();
        let template = NewJob::new(vec![b'x'; 100]);
        let mut schedule = Schedule::new(name.clone(), rule, template);
        schedule.overlap = Overlap::Allow;
        let put = store.put_schedule(queue, schedule, None).await.unwrap();
        let request = put.refill.unwrap();
        let at = |n: u32| request.now.plus(DELAY * n);
        let jitter = Duration::ZERO;
        let instants = (1..=64).map(|n| PlannedInstant { at: at(n), jitter });
        let refill = Refill {
            name,
            revision: request.revision,
            after: request.after,
            missed: 0,
            missed_until: request.after,
            instants: instants.collect(),
            known_until: at(64),
        };
        store.refill_schedules(queue, vec![refill]).await.unwrap();
    }
}

async fn fire(fixture: &Fixture, schedules: usize) {
    fixture.outlast_delay();
    let done = fixture.store.maintain(&fixture.queue, schedules).await;
    assert_eq!(done.unwrap().instants, schedules as u64);
}

async fn open() -> (Fixture, Log) {
    let folder = tempfile::tempdir().expect("create a temporary folder");
    let path = folder.path().join("jobs.db");
    let clock = fixture::clock();
    let options = Options {
        clock: clock.clone(),
        // The same commits, without waiting for the disk.
        synchronous: Synchronous::Off,
        ..Options::default()
    };
    let store = SqliteStore::open(&path, options).expect("open a new store");
    (Fixture::new(store, clock), Log::new(folder, path))
}
