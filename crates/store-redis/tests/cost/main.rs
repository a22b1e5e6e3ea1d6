//! The cost of each operation on the server, and of each job in memory, against a budget. Nothing is
//! timed: the numbers are counts, the same in every run.
//!
//! After an improvement, print the tables and paste them below:
//!
//! ```text
//! WINDLASS_COST=print cargo test -p windlass-store-redis --test cost -- --nocapture --test-threads 1
//! ```
//!
//! A higher budget needs a good reason, stated next to it.

#![expect(clippy::unwrap_used, reason = "a test fails at the first error")]
#![expect(clippy::print_stdout, reason = "it prints its tables on request")]

mod budget;
mod fixture;
mod instructions;
mod meter;
mod schedules;
mod verbs;

use budget::{Row, assert_within};
use fixture::Fixture;
use meter::{COLUMNS, Counters};
use verbs::KEPT_JOBS;
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::Server;

/// Calls before the measured ones, besides the first: until a store uses the fast scripts.
const MORE_WARM_UP: usize = 3;

/// Measured calls of each operation.
const CALLS: usize = 20;

/// Cost per job: client calls, commands within scripts, bytes sent and received. The payload has 100
/// bytes. An enqueue sends 14 bytes per call to name the call, so that it is not applied twice if it is
/// sent again; that costs no command. A promotion is a call of maintenance, which also drops stale entries
/// and forgets old calls, and reads when the history took its last sample. Each call that fires is in another minute: its
/// sample writes a row of the history. Calls that may end jobs also send the names of the keys of schedules; in a queue without
/// schedules no command uses them.
const VERBS: &[Row<4>] = &[
    ("enqueue", 1, [1.0, 5.0, 488.0, 11.0]),
    ("schedule", 1, [1.0, 15.0, 1340.0, 11.0]),
    ("replace", 1, [1.0, 26.0, 1383.0, 48.0]),
    ("promote", 1, [1.0, 55.0, 1617.0, 28.0]),
    ("fire", 1, [1.0, 76.0, 1617.0, 48.0]),
    ("claim", 1, [1.0, 18.0, 831.0, 213.0]),
    ("complete and claim", 1, [1.0, 22.0, 903.0, 222.0]),
    ("renew", 1, [1.0, 47.0, 1569.0, 24.0]),
    ("enqueue of a kind", 1, [1.0, 5.0, 509.0, 11.0]),
    ("complete and claim of a kind", 1, [1.0, 22.0, 903.0, 232.0]),
    ("enqueue", 10, [0.1, 0.5, 177.0, 1.1]),
    ("schedule", 10, [0.1, 1.5, 262.0, 7.5]),
    ("replace", 10, [0.1, 8.0, 295.0, 44.5]),
    ("promote", 10, [0.1, 5.5, 162.0, 2.9]),
    ("fire", 10, [0.1, 7.6, 162.0, 4.9]),
    ("claim", 10, [0.1, 1.8, 83.2, 144.0]),
    ("complete and claim", 10, [0.1, 2.2, 121.0, 145.0]),
    ("renew", 10, [0.1, 5.6, 186.0, 2.4]),
    ("enqueue of a kind", 10, [0.1, 0.5, 188.0, 1.1]),
    ("complete and claim of a kind", 10, [0.1, 2.2, 121.0, 155.0]),
    ("enqueue", 100, [0.01, 0.05, 146.0, 0.11]),
    ("schedule", 100, [0.01, 0.15, 154.0, 7.06]),
    ("replace", 100, [0.01, 6.2, 186.0, 44.1]),
    ("promote", 100, [0.01, 0.55, 16.2, 0.3]),
    ("fire", 100, [0.01, 0.76, 16.2, 0.5]),
    ("claim", 100, [0.01, 0.18, 8.33, 137.0]),
    ("complete and claim", 100, [0.01, 0.22, 41.8, 137.0]),
    ("renew", 100, [0.01, 1.46, 47.5, 0.24]),
    ("enqueue of a kind", 100, [0.01, 0.05, 156.0, 0.11]),
    (
        "complete and claim of a kind",
        100,
        [0.01, 0.22, 41.8, 147.0],
    ),
];

/// Bytes of memory per job, for 10 000 jobs with a payload of 100 bytes. 10% slack covers other Redis
/// versions and allocators.
const BYTES: &[Row<1>] = &[
    ("waiting", 100, [231.0]),
    ("waiting of a kind", 100, [249.0]),
    // 100 jobs in each group. The target of decision 0011 is 450.
    ("waiting in a group", 100, [484.0]),
    ("scheduled", 100, [342.0]),
    ("running", 100, [373.0]),
];
const BYTES_SLACK: f64 = 1.1;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_operation_costs_the_server_more_than_its_budget() {
    let measured = verbs::measure(CALLS, open).await;

    assert_within(COLUMNS, VERBS, &measured, 1.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_job_takes_more_memory_than_its_budget() {
    let jobs = f64::from(u32::try_from(KEPT_JOBS).unwrap());
    let per_job = |counters: &mut Counters| counters.memory_used() / jobs;

    let measured = verbs::bytes(open, per_job).await;

    assert_within(["bytes"], BYTES, &measured, BYTES_SLACK);
}

async fn open() -> (Fixture, Counters) {
    let server = Server::start();
    let clock = fixture::clock();
    let options = Options {
        clock: Some(clock.clone()),
        ..Options::default()
    };
    let store = RedisStore::open(&server.url(), options).await;
    let store = store.expect("a new server can be opened");
    (Fixture::new(store, clock), Counters::of(server))
}
