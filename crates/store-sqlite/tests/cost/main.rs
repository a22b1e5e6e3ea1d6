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
#[path = "../../../store-redis/tests/cost/verbs.rs"]
mod verbs;

use budget::{Row, assert_within};
use fixture::Fixture;
use log::{COLUMNS, Log};
use verbs::KEPT_JOBS;
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

/// Calls before the measured ones, besides the first.
const MORE_WARM_UP: usize = 0;

/// Measured calls per verb; few enough that the log does not restart.
const CALLS: usize = 5;

/// Cost per job: commits, and pages written to the log. The payload has 100 bytes.
///
/// A batch that adds pages to the file writes one page of the pointer map too. SQLite needs that map to
/// give the space of deleted jobs back to the disk (`auto_vacuum=INCREMENTAL`).
const VERBS: &[Row<2>] = &[
    ("enqueue", 1, [1.0, 4.0]),
    ("schedule", 1, [1.0, 4.0]),
    ("promote", 1, [1.0, 4.0]),
    ("claim", 1, [1.0, 8.0]),
    ("complete and claim", 1, [1.0, 10.0]),
    ("renew", 1, [1.0, 1.0]),
    ("enqueue of a kind", 1, [1.0, 4.0]),
    ("complete and claim of a kind", 1, [1.0, 10.0]),
    ("enqueue", 10, [0.1, 0.56]),
    ("schedule", 10, [0.1, 0.56]),
    ("promote", 10, [0.1, 0.44]),
    ("claim", 10, [0.1, 1.02]),
    ("complete and claim", 10, [0.1, 1.38]),
    ("renew", 10, [0.1, 0.1]),
    ("enqueue of a kind", 10, [0.1, 0.64]),
    ("complete and claim of a kind", 10, [0.1, 1.4]),
    ("enqueue", 100, [0.01, 0.162]),
    ("schedule", 100, [0.01, 0.188]),
    ("promote", 100, [0.01, 0.154]),
    ("claim", 100, [0.01, 0.188]),
    ("complete and claim", 100, [0.01, 0.276]),
    ("renew", 100, [0.01, 0.01]),
    ("enqueue of a kind", 100, [0.01, 0.172]),
    ("complete and claim of a kind", 100, [0.01, 0.3]),
];

/// File bytes per job, with 10 000 jobs and payloads of 100 bytes.
const BYTES: &[Row<1>] = &[
    ("waiting", 100, [258.0]),
    ("waiting of a kind", 100, [301.0]),
    ("scheduled", 100, [291.0]),
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
