//! Processes are killed and stopped at random times, and the store keeps its promises.
//!
//! A run has rounds of 25 kills, each on a new store under other conditions: large payloads, many
//! waiters, partitions, a slow link. `WINDLASS_SEED` repeats the plan of a run, `WINDLASS_KILLS` sets the number of
//! kills.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot continue fails on the spot, and prints a summary"
)]

mod checks;
mod conditions;
mod full_disk;
mod processes;

use std::ffi::OsString;
use std::time::Duration;

use tokio::time::timeout;
use windlass_chaos::nemesis::Fault;
use windlass_chaos::{QUEUE, invariants, listing, nemesis};
use windlass_core::QueueName;
use windlass_store_redis::RedisStore;
use windlass_store_sqlite::SqliteStore;
use windlass_testkit::StoreUnderTest;
use windlass_testkit::redis::{Server, SlowProxy};

use conditions::Conditions;
use processes::Processes;

/// Kills per round, and in a run if not set.
const KILLS: usize = 25;

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_its_promises_when_processes_are_killed() {
    for mut round in rounds() {
        round.conditions = round.conditions.local();
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

        let link = round.conditions.link;
        let proxy = (link > 0).then(|| SlowProxy::before(&server, link));
        let reached = proxy.as_ref().map_or_else(|| url.clone(), SlowProxy::url);

        round.crash(reached.into(), open).await;
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
    let seed = seed();
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
        let run = async {
            let mut processes = self.start(store, &open).await;
            let faults = self.plan(&processes);
            self.suffer(&mut processes, &faults).await;
            self.finish(processes, &open).await;
        };
        self.within_bound(run).await;
    }

    /// Panics if a run takes too long.
    async fn within_bound(&self, run: impl Future<Output = ()>) {
        let Self {
            seed,
            kills,
            conditions,
        } = self;
        println!("seed {seed}, {kills} kills: {conditions:?}");
        // Each fault waits for up to a second, and a process may take seconds to start.
        let bound =
            Duration::from_secs(200) + Duration::from_secs(8) * u32::try_from(*kills).unwrap();

        let run = timeout(bound, run).await;

        run.unwrap_or_else(|_| panic!("seed {seed}: timed out after {bound:?}"));
    }

    /// Creates the queue and starts the processes.
    async fn start(&self, store: OsString, open: impl AsyncFn() -> StoreUnderTest) -> Processes {
        let queue = QueueName::new(QUEUE).unwrap();
        let opened = open().await;
        let kept = listing::keep_everything(opened.store.as_ref(), &queue);
        kept.await.unwrap();
        let settings = self.conditions.settings();
        opened.store.set(&queue, settings).await.unwrap();
        // Only the actors use the store: after all are killed at once, the next one must recover it.
        drop(opened);
        Processes::start(self.seed, self.conditions, &store)
    }

    fn plan(&self, processes: &Processes) -> Vec<Fault> {
        let lease = self.conditions.lease();
        nemesis::plan(self.seed, self.kills, processes.slots(), lease)
    }

    async fn suffer(&self, processes: &mut Processes, faults: &[Fault]) {
        for (count, fault) in faults.iter().enumerate() {
            processes.suffer(fault).await;
            let violations = invariants::of_ledger(&processes.launcher.ledger.lock());
            let when = format!("seed {}, after {} faults", self.seed, count + 1);
            invariants::assert_none(&violations, &when);
        }
    }

    /// Ends the processes, then checks what they left.
    async fn finish(&self, mut processes: Processes, open: impl AsyncFn() -> StoreUnderTest) {
        processes.finish().await;

        let queue = QueueName::new(QUEUE).unwrap();
        let opened = open().await;
        let listing = listing::of(opened.store.as_ref(), &queue).await.unwrap();
        let stats = opened.store.stats(&queue).await.unwrap().unwrap();
        let ledger = processes.launcher.ledger.lock().clone();
        let mut violations = invariants::at_the_end(&ledger, &listing, &stats);
        violations.extend(invariants::few_dead(&listing));
        let when = format!("seed {}, at the end, {} kills", self.seed, self.kills);
        invariants::assert_none(&violations, &when);
        checks::assert_clean(&opened, &queue).await;
        checks::report(&ledger, &listing, self.kills);
    }
}

/// The seed of this run.
fn seed() -> u64 {
    from_env("WINDLASS_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000))
}

fn from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
    )
}
