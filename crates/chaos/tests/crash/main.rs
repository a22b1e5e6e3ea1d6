//! Processes are killed and stopped at random times, and the store keeps its promises.
//!
//! A run has rounds of 25 kills, each on a new store under other conditions: large payloads, many
//! waiters, partitions. `WINDLASS_SEED` repeats the plan of a run, `WINDLASS_KILLS` sets the number of
//! kills.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot continue fails on the spot, and prints a summary"
)]

mod checks;
mod conditions;
mod processes;

use std::ffi::OsString;
use std::time::Duration;

use tokio::time::timeout;
use windlass_chaos::{QUEUE, invariants, listing, nemesis};
use windlass_core::QueueName;
use windlass_store_redis::RedisStore;
use windlass_store_sqlite::SqliteStore;
use windlass_testkit::StoreUnderTest;
use windlass_testkit::redis::Server;

use conditions::Conditions;
use processes::Processes;

/// Kills per round, and in a run if not set.
const KILLS: usize = 25;

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_its_promises_when_processes_are_killed() {
    for round in rounds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let open = || SqliteStore::open(&path, windlass_store_sqlite::Options::default()).unwrap();

        round
            .crash(path.clone().into(), async || StoreUnderTest::new(open()))
            .await;

        assert_eq!(open().check_file().await.unwrap(), [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_its_promises_when_processes_are_killed() {
    for round in rounds() {
        let server = Server::start();
        let url = server.url();
        let options = windlass_store_redis::Options::default;
        let open = async || StoreUnderTest::new(RedisStore::open(&url, options()).await.unwrap());

        round.crash(url.clone().into(), open).await;
    }
}

/// One round of a run.
struct Round {
    seed: u64,
    kills: usize,
    conditions: Conditions,
}

/// The rounds of this run. The seed of the first is that of the run.
fn rounds() -> impl Iterator<Item = Round> {
    let seed = from_env("WINDLASS_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let kills = from_env("WINDLASS_KILLS").map_or(KILLS, |kills| usize::try_from(kills).unwrap());
    println!("WINDLASS_SEED={seed} WINDLASS_KILLS={kills}");
    (0..kills.div_ceil(KILLS)).map(move |number| {
        let seed = seed + number as u64;
        Round {
            seed,
            kills: KILLS.min(kills - number * KILLS),
            conditions: Conditions::draw(seed),
        }
    })
}

impl Round {
    async fn crash(&self, store: OsString, open: impl AsyncFn() -> StoreUnderTest) {
        let Self {
            seed,
            kills,
            conditions,
        } = self;
        println!("seed {seed}, {kills} kills: {conditions:?}");
        // Each fault waits for up to a second, and a process may take seconds to start.
        let bound =
            Duration::from_secs(200) + Duration::from_secs(8) * u32::try_from(*kills).unwrap();

        let run = timeout(bound, self.run(store, open)).await;

        run.unwrap_or_else(|_| panic!("seed {seed}: timed out after {bound:?}"));
    }

    async fn run(&self, store: OsString, open: impl AsyncFn() -> StoreUnderTest) {
        let seed = self.seed;
        let queue = QueueName::new(QUEUE).unwrap();
        let opened = open().await;
        let kept = listing::keep_everything(opened.store.as_ref(), &queue);
        kept.await.unwrap();
        let settings = self.conditions.settings();
        opened.store.set(&queue, settings).await.unwrap();
        // Only the actors use the store: after all are killed at once, the next one must recover it.
        drop(opened);

        let mut processes = Processes::start(seed, self.conditions, &store);
        let mut killed = 0;
        for fault in nemesis::plan(seed, self.kills, processes.slots()) {
            processes.suffer(&fault).await;
            killed += fault.kills();
            let violations = invariants::of_ledger(&processes.launcher.ledger.lock());
            invariants::assert_none(&violations, &format!("seed {seed}, after {killed} kills"));
        }
        processes.finish().await;

        let opened = open().await;
        let listing = listing::of(opened.store.as_ref(), &queue).await.unwrap();
        let stats = opened.store.stats(&queue).await.unwrap().unwrap();
        let ledger = processes.launcher.ledger.lock().clone();
        let violations = invariants::at_the_end(&ledger, &listing, &stats);
        let when = format!("seed {seed}, at the end, {killed} kills");
        invariants::assert_none(&violations, &when);
        checks::assert_clean(&opened, &queue).await;
        checks::report(&ledger, &listing, killed);
    }
}

fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
    )
}
